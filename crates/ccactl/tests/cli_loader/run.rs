//! `ccactl run`: exit codes, signals, leftovers.

use crate::host::{Host, cgroup2, eventually, failed, registered};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fs;
use std::path::PathBuf;
use std::process::Child;

fn run_args<'a>(name: &'a str, script: &'a str) -> [&'a str; 8] {
    ["run", "reno", "--as", name, "--", "sh", "-c", script]
}

fn run_directory(child: &Child) -> PathBuf {
    cgroup2().join(format!("ccactl-run-{}", child.id()))
}

#[test]
fn run_gives_the_algorithm_passes_the_exit_code_on_and_cleans_up() {
    let Some(host) = Host::with_root() else { return };
    let name = host.name();
    let script = "grep -o 'ccactl-run-[0-9]*' /proc/self/cgroup; exit 7";
    let output = host.ccactl(&run_args(&name, script));
    assert_eq!(output.status.code(), Some(7), "{}", String::from_utf8_lossy(&output.stderr));
    let cgroup = String::from_utf8(output.stdout).unwrap();
    assert!(
        cgroup.starts_with("ccactl-run-"),
        "the command runs in the cgroup from its first instruction on: {cgroup}"
    );
    assert!(!cgroup2().join(cgroup.trim()).exists() && !registered(&name) && !host.bpffs().exists());

    assert_eq!(host.ccactl(&run_args(&name, "kill -TERM $$")).status.code(), Some(128 + 15));
    let missing = host.ccactl(&["run", "reno", "--as", &name, "--", "/no/such/program"]);
    failed(&missing, 1, &["/no/such/program"]);
    assert!(!registered(&name) && !host.bpffs().exists());
}

#[test]
fn run_survives_signals_long_enough_to_clean_up() {
    let Some(host) = Host::with_root() else { return };
    let name = host.name();
    for (signal, number) in [(Signal::SIGINT, 2), (Signal::SIGTERM, 15), (Signal::SIGHUP, 1)] {
        let mut child = host.command(&run_args(&name, "exec sleep 60")).spawn().unwrap();
        let directory = run_directory(&child);
        eventually("the command runs", || {
            fs::read_to_string(directory.join("cgroup.procs")).is_ok_and(|members| !members.is_empty())
        });
        kill(Pid::from_raw(child.id().cast_signed()), signal).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(128 + number), "{signal}: that of the command, which got it too");
        assert!(!directory.exists() && !registered(&name) && !host.bpffs().exists(), "{signal}");
    }
}

#[test]
fn what_a_killed_run_leaves_the_next_run_removes() {
    let Some(host) = Host::with_root() else { return };
    let name = host.name();
    let mut child = host.command(&run_args(&name, "exec sleep 60")).spawn().unwrap();
    let directory = run_directory(&child);
    let members = || fs::read_to_string(directory.join("cgroup.procs")).unwrap_or_default();
    eventually("the command runs", || !members().is_empty());
    let orphan = Pid::from_raw(members().trim().parse().unwrap());
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(registered(&name), "nobody has cleaned up yet");
    kill(orphan, Signal::SIGKILL).unwrap();
    eventually("the cgroup is empty", || members().is_empty());

    let other = format!("{name}x");
    assert_eq!(host.ccactl(&run_args(&other, "true")).status.code(), Some(0));
    assert!(!directory.exists() && !registered(&name) && !host.bpffs().exists());
}
