//! A canary ends with its watcher: new connections at its lease, open ones with the next command.

use crate::host::{Host, eventually};
use crate::live::Live;
use nix::fcntl::{Flock, FlockArg};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use std::fs::File;
use std::process::{Child, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// A guarded roll-out to half of the sockets that is being watched.
fn watched(host: &Host, cgroup: &str, name: &str) -> Child {
    let evidence = host.run.path().to_str().unwrap().to_owned();
    let args = [
        "swap",
        "cubic",
        "--cgroup",
        cgroup,
        "--as",
        name,
        "--canary",
        "50%",
        "--watch",
        "60s",
        "--min-flows",
        "1",
        "--revert-if",
        "goodput < 0.001 * baseline",
        "--evidence",
        &evidence,
        "--lease",
        "1s",
    ];
    let child = host.command(&args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    eventually("the canary is watched and has moved", || {
        let row = row(host);
        row["canary"]["watched"] == true && row["state"] == "active"
    });
    child
}

fn row(host: &Host) -> Value {
    host.policies()[0].clone()
}

/// Connections of the cgroup by what they have; listeners are always the baseline's.
fn has(live: &Live, name: &str) -> u64 {
    live.by_algorithm().get(name).copied().unwrap_or_default()
}

#[test]
fn a_killed_watcher_costs_new_connections_nothing_and_the_next_command_brings_the_open_ones_back() {
    ends_with_its_watcher(Signal::SIGKILL);
}

#[test]
fn a_stopped_watcher_is_none() {
    ends_with_its_watcher(Signal::SIGSTOP);
}

fn ends_with_its_watcher(signal: Signal) {
    let Some(host) = Host::with_root() else { return };
    let cgroup = host.cgroup();
    let [baseline, canary] = ["a", "b"].map(|suffix| format!("{}{suffix}", host.name()));
    host.ok(&host.load_args(&baseline, &cgroup));
    let mut old = Live::open(&host, 10);
    // Live sockets are given to one side by their number, new ones too: with 60 more there are some on either.
    host.ok(&["swap", "reno", "--cgroup", &cgroup, "--as", &baseline]);
    let mut watcher = watched(&host, &cgroup, &canary);
    assert!(has(&old, &canary) > 0, "{:?}", old.by_algorithm());
    let pid = Pid::from_raw(watcher.id().cast_signed());

    kill(pid, signal).unwrap();
    eventually("the lease has run out", || row(&host)["canary"]["lease_s"].is_null());
    assert_eq!(row(&host)["canary"]["watched"], false);
    let told = host.ok(&["status"]);
    assert!(told.contains("watched by nobody any more: new connections get the former algorithm again;"), "{told}");
    let moved = has(&old, &canary);
    assert!(moved > 0, "open connections are left alone until somebody comes");
    old.open_more(&host, 30);
    assert_eq!(has(&old, &canary), moved, "new connections got the canary of a dead watcher");

    host.ok(&host.load_args(&baseline, &cgroup));
    assert_eq!(has(&old, &canary), 0);
    assert!(row(&host)["canary"].is_null());
    old.move_bytes();
    let _ = kill(pid, Signal::SIGCONT);
    let _ = kill(pid, Signal::SIGTERM);
    watcher.wait().unwrap();
    assert_eq!((has(&old, &canary), row(&host)["kernel_name"].as_str()), (0, Some(baseline.as_str())));
}

/// Somebody else is changing something at the moment of the signal: the canary does not give up at once.
#[test]
fn a_watch_that_is_ended_beside_another_change_takes_its_canary_back() {
    let Some(host) = Host::with_root() else { return };
    let cgroup = host.cgroup();
    let [baseline, canary] = ["a", "b"].map(|suffix| format!("{}{suffix}", host.name()));
    host.ok(&host.load_args(&baseline, &cgroup));
    let live = Live::open(&host, 10);
    host.ok(&["swap", "reno", "--cgroup", &cgroup, "--as", &baseline]);
    let mut watcher = watched(&host, &cgroup, &canary);
    let change = Flock::lock(File::open(host.bpffs()).unwrap(), FlockArg::LockExclusive).unwrap();
    kill(Pid::from_raw(watcher.id().cast_signed()), Signal::SIGINT).unwrap();
    thread::sleep(Duration::from_millis(300));
    drop(change);
    assert_eq!(watcher.wait().unwrap().code(), Some(130));
    assert_eq!(has(&live, &canary), 0, "{:?}", live.by_algorithm());
    assert!(row(&host)["canary"].is_null());
}

/// A watcher that was stopped for long finds the canary of somebody else in its place, and leaves it alone.
#[test]
fn a_watcher_of_yesterday_does_not_end_the_canary_of_today() {
    let Some(host) = Host::with_root() else { return };
    let cgroup = host.cgroup();
    let [baseline, yesterday, today] = ["a", "b", "c"].map(|suffix| format!("{}{suffix}", host.name()));
    host.ok(&host.load_args(&baseline, &cgroup));
    let _live = Live::open(&host, 10);
    host.ok(&["swap", "reno", "--cgroup", &cgroup, "--as", &baseline]);
    let mut stopped = watched(&host, &cgroup, &yesterday);
    let pid = Pid::from_raw(stopped.id().cast_signed());
    kill(pid, Signal::SIGSTOP).unwrap();
    eventually("the lease has run out", || row(&host)["canary"]["lease_s"].is_null());
    host.ok(&["unload", "--cgroup", &cgroup]);
    host.ok(&host.load_args(&baseline, &cgroup));
    let mut watcher = watched(&host, &cgroup, &today);
    kill(pid, Signal::SIGCONT).unwrap();
    kill(pid, Signal::SIGTERM).unwrap();
    stopped.wait().unwrap();
    let end = Instant::now() + Duration::from_secs(2);
    while Instant::now() < end {
        assert_eq!(row(&host)["canary"]["watched"], true);
        thread::sleep(Duration::from_millis(50));
    }
    kill(Pid::from_raw(watcher.id().cast_signed()), Signal::SIGTERM).unwrap();
    watcher.wait().unwrap();
    assert!(row(&host)["canary"].is_null());
}

#[test]
fn a_lease_beyond_reason_is_refused() {
    let Some(host) = Host::with_root() else { return };
    let canary = |lease: &str| {
        let args = [
            "swap",
            "cubic",
            "--cgroup",
            "/x",
            "--canary",
            "50%",
            "--revert-if",
            "goodput < 1Mbit/s",
            "--lease",
            lease,
        ];
        host.ccactl(&args)
    };
    for lease in ["100ms", "2h"] {
        crate::host::failed(&canary(lease), 2, &["--lease", "expected 1 s to 3600 s"]);
    }
}
