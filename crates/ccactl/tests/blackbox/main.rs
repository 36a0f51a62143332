//! `ccactl record --ring` over real connections whose receivers go silent.

#[path = "../cli_loader/host.rs"]
#[allow(dead_code, reason = "shared with the tests of load")]
mod host;
mod traffic;

use host::{Host, eventually, failed};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;
use traffic::{CONNECTIONS, Traffic};

struct Kept(Child);

impl Kept {
    fn start(host: &Host, traffic: &Traffic, folder: &Path, options: &[&str]) -> Kept {
        let (port, folder) = (traffic.port.to_string(), folder.display().to_string());
        let fixed =
            ["record", "--ring", "2s", "--after", "1s", "--every", "50ms", "--port", &port, "-o", &folder, "--json"];
        let mut command: Command = host.command(&[&fixed, options].concat());
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        eventually("the folder to be made", || Path::new(&folder).exists());
        // The programs are attached, and there is something before a trigger.
        sleep(Duration::from_millis(1500));
        Kept(child)
    }

    fn end(mut self) -> (Value, String) {
        kill(Pid::from_raw(self.0.id().cast_signed()), Signal::SIGINT).unwrap();
        let (mut out, mut err) = (String::new(), String::new());
        self.0.stdout.take().unwrap().read_to_string(&mut out).unwrap();
        self.0.stderr.take().unwrap().read_to_string(&mut err).unwrap();
        assert!(self.0.wait().unwrap().success(), "{err}");
        (serde_json::from_str(&out).unwrap_or_else(|error| panic!("{error}: {out}{err}")), err)
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = fs::read_dir(folder).unwrap().flatten().map(|entry| entry.path()).collect();
    found.sort();
    found
}

#[test]
fn each_timeout_has_a_recording_of_what_was_before_it() {
    let Some(host) = Host::with_root() else { return };
    let (traffic, folder) = (Traffic::start(), host.run.path().join("box"));
    let kept = Kept::start(&host, &traffic, &folder, &["--trigger", "rto", "--trigger", "rto_count >= 100"]);
    traffic.silence(0..3);
    eventually("three files", || {
        files(&folder).iter().filter(|path| path.extension().is_some_and(|end| end == "parquet")).count() >= 3
    });
    let (told, err) = kept.end();
    let count = told["files"].as_u64().unwrap() as usize;
    assert_eq!((&told["suppressed"]["per_minute"], &told["drops"]), (&0.into(), &0.into()), "{told}");
    // A host that is slow to end it sees the next timeout of each, which is more than a second later and has a file of its own.
    assert_eq!(count, files(&folder).len(), "{told}");
    // A timeout that is repeated within a second is in the same file.
    assert!(told["suppressed"]["within"].as_u64().unwrap() >= 3, "{told}");
    assert_eq!(err.lines().filter(|line| line.ends_with("rows around rto")).count(), count, "{err}");
    let mut flows = Vec::new();
    for file in files(&folder) {
        assert!(file.file_name().unwrap().to_str().unwrap().ends_with("-rto.parquet"), "{}", file.display());
        let summary = &host.json(&["report", "--json", &file.display().to_string()])["recordings"][0];
        let trigger = &summary["trigger"];
        assert_eq!((&trigger["condition"], &summary["drops"]), (&"rto".into(), &0.into()));
        let at_s = trigger["at_s"].as_f64().unwrap();
        assert!(at_s > 1.0 && at_s <= 2.0, "what was before it: {trigger}");
        assert!(summary["duration_s"].as_f64().unwrap() >= at_s, "{summary}");
        assert_eq!(summary["flows"].as_array().unwrap().len(), 1);
        assert_eq!(trigger["flow"], summary["flows"][0]["name"]);
        flows.push(trigger["flow"].as_str().unwrap().to_owned());
    }
    flows.sort();
    flows.dedup();
    assert_eq!(flows.len(), 3, "of those alone that are silent: {flows:?}");
    let first = files(&folder)[0].display().to_string();
    assert!(host.ok(&["report", &first]).contains("kept for 'rto' at "));
}

#[test]
fn what_is_too_much_is_counted_and_neighbours_come_along() {
    let Some(host) = Host::with_root() else { return };
    let (traffic, folder) = (Traffic::start(), host.run.path().join("box"));
    let kept = Kept::start(&host, &traffic, &folder, &["--trigger", "rto", "--max-per-minute", "2", "--around"]);
    traffic.silence(0..5);
    eventually("two files", || files(&folder).len() >= 2);
    sleep(Duration::from_millis(500));
    let (told, _) = kept.end();
    let count = |name: &str| told["suppressed"][name].as_u64().unwrap();
    assert_eq!(told["files"], 2, "{told}");
    // A timeout that is repeated has no file a second time either.
    assert!(count("per_minute") >= 3 && count("disk") + count("failed") == 0, "{told}");
    let file = files(&folder)[0].display().to_string();
    let flows = &host.json(&["report", "--json", &file])["recordings"][0]["flows"];
    assert_eq!(flows.as_array().unwrap().len(), CONNECTIONS, "{flows}");
}

#[test]
fn a_condition_that_holds_all_the_time_fires_once_for_each_socket() {
    let Some(host) = Host::with_root() else { return };
    let (traffic, folder) = (Traffic::start(), host.run.path().join("box"));
    let options = ["--trigger", "cwnd > 1", "--max-per-minute", "1000", "--max-disk", "1"];
    let kept = Kept::start(&host, &traffic, &folder, &options);
    sleep(Duration::from_millis(800));
    let (told, err) = kept.end();
    // Both ends of each connection have sockets; one file, and then the disk is full.
    assert_eq!(told["files"], 1, "{told}");
    let suppressed = &told["suppressed"];
    assert!((CONNECTIONS as u64 - 1..2 * CONNECTIONS as u64).contains(&suppressed["disk"].as_u64().unwrap()), "{told}");
    assert_eq!(suppressed["within"], 0, "{told}{err}");
}

#[test]
fn wishes_that_make_no_sense_are_one_line() {
    let Some(host) = Host::with_root() else { return };
    let box_of = |trigger: &str| host.ccactl(&["record", "--ring", "1s", "--trigger", trigger, "-o", "/proc/none"]);
    for (trigger, words) in [
        ("cwmd < 4", "unknown name 'cwmd', nearest: cwnd"),
        ("rtt > 50", "rtt is compared with a time such as 50ms"),
        ("rto > 1", "an event stands alone"),
    ] {
        let output = box_of(trigger);
        assert_eq!(output.status.code(), Some(2));
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(stderr.contains(words), "{stderr}");
    }
    failed(&box_of("rto"), 2, &["/proc/none"]);
    assert_eq!(host.ccactl(&["record", "--trigger", "rto", "-o", "x"]).status.code(), Some(2), "without --ring");
    assert_eq!(host.ccactl(&["record", "--ring", "1s", "-o", "x"]).status.code(), Some(2), "without a trigger");
}
