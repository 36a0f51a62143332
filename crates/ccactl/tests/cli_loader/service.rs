//! `apply --watch` on the real kernel, with a socket in the place of systemd's. What it says to systemd is what the tests
//! wait for.

use crate::fleet::Fleet;
use crate::host::{eventually, failed};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fs;
use std::io::Read;
use std::os::unix::net::UnixDatagram;
use std::process::{Child, ExitStatus, Stdio};
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(20);

struct Service<'a> {
    child: Child,
    systemd: UnixDatagram,
    _fleet: &'a Fleet,
}

impl<'a> Service<'a> {
    /// Starts it; it is not ready yet.
    fn start(fleet: &'a Fleet) -> Self {
        let socket = fleet.host.run.path().join("notify");
        let _ = fs::remove_file(&socket);
        let systemd = UnixDatagram::bind(&socket).unwrap();
        systemd.set_read_timeout(Some(PATIENCE)).unwrap();
        let path = fleet.path();
        let mut command = fleet.host.command(&["apply", "--watch", path.to_str().unwrap()]);
        let child = command.env("NOTIFY_SOCKET", socket).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        Self { child, systemd, _fleet: fleet }
    }

    fn ready(fleet: &'a Fleet) -> Self {
        let service = Self::start(fleet);
        service.wait_for("READY=1");
        service
    }

    /// The next thing that it says.
    fn message(&self) -> String {
        let mut buffer = [0; 4096];
        let length = self.systemd.recv(&mut buffer).expect("a message in time");
        String::from_utf8(buffer[..length].to_vec()).unwrap()
    }

    /// Reads messages up to one with this text, which it returns with those before.
    #[track_caller]
    fn wait_for(&self, text: &str) -> Vec<String> {
        let mut messages = vec![self.message()];
        while !messages.last().unwrap().contains(text) {
            messages.push(self.message());
        }
        messages
    }

    fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(self.child.id().cast_signed()), signal).unwrap();
    }

    /// State of the process as in `ps`.
    fn state(&self) -> String {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.child.id())).unwrap();
        stat.rsplit(") ").next().unwrap()[..1].to_owned()
    }

    /// Number of directories that it watches.
    fn watches(&self) -> usize {
        let folder = fs::read_dir(format!("/proc/{}/fdinfo", self.child.id())).unwrap();
        let infos = folder.flatten().map(|entry| fs::read_to_string(entry.path()).unwrap_or_default());
        infos.map(|info| info.matches("inotify wd:").count()).sum()
    }

    /// Ends it; its exit status, stdout and stderr.
    fn end(mut self, signal: Signal) -> (ExitStatus, String, String) {
        self.signal(signal);
        let status = self.child.wait().unwrap();
        let (mut stdout, mut stderr) = (String::new(), String::new());
        self.child.stdout.take().unwrap().read_to_string(&mut stdout).unwrap();
        self.child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
        (status, stdout, stderr)
    }
}

impl Drop for Service<'_> {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn it_is_ready_when_the_policies_are_in_force_and_leaves_them_so_when_it_ends() {
    let Some(fleet) = Fleet::new() else { return };
    fleet.make("a");
    fleet.write(&(fleet.table("a", "reno", "a", "") + &fleet.table("missing", "reno", "a", "")));
    let service = Service::start(&fleet);
    let messages = service.wait_for("READY=1");
    assert!(fleet.is_active("a", "a"));
    assert_eq!(messages[0], "STATUS=1 in force, 1 waiting for their cgroup, 0 failed\n");

    service.signal(Signal::SIGTERM);
    service.wait_for("STOPPING=1");
    let (status, stdout, stderr) = service.end(Signal::SIGTERM);
    assert_eq!((status.code(), stderr.as_str()), (Some(0), ""));
    assert!(stdout.contains("loaded") && stdout.contains("waiting"), "{stdout}");
    assert!(fleet.is_active("a", "a"));
}

#[test]
fn ctrl_c_leaves_the_policies_too_and_ends_with_its_code() {
    let Some(fleet) = Fleet::new() else { return };
    fleet.make("a");
    fleet.write(&fleet.table("a", "reno", "a", ""));
    let (status, ..) = Service::ready(&fleet).end(Signal::SIGINT);
    assert_eq!(status.code(), Some(130));
    assert!(fleet.is_active("a", "a"));
}

#[test]
fn a_cgroup_that_appears_gets_its_policy_each_time() {
    let Some(fleet) = Fleet::new() else { return };
    fleet.write(&(fleet.table("a", "reno", "a", "") + &fleet.table("x/y/z", "cubic", "z", "")));
    let service = Service::ready(&fleet);
    assert!(!fleet.host.bpffs().exists());

    for _ in 0..3 {
        let directory = fleet.make("a");
        service.wait_for("STATUS=1 in force");
        assert!(fleet.is_active("a", "a"));
        fs::remove_dir(directory).unwrap();
        service.wait_for("STATUS=0 in force");
        assert_eq!(fleet.policies(), 0, "the policy of the removed one is cleared");
    }
    // Its ancestors appear first, together or one by one, and go again.
    for steps in [&["x/y/z"][..], &["x", "x/y", "x/y/z"]] {
        steps.iter().for_each(|step| drop(fleet.make(step)));
        service.wait_for("STATUS=1 in force");
        assert!(fleet.is_active("x/y/z", "z"));
        for step in ["x/y/z", "x/y", "x"] {
            fs::remove_dir(fleet.directory(step)).unwrap();
        }
        service.wait_for("STATUS=0 in force");
    }
    assert_eq!(service.end(Signal::SIGTERM).2, "");
}

#[test]
fn a_changed_file_is_applied_and_a_broken_one_is_not() {
    let Some(fleet) = Fleet::new() else { return };
    fleet.make("a");
    fleet.make("b");
    fleet.write(&fleet.table("a", "reno", "a", ""));
    let service = Service::ready(&fleet);

    let native = format!("[cgroup.\"{}\"]\nalgorithm = \"native:nosuch\"\n", fleet.cgroup("a"));
    for broken in [fleet.table("a", "renoo", "a", ""), native] {
        fleet.write(&broken);
        service.wait_for("STATUS=1 in force");
        assert!(fleet.is_active("a", "a"));
    }
    // The old file still counts for cgroups that come and go.
    fs::remove_dir(fleet.directory("a")).unwrap();
    service.wait_for("STATUS=0 in force");
    fleet.make("a");
    service.wait_for("STATUS=1 in force");
    assert!(fleet.is_active("a", "a"));

    fleet.write(&(fleet.table("a", "cubic", "c", "") + &fleet.table("b", "reno", "b", "")));
    service.wait_for("STATUS=2 in force");
    assert!(fleet.is_active("a", "c") && fleet.is_active("b", "b"));
    // Written in place, not replaced.
    fs::write(fleet.path(), fleet.table("a", "reno", "d", "")).unwrap();
    service.wait_for("STATUS=1 in force");
    assert!(fleet.is_active("a", "d") && fleet.is_active("b", "b"), "without --prune nothing is taken back");

    let (status, _, stderr) = service.end(Signal::SIGTERM);
    assert_eq!(status.code(), Some(0));
    let complaints: Vec<&str> = stderr.lines().collect();
    assert_eq!(complaints.len(), 2, "{stderr}");
    for (complaint, part) in complaints.iter().zip(["policy.toml:2: ", "'nosuch'"]) {
        assert!(complaint.contains(part) && complaint.contains("stays in force"), "{stderr}");
    }
}

#[test]
fn sighup_reads_the_file_again_between_reloading_and_ready() {
    let Some(fleet) = Fleet::new() else { return };
    fleet.make("a");
    fleet.write(&fleet.table("a", "reno", "a", ""));
    let service = Service::ready(&fleet);
    fleet.host.ok(&["unload", "--cgroup", &fleet.cgroup("a")]);
    service.signal(Signal::SIGHUP);
    let messages = service.wait_for("READY=1");
    assert!(messages[0].starts_with("RELOADING=1\nMONOTONIC_USEC="), "{messages:?}");
    assert_eq!(messages.len(), 3, "{messages:?}");
    assert!(fleet.is_active("a", "a"));
    assert_eq!(service.end(Signal::SIGTERM).0.code(), Some(0));
}

#[test]
fn a_burst_of_events_is_one_apply_and_leaves_no_watch_behind() {
    let Some(fleet) = Fleet::new() else { return };
    fleet.make("a");
    fleet.write(&fleet.table("a", "reno", "a", ""));
    let service = Service::ready(&fleet);
    let watches = service.watches();
    service.signal(Signal::SIGSTOP);
    eventually("it is stopped", || service.state() == "T");
    for _ in 0..300 {
        fs::remove_dir(fleet.directory("a")).unwrap();
        fleet.make("a");
    }
    service.signal(Signal::SIGCONT);
    assert_eq!(service.message(), "STATUS=1 in force, 0 waiting for their cgroup, 0 failed\n");
    assert!(fleet.is_active("a", "a") && fleet.policies() == 1);
    // Whatever it still had to say would come before its answer to this.
    service.signal(Signal::SIGHUP);
    assert!(service.message().starts_with("RELOADING=1"));
    service.wait_for("READY=1");
    assert_eq!(service.watches(), watches);
}

#[test]
fn what_is_wrong_at_the_start_ends_it_before_it_is_ready() {
    let Some(fleet) = Fleet::new() else { return };
    fleet.write("[cgroup.\"/a\"]\n");
    let mut service = Service::start(&fleet);
    assert_eq!(service.child.wait().unwrap().code(), Some(2));
    service.systemd.set_nonblocking(true).unwrap();
    assert!(service.systemd.recv(&mut [0; 16]).is_err(), "nothing was said to systemd");
    fs::remove_file(fleet.path()).unwrap();
    failed(&fleet.run("apply", &["--watch"]), 2, &["policy.toml", "expected a policy file"]);
}
