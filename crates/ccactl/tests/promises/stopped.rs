//! Nothing hangs behind a change whose process is stopped: reading starts, waiting says for whom, a signal ends it.

use crate::host::{Host, eventually};
use crate::scenario::{Bench, flow};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// Less than the time after which a waiting change gives up by itself.
const PATIENCE: Duration = Duration::from_secs(30);

/// A `swap` that has been stopped in the middle. Dropping it lets it end.
struct Stopped(Child);

impl Stopped {
    fn start(host: &Host, name: &str, cgroup: &str) -> Self {
        let mut command = host.command(&["swap", "reno", "--cgroup", cgroup, "--as", name]);
        command.env("CCACTL_FAULT", "moving").env("CCACTL_FAULT_STOPS", "1");
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let stat = format!("/proc/{}/stat", child.id());
        eventually("the swap is stopped", || fs::read_to_string(&stat).is_ok_and(|stat| stat.contains(") T ")));
        Self(child)
    }

    fn pid(&self) -> u32 {
        self.0.id()
    }

    /// Lets it end.
    fn go_on(mut self) -> ExitStatus {
        signal(&self.0, Signal::SIGCONT);
        self.0.wait().unwrap()
    }
}

impl Drop for Stopped {
    fn drop(&mut self) {
        signal(&self.0, Signal::SIGCONT);
        let _ = self.0.wait();
    }
}

fn signal(child: &Child, signal: Signal) {
    let _ = kill(Pid::from_raw(child.id().cast_signed()), signal);
}

/// Waits for the end of a process that must not wait for the stopped one.
#[track_caller]
fn ends(mut child: Child, what: &str) -> ExitStatus {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status;
        }
        if Instant::now() > deadline {
            child.kill().unwrap();
            panic!("{what} hangs");
        }
        thread::sleep(Duration::from_millis(10));
    }
}

fn quiet(mut command: Command) -> Child {
    command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

#[test]
fn commands_that_read_do_not_wait_for_a_change_that_hangs() {
    let Some(host) = Host::with_root() else { return };
    let (name, cgroup) = (host.name(), host.cgroup());
    host.ok(&host.load_args(&name, &cgroup));
    let other = format!("{name}b");
    let stopped = Stopped::start(&host, &other, &cgroup);
    let file = host.run.path().join("r.parquet");
    let record = ["record", "--duration", "200ms", "-o", file.to_str().unwrap()];
    let rehearsal = ["swap", "cubic", "--cgroup", &cgroup, "--as", &format!("{name}c"), "--dry-run"];
    for args in [&["status"][..], &record, &["top", "--once", "--interval", "100ms"], &rehearsal] {
        let status = ends(quiet(host.command(args)), args[0]);
        assert!(status.success(), "{args:?}: {status}");
    }
    let mut exporter = host.command(&["exporter", "--listen", "127.0.0.1:0"]).stderr(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(exporter.stderr.take().unwrap()).read_line(&mut line).unwrap();
    assert!(line.contains("metrics on http://127.0.0.1:"), "{line}");
    signal(&exporter, Signal::SIGTERM);
    assert!(ends(exporter, "the exporter").success());

    let status = host.ok(&["status"]);
    assert!(status.contains(&format!("process {}", stopped.pid())), "{status}");
    assert!(stopped.go_on().success(), "what was stopped goes on as if nothing had been");
    assert_eq!(host.policies()[0]["kernel_name"], other.as_str());
}

#[test]
fn a_change_that_waits_says_for_whom_and_a_signal_ends_it() {
    let Some(host) = Host::with_root() else { return };
    let (name, cgroup) = (host.name(), host.cgroup());
    host.ok(&host.load_args(&name, &cgroup));
    let stopped = Stopped::start(&host, &format!("{name}b"), &cgroup);
    let file = host.run.path().join("policy.toml");
    fs::write(&file, format!("[cgroup.\"{cgroup}\"]\nalgorithm = \"reno\"\nas = \"{name}c\"\n")).unwrap();
    let other = format!("{name}c");
    let waiting: [&[&str]; 6] = [
        &["load", "cubic", "--cgroup", &cgroup, "--as", &other],
        &["swap", "cubic", "--cgroup", &cgroup, "--as", &other],
        &["rollback", "--cgroup", &cgroup],
        &["unload", "--cgroup", &cgroup],
        &["apply", file.to_str().unwrap()],
        &["run", "reno", "--as", &other, "--", "true"],
    ];
    for args in waiting {
        for end in [Signal::SIGTERM, Signal::SIGINT] {
            let mut child = host.command(args).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
            let mut stderr = BufReader::new(child.stderr.take().unwrap());
            let mut line = String::new();
            stderr.read_line(&mut line).unwrap();
            let holder = format!("waiting for process {}", stopped.pid());
            assert!(line.contains(&holder) && line.contains("swap reno"), "{args:?}: {line}");
            signal(&child, end);
            let status = ends(child, args[0]);
            assert!(!status.success(), "{args:?} after {end}: {status}");
            let mut rest = String::new();
            stderr.read_to_string(&mut rest).unwrap();
            assert!(!rest.contains("panicked"), "{args:?}: {rest}");
        }
    }
    let bench = Bench::new("10s", &flow("a", "reno", ""));
    let mut child = host.command(&bench.args().iter().map(String::as_str).collect::<Vec<_>>());
    let mut child = child.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut said = BufReader::new(child.stderr.take().unwrap()).lines();
    assert!(said.any(|line| line.unwrap().contains("waiting for process")), "bench has ended");
    signal(&child, Signal::SIGTERM);
    let start = Instant::now();
    let status = ends(child, "bench");
    assert!(!status.success() && start.elapsed() < PATIENCE / 2, "bench after {:?}: {status}", start.elapsed());
    let mut service = host.command(&["apply", "--watch", file.to_str().unwrap()]);
    let mut service = service.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(service.stderr.take().unwrap()).read_line(&mut line).unwrap();
    assert!(line.contains("waiting for process"), "{line}");
    signal(&service, Signal::SIGTERM);
    ends(service, "apply --watch");
    drop(stopped);
    assert!(!crate::host::registered(&other), "what was ended while it waited has changed nothing");
}
