//! A `ccactl` with everything that it touches to itself.

use nix::unistd::geteuid;
use serde_json::Value;
use std::env;
use std::fs;
use std::path::PathBuf;
use std::process::{self, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use tempfile::TempDir;

const CCACTL: &str = env!("CARGO_BIN_EXE_ccactl");
const PATIENCE: Duration = Duration::from_secs(20);

/// Folders, cgroups and names that only one test uses.
pub struct Host {
    pub run: TempDir,
    tag: String,
}

impl Host {
    pub fn new() -> Self {
        static COUNTER: AtomicU32 = AtomicU32::new(0);
        let tag = format!("{:x}c{:x}", process::id(), COUNTER.fetch_add(1, Ordering::Relaxed));
        Self { run: tempfile::tempdir().unwrap(), tag }
    }

    /// For tests on the real kernel: `None` without root, which in CI is a failure.
    pub fn with_root() -> Option<Self> {
        if geteuid().is_root() {
            return Some(Self::new());
        }
        assert_ne!(env::var("CI").as_deref(), Ok("true"), "CI runs the kernel tests, so it needs root");
        eprintln!("not run: needs root");
        None
    }

    pub fn bpffs(&self) -> PathBuf {
        format!("/sys/fs/bpf/ccactl-test-{}", self.tag).into()
    }

    pub fn cgroup(&self) -> String {
        format!("/ccactl-test-{}", self.tag)
    }

    pub fn directory(&self) -> PathBuf {
        cgroup2().join(self.cgroup().trim_start_matches('/'))
    }

    pub fn name(&self) -> String {
        format!("t{}", self.tag)
    }

    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(CCACTL);
        command.args(args).env("CCACTL_BPFFS", self.bpffs()).env("XDG_CACHE_HOME", self.run.path());
        command.stdin(Stdio::null());
        command
    }

    pub fn ccactl(&self, args: &[&str]) -> Output {
        self.command(args).output().unwrap()
    }

    /// Runs and expects success; returns stdout.
    pub fn ok(&self, args: &[&str]) -> String {
        succeeded(&self.ccactl(args), args)
    }

    pub fn json(&self, args: &[&str]) -> Value {
        serde_json::from_str(&self.ok(args)).unwrap()
    }

    /// What `status --json` has.
    pub fn policies(&self) -> Value {
        self.json(&["status", "--json"])["policies"].take()
    }

    /// `load reno` into this test's cgroup, made when missing, under this test's name.
    pub fn load_args<'a>(&self, name: &'a str, cgroup: &'a str) -> [&'a str; 7] {
        ["load", "reno", "--cgroup", cgroup, "--create", "--as", name]
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        if geteuid().is_root() {
            let _ = self.ccactl(&["unload", "--all"]);
            let _ = fs::remove_dir(self.directory());
        }
    }
}

pub fn cgroup2() -> PathBuf {
    let mounts = fs::read_to_string("/proc/mounts").unwrap();
    let line = mounts.lines().find(|line| line.split(' ').nth(2) == Some("cgroup2")).expect("a cgroup2 mount");
    line.split(' ').nth(1).unwrap().into()
}

pub fn registered(name: &str) -> bool {
    let names = fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control").unwrap();
    names.split_whitespace().any(|candidate| candidate == name)
}

pub fn succeeded(output: &Output, args: &[&str]) -> String {
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{args:?}: {:?}\n{stderr}", output.status.code());
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// Expects an exit code and one line on stderr that contains all of `parts`.
#[track_caller]
pub fn failed(output: &Output, code: i32, parts: &[&str]) {
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{stderr}");
    assert_eq!(stderr.lines().count(), 1, "{stderr}");
    for part in parts {
        assert!(stderr.contains(part), "no '{part}' in: {stderr}");
    }
}

#[track_caller]
pub fn eventually(what: &str, condition: impl Fn() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !condition() {
        assert!(Instant::now() < deadline, "not in time: {what}");
        thread::sleep(Duration::from_millis(5));
    }
}
