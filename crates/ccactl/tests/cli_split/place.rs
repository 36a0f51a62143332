//! A network namespace with a proxy in it, and streams whose every byte is known.

use ccactl_testbed::host::netns::Netns;
use ccactl_testbed::host::run_id::{PREFIX, RunId};
use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, geteuid};
use serde_json::Value;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

pub const CCACTL: &str = env!("CARGO_BIN_EXE_ccactl");
/// No step of a test waits longer.
pub const PATIENCE: Duration = Duration::from_secs(30);
/// Both legs, where a test does not care.
pub const NATIVE: [&str; 4] = ["--client-algorithm", "native:reno", "--server-algorithm", "native:cubic"];

/// Whether the kernel is within reach. In CI it has to be.
pub fn has_root() -> bool {
    if geteuid().is_root() {
        return true;
    }
    assert_ne!(std::env::var("CI").as_deref(), Ok("true"), "CI runs the kernel tests, so it needs root");
    eprintln!("not run: needs root");
    false
}

/// Pins of one test only, which has a thread.
pub fn bpffs() -> PathBuf {
    let thread = format!("{:?}", thread::current().id());
    let thread: String = thread.chars().filter(char::is_ascii_digit).collect();
    format!("/sys/fs/bpf/ccactl-test-split-{}-{thread}", std::process::id()).into()
}

pub fn ip(netns: &Netns, words: &str) {
    let run = || Command::new("ip").args(words.split(' ')).output();
    let output = netns.run(run).unwrap();
    assert!(output.status.success(), "ip {words}: {}", String::from_utf8_lossy(&output.stderr));
}

/// A namespace with nothing but its loopback.
pub fn alone() -> Netns {
    let netns = Netns::create(format!("{PREFIX}-{}-p", RunId::new())).unwrap();
    ip(&netns, "link set lo up");
    netns
}

pub fn command(args: &[&str]) -> Command {
    let mut command = Command::new(CCACTL);
    command.arg("split").args(args).env("CCACTL_BPFFS", bpffs()).stdin(Stdio::null());
    command
}

/// A proxy that has to refuse; its exit code and its one line.
pub fn refused(netns: &Netns, args: &[&str]) -> (i32, String) {
    let mut command = command(args);
    let output: Output = netns.run(|| command.output()).unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(text.lines().count(), 1, "{text}");
    (output.status.code().unwrap(), text)
}

/// A running proxy, which ends with this value.
pub struct Proxy {
    child: Child,
    pub address: SocketAddr,
    pub first_line: String,
    lines: Receiver<String>,
}

impl Proxy {
    pub fn start(netns: &Netns, args: &[&str]) -> Self {
        Self::spawn(netns, command(args).arg("--json"))
    }

    /// The command ends with `--json` by then.
    pub fn spawn(netns: &Netns, command: &mut Command) -> Self {
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = netns.run(|| command.spawn()).unwrap();
        let (send, lines) = channel();
        let stderr = BufReader::new(child.stderr.take().unwrap());
        thread::spawn(move || stderr.lines().map_while(io::Result::ok).all(|line| send.send(line).is_ok()));
        // Whatever it found of a killed one, it says before.
        let is_warning = |line: &String| line.contains(" WARN ");
        let first_line = loop {
            let line = lines.recv_timeout(PATIENCE).unwrap();
            if !is_warning(&line) {
                break line;
            }
        };
        let address = first_line
            .strip_prefix("splitting connections from ")
            .and_then(|rest| rest.split(' ').next()?.parse().ok())
            .unwrap_or_else(|| panic!("{first_line}"));
        Self { child, address, first_line, lines }
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn line(&self) -> String {
        self.lines.recv_timeout(PATIENCE).unwrap()
    }

    pub fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(self.pid().cast_signed()), signal).unwrap();
    }

    /// What it did, once it has ended.
    pub fn tally(self) -> Value {
        let (code, tally) = self.outcome();
        assert_eq!(code, 0, "{tally}");
        tally
    }

    /// The same with the exit code.
    pub fn outcome(mut self) -> (i32, Value) {
        let mut text = String::new();
        self.child.stdout.take().unwrap().read_to_string(&mut text).unwrap();
        let tally = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text:?}"));
        (self.child.wait().unwrap().code().unwrap(), tally)
    }

    /// Ends it in order.
    pub fn end(self) -> Value {
        self.signal(Signal::SIGTERM);
        self.tally()
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub fn listen(netns: &Netns, at: &str) -> (TcpListener, SocketAddr) {
    let listener = netns.run(|| TcpListener::bind(at)).unwrap();
    let address = listener.local_addr().unwrap();
    (listener, address)
}

pub fn connect(netns: &Netns, to: SocketAddr) -> TcpStream {
    let stream = netns.run(|| TcpStream::connect(to)).unwrap();
    patient(&stream);
    stream
}

pub fn accept(listener: &TcpListener) -> TcpStream {
    let (stream, _) = listener.accept().unwrap();
    patient(&stream);
    stream
}

fn patient(stream: &TcpStream) {
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.set_write_timeout(Some(PATIENCE)).unwrap();
}

/// A client's connection through the proxy, and the server's end of it.
pub fn connected(netns: &Netns, to: SocketAddr, server: &TcpListener) -> (TcpStream, TcpStream) {
    let client = connect(netns, to);
    (client, accept(server))
}

/// A stream's byte, by its name and its position: SplitMix64 of both.
pub fn byte(stream: u64, position: u64) -> u8 {
    let mut z = ((stream << 40) ^ (position / 8)).wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (z ^ (z >> 31)).to_le_bytes()[(position % 8) as usize]
}

/// Writes a stream from a position on.
pub fn write(mut to: &TcpStream, stream: u64, from: u64, bytes: u64) -> io::Result<()> {
    const PIECE: u64 = 64 * 1024;
    let end = from + bytes;
    for start in (from..end).step_by(PIECE as usize) {
        let piece: Vec<u8> = (start..end.min(start + PIECE)).map(|position| byte(stream, position)).collect();
        to.write_all(&piece)?;
    }
    Ok(())
}

/// How a stream came to its end, each byte of it the right one until then.
#[derive(Debug, PartialEq, Eq)]
pub struct Ended {
    pub bytes: u64,
    /// `None` is an end in order.
    pub error: Option<io::ErrorKind>,
}

pub fn read(from: &TcpStream, stream: u64) -> Ended {
    read_up_to(from, stream, u64::MAX)
}

pub fn read_up_to(mut from: &TcpStream, stream: u64, most: u64) -> Ended {
    let (mut bytes, mut buffer) = (0, vec![0; 64 * 1024]);
    while bytes < most {
        match from.read(&mut buffer) {
            Ok(0) => return Ended { bytes, error: None },
            Ok(length) => {
                for (found, position) in buffer[..length].iter().zip(bytes..) {
                    assert_eq!(*found, byte(stream, position), "stream {stream}, byte {position}");
                }
                bytes += length as u64;
            }
            Err(error) => return Ended { bytes, error: Some(error.kind()) },
        }
    }
    Ended { bytes, error: None }
}

pub fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !holds() {
        assert!(begin.elapsed() < PATIENCE, "{what}");
        thread::sleep(Duration::from_millis(20));
    }
}
