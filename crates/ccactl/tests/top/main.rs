//! `ccactl top` over real traffic, and on a terminal.
//!
//! Root is needed: without it the tests say so and pass, unless CI=true, where they fail.

mod terminal;
mod traffic;

use ccactl_host::state::SHARED_MAPS;
use ccactl_loader::cgroup::Mount;
use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, geteuid};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{self, Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};
use terminal::OnTerminal;
use traffic::Traffic;

/// Leaves the alternate screen.
const LEAVE: &str = "\x1b[?1049l";

/// Folders, a cgroup and a kernel name that only one test uses.
struct Host {
    bpffs: PathBuf,
    cgroup: String,
    name: String,
}

impl Host {
    fn new(test: &str) -> Option<Host> {
        if !geteuid().is_root() {
            assert!(std::env::var("CI").as_deref() != Ok("true"), "kernel tests need root");
            eprintln!("not run: kernel tests need root");
            return None;
        }
        let tag = format!("{:x}{test}", process::id());
        Some(Host {
            bpffs: format!("/sys/fs/bpf/ccactl-test-{tag}").into(),
            cgroup: format!("/ccactl-test-{tag}"),
            name: format!("t{tag}"),
        })
    }

    fn ccactl(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ccactl"));
        command.args(args).env("CCACTL_BPFFS", &self.bpffs).stdin(Stdio::null());
        command
    }

    fn ok(&self, args: &[&str]) -> String {
        let Output { status, stdout, stderr } = self.ccactl(args).output().unwrap();
        assert!(status.success(), "{args:?}: {}", String::from_utf8_lossy(&stderr));
        String::from_utf8(stdout).unwrap()
    }

    fn json(&self, args: &[&str]) -> Value {
        serde_json::from_str(&self.ok(args)).unwrap()
    }

    fn directory(&self) -> PathBuf {
        Mount::find(Path::new("/proc/mounts")).unwrap().path().join(self.cgroup.trim_start_matches('/'))
    }

    /// Gives the cgroup F-BBRv2, by a kernel name of this test's own.
    fn load(&self) {
        self.ok(&["load", "f-bbrv2", "--cgroup", &self.cgroup, "--create", "--as", &self.name]);
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        let _ = self.ccactl(&["unload", "--all"]).output();
        let _ = fs::remove_dir(self.directory());
        for map in SHARED_MAPS {
            let _ = fs::remove_file(self.bpffs.join(map));
        }
        let _ = fs::remove_dir(&self.bpffs);
    }
}

fn flow(shown: &Value, local_port: u16) -> &Value {
    let ends = format!(":{local_port}");
    let mut flows = shown["flows"].as_array().unwrap().iter();
    flows.find(|flow| flow["local"].as_str().unwrap().ends_with(&ends)).unwrap_or_else(|| panic!("{ends} in {shown}"))
}

#[track_caller]
fn assert_near(found: &Value, expected: f64, tolerance: f64) {
    let found = found.as_f64().unwrap_or_else(|| panic!("no figure: {found}"));
    assert!((found / expected - 1.0).abs() <= tolerance, "{found} instead of {expected}");
}

#[test]
fn goodput_is_what_the_application_has_and_names_are_right() {
    let Some(host) = Host::new("rates") else { return };
    host.load();
    let traffic = Traffic::start(&host.directory());
    let [ours, reno] = traffic.ports;
    let shown = host.json(&["top", "--once", "--json", "--cgroup", &host.cgroup]);
    let only_reno = host.json(&["top", "--once", "--json", "--cgroup", &host.cgroup, "--algorithm", "native:reno"]);
    let table = host.ok(&["top", "--once", "--cgroup", &host.cgroup, "--interval", "200ms", "--every", "20ms"]);
    let wide = host.ok(&["top", "--once", "--wide", "--cgroup", &host.cgroup, "--interval", "200ms"]);
    let rates_bps = traffic.end();
    let widest = |text: &str| text.lines().map(|line| line.chars().count()).max();
    assert!(widest(&table) <= Some(80) && widest(&wide) > Some(80), "{table}\n{wide}");

    for (port, rate_bps, name) in [(ours, rates_bps[0], host.name.as_str()), (reno, rates_bps[1], "reno")] {
        let flow = flow(&shown, port);
        assert_near(&flow["goodput_bps"], rate_bps, 0.1);
        assert_eq!((flow["kernel_name"].as_str(), flow["cgroup"].as_str()), (Some(name), Some(host.cgroup.as_str())));
        assert!(flow["srtt_us"].as_u64().unwrap() > 0 && flow["cwnd_pkts"].as_u64().unwrap() > 0, "{flow}");
        assert_eq!(flow["app_limited"], true, "{flow}");
    }
    let published = flow(&shown, ours);
    assert_eq!(published["algorithm"], "f-bbrv2");
    assert!(
        published["phase"].as_str().is_some_and(|phase| phase.contains("probe") || phase == "startup"),
        "{published}"
    );
    assert!(published["inner"].as_array().unwrap().iter().any(|value| value["name"] == "bw_bps"), "{published}");
    assert_eq!((&flow(&shown, reno)["algorithm"], &flow(&shown, reno)["phase"]), (&Value::Null, &Value::Null));

    let cgroups = shown["cgroups"].as_array().unwrap();
    assert_eq!((cgroups.len(), cgroups[0]["name"].as_str()), (1, Some(host.cgroup.as_str())));
    assert_eq!(cgroups[0]["flows"], 2);
    assert_near(&cgroups[0]["goodput_bps"], rates_bps[0] + rates_bps[1], 0.1);
    assert!(cgroups[0]["rtt_p95_us"].as_f64() >= cgroups[0]["rtt_p50_us"].as_f64(), "{}", cgroups[0]);
    let names: Vec<_> =
        shown["algorithms"].as_array().unwrap().iter().map(|row| row["name"].as_str().unwrap()).collect();
    assert!(names.contains(&"reno") && names.contains(&host.name.as_str()), "{names:?}");
    assert_eq!(shown["drops"]["ring_full_samples"], 0);

    assert_eq!(only_reno["flows"].as_array().unwrap().len(), 1, "{only_reno}");
    assert_near(&flow(&only_reno, reno)["goodput_bps"], rates_bps[1], 0.1);
    assert!(table.contains(&host.cgroup) && table.contains(&format!(":{ours}→127.0.0.1:")), "{table}");
}

#[test]
fn the_terminal_is_given_back_by_keys_and_by_signals() {
    let Some(host) = Host::new("term") else { return };
    for end in [None, Some(Signal::SIGINT), Some(Signal::SIGTERM), Some(Signal::SIGHUP)] {
        let mut command = host.ccactl(&["top", "--port", "1"]);
        command.env("TERM", "xterm-256color");
        let mut top = OnTerminal::start(command, false);
        top.wait_for("[3 flows]");
        assert!(!top.is_sane() && !top.shown().contains(LEAVE));
        match end {
            None => top.press("q"),
            Some(signal) => kill(Pid::from_raw(top.process.id().try_into().unwrap()), signal).unwrap(),
        }
        assert_eq!(top.end(), Some(0), "{end:?}");
        top.wait_for(LEAVE);
        assert!(top.is_sane(), "{end:?}");
    }
    assert!(!host.bpffs.exists(), "nothing is left behind");
}

#[test]
fn it_ends_when_the_terminal_hangs_up() {
    let Some(host) = Host::new("hup") else { return };
    // Without the signal too: a process that is not of the terminal's session gets none.
    for ignored in [false, true] {
        let mut command = host.ccactl(&["top", "--port", "1"]);
        command.env("TERM", "xterm-256color");
        let mut top = OnTerminal::start(command, ignored);
        top.wait_for("[3 flows]");
        top.hang_up();
        top.end();
    }
    assert!(!host.bpffs.exists(), "nothing is left behind");
}

#[test]
fn without_a_terminal_it_says_what_to_do() {
    let Some(host) = Host::new("none") else { return };
    let refused = host.ccactl(&["top"]).output().unwrap();
    let stderr = String::from_utf8(refused.stderr).unwrap();
    assert_eq!(refused.status.code(), Some(2), "{stderr}");
    assert!(stderr.lines().count() == 1 && stderr.contains("--once"), "{stderr}");
    assert_eq!(host.ccactl(&["top", "--json"]).output().unwrap().status.code(), Some(2), "JSON is of one interval");
}

/// Reno under a kernel name of the test, with a line of its own.
fn own_algorithm(host: &Host, line: &str) -> String {
    const RENO: &str = include_str!("../../../../bpf/cc/reno.bpf.c");
    let own = RENO
        .replace("CC_ALGORITHM(\"reno\"", "CC_ALGORITHM(\"mine\"")
        .replace("\"bpf_reno\"", &format!("{:?}", host.name));
    own.replace("\treno_publish(sk);", &format!("\t{line}\n\treno_publish(sk);"))
}

#[test]
fn dev_shows_the_flows_and_what_became_of_each_version() {
    let Some(host) = Host::new("dev") else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mine.bpf.c");
    fs::write(&path, own_algorithm(&host, "")).unwrap();
    let mut command = host.ccactl(&["dev", path.to_str().unwrap(), "--cgroup", &host.cgroup]);
    command.env("TERM", "xterm-256color").env("XDG_CACHE_HOME", folder.path());
    let mut dev = OnTerminal::start(command, false);
    // Only what changes is written to a terminal, so words stand there without the spaces between them.
    for text in ["[3 flows]", "force", "watching"] {
        dev.wait_for(text);
    }
    let object = || host.json(&["status", "--json"])["policies"][0]["object"].clone();
    let first = object();
    let traffic = Traffic::start(&host.directory());
    // The details of a flow open by themselves.
    dev.wait_for("inner");
    fs::write(&path, own_algorithm(&host, "tcp_sk(sk)->snd_cwnd += 1;")).unwrap();
    let deadline = Instant::now() + Duration::from_secs(60);
    while object() == first {
        assert!(Instant::now() < deadline, "the saved version is not in force: {}", dev.shown());
        sleep(Duration::from_millis(50));
    }
    traffic.end();
    assert!(!dev.is_sane());
    dev.press("q");
    assert_eq!(dev.end(), Some(0));
    dev.wait_for("takes");
    assert!(dev.is_sane() && dev.shown().contains(LEAVE));
}
