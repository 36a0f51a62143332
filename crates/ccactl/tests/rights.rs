//! What `record`, `top`, `serve` and `exporter` may still do once their programs are attached: every thread, as the kernel tells it.

#[path = "cli_loader/host.rs"]
#[allow(dead_code, reason = "shared with the tests of load")]
mod host;
#[allow(dead_code, reason = "shared with the tests of recordings under load")]
mod under_load;

use ccactl_host::capabilities::Capability::{
    self, CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH, CAP_SYS_ADMIN, CAP_SYS_PTRACE,
};
use host::{Host, eventually};
use nix::sched::{CloneFlags, unshare};
use nix::sys::signal::{Signal, kill};
use nix::sys::socket::sockopt::TcpCongestion;
use nix::sys::socket::{AddressFamily, Backlog, SockFlag, SockType, listen, setsockopt, socket};
use nix::unistd::{Gid, Pid, Uid, chown, setgid, setuid};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use std::ffi::OsString;
use std::fs;
use std::io::{Read, Write};
use std::mem;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use tempfile::TempDir;
use under_load::Load;

const NOBODY: u32 = 65534;

/// A command that does not outlive its test.
struct Running(Child);

impl Running {
    fn start(command: &mut Command) -> Running {
        Running(command.stdout(Stdio::null()).spawn().unwrap())
    }

    /// What `/proc/PID/task/*/status` says of this field, and of which thread.
    fn threads(&self, field: &str) -> Vec<(String, u64)> {
        let tasks = fs::read_dir(format!("/proc/{}/task", self.0.id())).unwrap();
        tasks
            .filter_map(|task| fs::read_to_string(task.unwrap().path().join("status")).ok())
            .map(|status| {
                let value = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).unwrap().trim();
                (value("Name:").to_owned(), u64::from_str_radix(value(field), 16).unwrap())
            })
            .collect()
    }

    fn names(&self) -> Vec<String> {
        self.threads("CapEff:").into_iter().map(|(name, _)| name).collect()
    }

    fn all_have(&self, field: &str, expected: u64) -> bool {
        self.threads(field).iter().all(|&(_, found)| found == expected)
    }

    #[track_caller]
    fn keeps_exactly(&self, kept: &[Capability]) {
        let kept = kept.iter().fold(0, |bits, capability| bits | capability.bitmask());
        eventually("rights are given up", || self.all_have("CapPrm:", kept));
        for field in ["CapEff:", "CapPrm:", "CapBnd:"] {
            assert!(self.all_have(field, kept), "{field} {:x?}, expected {kept:x}", self.threads(field));
        }
        assert!(self.all_have("CapInh:", 0) && self.all_have("CapAmb:", 0));
        assert!(self.all_have("NoNewPrivs:", 1), "{:?}", self.threads("NoNewPrivs:"));
    }

    fn end(mut self) {
        kill(Pid::from_raw(self.0.id().try_into().unwrap()), Signal::SIGTERM).unwrap();
        assert!(self.0.wait().unwrap().success());
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_recorder_keeps_the_right_to_write_into_the_folder_of_another_user_and_no_other() {
    let Some(host) = Host::with_root() else { return };
    let home = TempDir::new().unwrap();
    chown(home.path(), Some(Uid::from_raw(NOBODY)), None).unwrap();
    fs::set_permissions(home.path(), fs::Permissions::from_mode(0o700)).unwrap();
    let file = home.path().join("x.parquet");
    let running = Running::start(&mut host.command(&["record", "--port", "1", "-o", file.to_str().unwrap()]));
    running.keeps_exactly(&[CAP_DAC_OVERRIDE]);
    running.end();
    assert!(fs::metadata(&file).unwrap().len() > 0);
    assert_eq!(fs::read_dir(home.path()).unwrap().count(), 1);
    assert!(!host.bpffs().exists());
}

/// Its tunables are read from the pins of the loader, after the rights are gone.
#[test]
fn a_recorder_knows_what_is_loaded_while_it_runs() {
    let Some(host) = Host::with_root() else { return };
    let files = TempDir::new().unwrap();
    let file = files.path().join("x.parquet");
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    let port = address.port().to_string();
    let running = Running::start(&mut host.command(&["record", "--port", &port, "-o", file.to_str().unwrap()]));
    running.keeps_exactly(&[CAP_DAC_OVERRIDE]);
    let (name, cgroup) = (host.name(), host.cgroup());
    host.ok(&["load", "bbr", "--cgroup", &cgroup, "--create", "--as", &name, "--set", "probe_rtt_ms=123"]);
    let mut active = TcpStream::connect(address).unwrap();
    setsockopt(&active, TcpCongestion, &OsString::from(&name)).unwrap();
    active.write_all(&[1; 100_000]).unwrap();
    drop(active);
    listener.accept().unwrap().0.read_to_end(&mut Vec::new()).unwrap();
    running.end();
    let reader = ParquetRecordBatchReaderBuilder::try_new(fs::File::open(&file).unwrap()).unwrap();
    let algorithms = &reader.schema().metadata()["ccactl.algorithms"];
    assert!(algorithms.contains(&name) && algorithms.contains("123"), "{algorithms}");
}

#[test]
fn so_does_the_thread_that_makes_the_files_of_parts() {
    let Some(host) = Host::with_root() else { return };
    let files = TempDir::new().unwrap();
    let parts = files.path().join("parts");
    let load = Load::start();
    let args = ["record", "--port", &load.port, "--rotate", "1s", "-o", parts.to_str().unwrap()];
    let running = Running::start(&mut host.command(&args));
    eventually("a part is made", || parts.join("part-00000.parquet").exists());
    assert!(running.names().iter().any(|name| name == "ccactl-convert"), "{:?}", running.names());
    running.keeps_exactly(&[CAP_DAC_OVERRIDE]);
    running.end();
    assert!(!host.bpffs().exists());
}

#[test]
fn a_recorder_without_a_file_and_top_keep_none() {
    let Some(host) = Host::with_root() else { return };
    for args in [&["record", "--port", "1", "-o", "-"][..], &["top", "--port", "1", "--once", "--interval", "2s"]] {
        let mut command = host.command(args);
        let mut running = Running(command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap());
        running.keeps_exactly(&[]);
        if args[0] == "record" {
            running.end();
        } else {
            assert!(running.0.wait().unwrap().success());
        }
        assert!(!host.bpffs().exists(), "{args:?}: what is left was removed without rights");
    }
}

#[test]
fn the_exporter_keeps_what_a_pass_over_the_sockets_of_others_needs() {
    let Some(host) = Host::with_root() else { return };
    let folder = TempDir::new().unwrap();
    let socket = folder.path().join("exporter.sock");
    let (name, cgroup) = (host.name(), host.cgroup());
    host.ok(&host.load_args(&name, &cgroup));
    let _foreign = listener_of_nobody_elsewhere(host.directory());
    let listen = format!("unix:{}", socket.display());
    let mut command = host.command(&["exporter", "--listen", &listen, "--port", "1"]);
    let running = Running::start(command.stderr(Stdio::null()));
    let kept = [CAP_SYS_ADMIN, CAP_SYS_PTRACE, CAP_DAC_READ_SEARCH];
    running.keeps_exactly(&kept);
    let text = scrape(&socket);
    assert!(text.contains("\nccactl_policy_scan_failures_total 0\n"), "{text}");
    assert!(
        text.contains(&format!("\nccactl_policy_sockets{{cgroup=\"{cgroup}\",algorithm=\"{name}\"}} 1\n")),
        "{text}"
    );
    // By now there are the threads of the scrape, too.
    running.keeps_exactly(&kept);
    running.end();
}

#[test]
fn a_live_page_keeps_the_same_and_a_black_box_what_its_files_need() {
    let Some(host) = Host::with_root() else { return };
    let folder = TempDir::new().unwrap();
    let listen = format!("unix:{}", folder.path().join("page.sock").display());
    let mut command = host.command(&["serve", "--listen", &listen, "--port", "1"]);
    let running = Running::start(command.env("CCACTL_STATE", folder.path()).stderr(Stdio::null()));
    running.keeps_exactly(&[CAP_SYS_ADMIN, CAP_SYS_PTRACE, CAP_DAC_READ_SEARCH]);
    running.end();
    let kept = folder.path().join("box");
    let args = ["record", "--ring", "1s", "--trigger", "rto", "--port", "1", "-o", kept.to_str().unwrap()];
    let running = Running::start(&mut host.command(&args));
    running.keeps_exactly(&[CAP_DAC_OVERRIDE]);
    running.end();
}

/// A socket of another user in the cgroup, in a network namespace that only its process leads to: without the rights for
/// that, a pass would not fail but count none.
fn listener_of_nobody_elsewhere(cgroup: PathBuf) -> Running {
    let mut command = Command::new("sleep");
    command.arg("600");
    let procs = cgroup.join("cgroup.procs");
    let become_nobody = move || {
        fs::write(&procs, "0")?;
        unshare(CloneFlags::CLONE_NEWNET)?;
        let socket = socket(AddressFamily::Inet, SockType::Stream, SockFlag::empty(), None)?;
        listen(&socket, Backlog::new(1)?)?;
        // For as long as the process lives.
        mem::forget(socket);
        setgid(Gid::from_raw(NOBODY))?;
        setuid(Uid::from_raw(NOBODY))?;
        Ok(())
    };
    // SAFETY: system calls, and an allocation, which glibc keeps usable in a child.
    unsafe { command.pre_exec(become_nobody) };
    Running(command.spawn().unwrap())
}

fn scrape(socket: &Path) -> String {
    assert_eq!(fs::metadata(socket).unwrap().mode() & 0o7777, 0o660);
    let mut answer = String::new();
    let mut stream = UnixStream::connect(socket).unwrap();
    stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
    stream.read_to_string(&mut answer).unwrap();
    answer
}
