//! Traffic on the loopback of a network namespace of its own. It runs in a process of its own, since a cgroup has whole
//! processes: this very test binary, started anew with [`child`] as its only test.

use crate::host::Cgroup;
use crate::workload;
use nix::sched::{CloneFlags, unshare};
use std::collections::HashMap;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::thread;
use std::time::Duration;

const PLAN: &str = "CCACTL_TEST_TRAFFIC";

/// What the sender does.
#[derive(Clone, Copy)]
pub enum Plan {
    /// So many bytes as fast as they go.
    Bulk { bytes: u64 },
    /// So many small writes, this long apart.
    Drip { writes: u64, gap_us: u64 },
    /// [`workload::connections`].
    Connections { count: u64, drop_one_in: u64 },
    /// [`workload::close_at_once`].
    CloseAtOnce { bytes: u64, pause_ms: u64 },
    /// [`workload::close_later`].
    CloseLater { bytes: u64, pause_ms: u64 },
    /// [`workload::stall`].
    Stall { pause_ms: u64 },
    /// [`workload::switch`] from the kernel's cubic to its reno.
    Switch,
    /// [`workload::marked`].
    Marked { bytes: u64, one_in: u64 },
    /// [`workload::ping`].
    Ping { writes: u64 },
}

/// Bytes of one write of [`Plan::Drip`].
const DRIP_BYTES: u64 = 100;

impl Plan {
    fn encode(self) -> String {
        match self {
            Plan::Bulk { bytes } => format!("bulk {bytes} 0"),
            Plan::Drip { writes, gap_us } => format!("drip {writes} {gap_us}"),
            Plan::Connections { count, drop_one_in } => format!("connections {count} {drop_one_in}"),
            Plan::CloseAtOnce { bytes, pause_ms } => format!("close-at-once {bytes} {pause_ms}"),
            Plan::CloseLater { bytes, pause_ms } => format!("close-later {bytes} {pause_ms}"),
            Plan::Stall { pause_ms } => format!("stall {pause_ms} 0"),
            Plan::Switch => "switch 0 0".to_owned(),
            Plan::Marked { bytes, one_in } => format!("marked {bytes} {one_in}"),
            Plan::Ping { writes } => format!("ping {writes} 0"),
        }
    }

    fn decode(text: &str) -> Plan {
        let fields: Vec<&str> = text.split(' ').collect();
        let number = |at: usize| fields[at].parse().unwrap();
        match fields[0] {
            "bulk" => Plan::Bulk { bytes: number(1) },
            "drip" => Plan::Drip { writes: number(1), gap_us: number(2) },
            "connections" => Plan::Connections { count: number(1), drop_one_in: number(2) },
            "close-at-once" => Plan::CloseAtOnce { bytes: number(1), pause_ms: number(2) },
            "close-later" => Plan::CloseLater { bytes: number(1), pause_ms: number(2) },
            "stall" => Plan::Stall { pause_ms: number(1) },
            "switch" => Plan::Switch,
            "marked" => Plan::Marked { bytes: number(1), one_in: number(2) },
            "ping" => Plan::Ping { writes: number(1) },
            other => panic!("no plan {other:?}"),
        }
    }

    fn run(self, listener: TcpListener) {
        match self {
            Plan::Bulk { .. } | Plan::Drip { .. } => self.transfer(listener),
            Plan::Connections { count, drop_one_in } => workload::connections(&listener, count, drop_one_in as u32),
            Plan::CloseAtOnce { bytes, pause_ms } => {
                workload::close_at_once(&listener, bytes as usize, Duration::from_millis(pause_ms));
            }
            Plan::CloseLater { bytes, pause_ms } => {
                workload::close_later(&listener, bytes as usize, Duration::from_millis(pause_ms));
            }
            Plan::Stall { pause_ms } => workload::stall(&listener, Duration::from_millis(pause_ms)),
            Plan::Switch => workload::switch(&listener, "cubic", "reno"),
            Plan::Marked { bytes, one_in } => workload::marked(&listener, bytes as usize, one_in as u32),
            Plan::Ping { writes } => workload::ping(&listener, writes),
        }
    }

    /// One connection; what connects sends.
    fn transfer(self, listener: TcpListener) {
        let address = listener.local_addr().unwrap();
        let receiver = thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            std::io::copy(&mut stream, &mut std::io::sink()).unwrap();
        });
        let mut stream = TcpStream::connect(address).unwrap();
        self.send(&stream);
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        assert_eq!(stream.read(&mut [0; 1]).unwrap(), 0);
        receiver.join().unwrap();
    }

    fn send(self, mut stream: &TcpStream) {
        match self {
            Plan::Bulk { mut bytes } => {
                let block = vec![0x55; 1 << 20];
                while bytes > 0 {
                    let part = usize::try_from(bytes).unwrap().min(block.len());
                    stream.write_all(&block[..part]).unwrap();
                    bytes -= part as u64;
                }
            }
            Plan::Drip { writes, gap_us } => {
                stream.set_nodelay(true).unwrap();
                for _ in 0..writes {
                    stream.write_all(&[0x55; DRIP_BYTES as usize]).unwrap();
                    thread::sleep(Duration::from_micros(gap_us));
                }
            }
            other => unreachable!("{} is no transfer", other.encode()),
        }
    }
}

/// A sender and its receiver that wait for [`Traffic::run`].
pub struct Traffic {
    process: Child,
    commands: ChildStdin,
    answers: BufReader<ChildStdout>,
    /// Inode number of its network namespace.
    pub netns: u32,
    /// Port of the receiver.
    pub port: u16,
}

impl Traffic {
    /// Starts the process in `cgroup`; it has made its namespace and listens when this returns.
    pub fn start(cgroup: &Cgroup, plan: Plan) -> Traffic {
        let procs = fs::OpenOptions::new().write(true).open(cgroup.path.join("cgroup.procs")).unwrap();
        let mut command = Command::new(std::env::current_exe().unwrap());
        command
            .args(["--exact", "traffic::child", "--ignored", "--nocapture", "--test-threads=1"])
            .env(PLAN, plan.encode())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        // SAFETY: between fork and exec only `write` runs, on a file that was opened before.
        unsafe {
            command.pre_exec(move || (&procs).write_all(b"0"));
        }
        let mut process = command.spawn().unwrap();
        let commands = process.stdin.take().unwrap();
        let mut answers = BufReader::new(process.stdout.take().unwrap());
        let ready = answer(&mut answers);
        let (netns, port) = ready.split_once(' ').unwrap();
        let (netns, port) = (netns.parse().unwrap(), port.parse().unwrap());
        Traffic { process, commands, answers, netns, port }
    }

    /// Lets it send, and waits until its sockets are closed; gives what it knows of them.
    pub fn run(mut self) -> Vec<Facts> {
        self.commands.write_all(b"go\n").unwrap();
        let mut facts = Vec::new();
        loop {
            match answer(&mut self.answers).as_str() {
                "done" => return facts,
                line => facts.push(Facts::parse(line)),
            }
        }
    }

    /// Its process.
    pub fn pid(&self) -> u32 {
        self.process.id()
    }
}

/// What the application was told about one of its sockets.
pub struct Facts(HashMap<String, String>);

impl Facts {
    fn parse(line: &str) -> Facts {
        let pairs = line.split(' ').map(|pair| pair.split_once('=').unwrap());
        Facts(pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect())
    }

    pub fn number(&self, name: &str) -> u64 {
        self.0[name].parse().unwrap()
    }
}

impl Drop for Traffic {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
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

/// Not a test: what [`Traffic::start`] runs in its process.
#[test]
#[ignore = "started by the other tests"]
fn child() {
    let Ok(plan) = std::env::var(PLAN) else { return };
    let plan = Plan::decode(&plan);
    unshare(CloneFlags::CLONE_NEWNET).unwrap();
    set_loopback_up();
    let netns = fs::metadata("/proc/thread-self/ns/net").unwrap().ino();
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    println!("@{netns} {}", listener.local_addr().unwrap().port());

    let mut go = String::new();
    std::io::stdin().read_line(&mut go).unwrap();
    if go.is_empty() {
        std::process::exit(1); // the test has failed before it wanted traffic
    }
    plan.run(listener);
    println!("@done");
    std::process::exit(0);
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
