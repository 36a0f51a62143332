//! Two connections of known rates in a network namespace of their own. They run in a process of their own, since a cgroup has
//! whole processes: this very test binary, started anew with [`child`] as its only test.

use nix::sched::{CloneFlags, unshare};
use nix::sys::socket::setsockopt;
use nix::sys::socket::sockopt::TcpCongestion;
use std::ffi::OsString;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

const IS_TRAFFIC: &str = "CCACTL_TEST_TRAFFIC";
/// Bytes of a write, one each [`GAP`]: 40 and 16 Mbit/s.
const WRITES: [usize; 2] = [50_000, 20_000];
const GAP: Duration = Duration::from_millis(10);

/// The process with the connections: the first has what its cgroup gives it, the second has chosen reno itself.
pub struct Traffic {
    process: Child,
    commands: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
    /// Local ports of the senders.
    pub ports: [u16; 2],
}

impl Traffic {
    /// Starts in a cgroup; data flows when this returns.
    pub fn start(cgroup: &Path) -> Traffic {
        let procs = fs::OpenOptions::new().write(true).open(cgroup.join("cgroup.procs")).unwrap();
        let mut command = Command::new(std::env::current_exe().unwrap());
        command
            .args(["--exact", "traffic::child", "--ignored", "--nocapture", "--test-threads=1"])
            .env(IS_TRAFFIC, "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        // SAFETY: between fork and exec only `write` runs, on a file that was opened before.
        unsafe {
            command.pre_exec(move || (&procs).write_all(b"0"));
        }
        let mut process = command.spawn().unwrap();
        let commands = process.stdin.take();
        let mut answers = BufReader::new(process.stdout.take().unwrap());
        let ports = pair(&answer(&mut answers)).map(|port| port as u16);
        Traffic { process, commands, answers, ports }
    }

    /// Ends it; bit/s that the receivers have read since the start.
    pub fn end(mut self) -> [f64; 2] {
        drop(self.commands.take());
        pair(&answer(&mut self.answers))
    }
}

impl Drop for Traffic {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn pair(text: &str) -> [f64; 2] {
    let (first, second) = text.split_once(' ').unwrap();
    [first, second].map(|number| number.parse().unwrap())
}

/// The next answer; what the test harness prints around it is skipped.
fn answer(answers: &mut impl BufRead) -> String {
    loop {
        let mut line = String::new();
        assert_ne!(answers.read_line(&mut line).unwrap(), 0, "the traffic process has ended early");
        if let Some((_, answer)) = line.split_once('@') {
            return answer.trim().to_owned();
        }
    }
}

static IS_OVER: AtomicBool = AtomicBool::new(false);
static READ_BYTES: [AtomicU64; 2] = [AtomicU64::new(0), AtomicU64::new(0)];

/// Not a test: what [`Traffic::start`] runs in its process.
#[test]
#[ignore = "started by the other tests"]
fn child() {
    if std::env::var_os(IS_TRAFFIC).is_none() {
        return;
    }
    unshare(CloneFlags::CLONE_NEWNET).unwrap();
    set_loopback_up();
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    let ports = [0, 1].map(|flow| connect(&listener, address, flow).local_addr().unwrap().port());
    let begin = Instant::now();
    println!("@{} {}", ports[0], ports[1]);

    std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
    let rates =
        READ_BYTES.each_ref().map(|bytes| bytes.load(Ordering::Relaxed) as f64 * 8.0 / begin.elapsed().as_secs_f64());
    IS_OVER.store(true, Ordering::Relaxed);
    println!("@{} {}", rates[0], rates[1]);
    std::process::exit(0);
}

/// A sender that writes on time, and its receiver.
fn connect(listener: &TcpListener, address: SocketAddr, flow: usize) -> TcpStream {
    let sender = TcpStream::connect(address).unwrap();
    let (mut receiver, _) = listener.accept().unwrap();
    if flow == 1 {
        setsockopt(&sender, TcpCongestion, &OsString::from("reno")).unwrap();
    }
    thread::spawn(move || {
        let mut buffer = vec![0; 1 << 16];
        while let Ok(n @ 1..) = receiver.read(&mut buffer) {
            READ_BYTES[flow].fetch_add(n as u64, Ordering::Relaxed);
        }
    });
    let mut writer = sender.try_clone().unwrap();
    thread::spawn(move || {
        let block = vec![0x55; WRITES[flow]];
        let mut due = Instant::now();
        while !IS_OVER.load(Ordering::Relaxed) {
            writer.write_all(&block).unwrap();
            // By the clock, so that a late wake-up does not change the rate.
            due += GAP;
            thread::sleep(due.saturating_duration_since(Instant::now()));
        }
    });
    sender
}

fn set_loopback_up() {
    let socket = TcpListener::bind((Ipv4Addr::UNSPECIFIED, 0)).unwrap();
    // SAFETY: an all-zero ifreq is valid, and it outlives both calls, which only read and write within it.
    unsafe {
        let mut request: libc::ifreq = std::mem::zeroed();
        request.ifr_name[0] = b'l' as libc::c_char;
        request.ifr_name[1] = b'o' as libc::c_char;
        request.ifr_ifru.ifru_flags = libc::IFF_UP as libc::c_short;
        assert_eq!(libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS, &request), 0);
    }
}
