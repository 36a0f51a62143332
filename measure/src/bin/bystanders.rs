//! What a black box and a live page cost beside ordinary traffic, for `cargo xtask bench bystanders`, in a network namespace of its own.
//!
//! Many connections over loopback send a little five times a second. The host's time is compared in turns, with nobody and with
//! the black box. Then a filter at a receiver drops everything for a while, a hundred times: each timeout is to have its
//! file, with the time before it. The live page has one reader.

use ccactl_report::{Options, open_all, summarize};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sched::{CloneFlags, unshare};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::error::Error;
use std::fs;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::fd::{AsFd, AsRawFd};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle, sleep};
use std::time::{Duration, Instant};

const USAGE: &str =
    "usage: bystanders blackbox|page [--connections N] [--pairs N] [--turn SECONDS] [--timeouts N] [--minutes N]";
/// What a connection sends at a time, and how often: 0.4 Mbit/s.
const PIECE_BYTES: usize = 10_000;
const PAUSE: Duration = Duration::from_millis(200);
/// Kept from before a trigger.
const BEFORE_S: u64 = 30;
/// How long a receiver hears nothing: two timeouts.
const SILENCE: Duration = Duration::from_millis(800);
const BETWEEN_TIMEOUTS: Duration = Duration::from_millis(300);

type Result<T = ()> = std::result::Result<T, Box<dyn Error>>;

fn main() -> ExitCode {
    match run(&std::env::args().skip(1).collect::<Vec<_>>()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bystanders: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(args: &[String]) -> Result {
    let option = |name: &str, default: u64| -> Result<u64> {
        let at = args.iter().position(|arg| arg == name);
        at.map_or(Ok(default), |at| Ok(args.get(at + 1).ok_or(USAGE)?.parse()?))
    };
    let ccactl =
        PathBuf::from(std::env::var_os("CCACTL").ok_or("CCACTL is not set: start it by cargo xtask bench bystanders")?);
    unshare(CloneFlags::CLONE_NEWNET)?;
    if !Command::new("ip").args(["link", "set", "lo", "up"]).status()?.success() {
        return Err("loopback cannot be brought up".into());
    }
    let folder = tempfile::tempdir()?;
    match args.first().map(String::as_str) {
        Some("blackbox") => {
            let traffic = Traffic::start(option("--connections", 1000)?)?;
            cost(&ccactl, folder.path(), &traffic, option("--pairs", 5)?, Duration::from_secs(option("--turn", 20)?))?;
            timeouts(&ccactl, folder.path(), &traffic, option("--timeouts", 100)?)
        }
        Some("page") => {
            let traffic = Traffic::start(option("--connections", 2000)?)?;
            page(&ccactl, folder.path(), &traffic, Duration::from_secs(60 * option("--minutes", 10)?))
        }
        _ => Err(USAGE.into()),
    }
}

/// Connections within this process, until it is dropped.
struct Traffic {
    is_over: Arc<AtomicBool>,
    received_bytes: Arc<AtomicU64>,
    receivers: Arc<Vec<TcpStream>>,
    threads: Vec<JoinHandle<()>>,
}

impl Traffic {
    fn start(connections: u64) -> Result<Traffic> {
        let most = nix::sys::resource::getrlimit(nix::sys::resource::Resource::RLIMIT_NOFILE)?.1;
        nix::sys::resource::setrlimit(nix::sys::resource::Resource::RLIMIT_NOFILE, most, most)?;
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let (mut senders, mut receivers) = (Vec::new(), Vec::new());
        for _ in 0..connections {
            let sender = TcpStream::connect(listener.local_addr()?)?;
            let receiver = listener.accept()?.0;
            sender.set_nonblocking(true)?;
            receiver.set_nonblocking(true)?;
            senders.push(sender);
            receivers.push(receiver);
        }
        let (is_over, received_bytes, receivers) =
            (Arc::new(AtomicBool::new(false)), Arc::default(), Arc::new(receivers));
        let sends = {
            let is_over = Arc::clone(&is_over);
            move || send(&senders, &is_over)
        };
        let receives = {
            let (receivers, received, is_over) =
                (Arc::clone(&receivers), Arc::clone(&received_bytes), Arc::clone(&is_over));
            move || receive(&receivers, &received, &is_over)
        };
        Ok(Traffic { is_over, received_bytes, receivers, threads: vec![thread::spawn(sends), thread::spawn(receives)] })
    }
}

impl Drop for Traffic {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        self.threads.drain(..).for_each(|thread| drop(thread.join()));
    }
}

/// The connections one after the other, so that a pause has all of them.
fn send(senders: &[TcpStream], is_over: &AtomicBool) {
    let piece = [0; PIECE_BYTES];
    let begun = Instant::now();
    for number in 0_u64.. {
        for (i, mut sender) in senders.iter().enumerate() {
            if is_over.load(Ordering::Relaxed) {
                return;
            }
            let due = PAUSE.mul_f64(number as f64 + i as f64 / senders.len() as f64);
            let wait = due.saturating_sub(begun.elapsed());
            if wait > Duration::from_millis(1) {
                sleep(wait);
            }
            // One whose receiver is silent has a full buffer.
            let _ = sender.write(&piece);
        }
    }
}

fn receive(receivers: &[TcpStream], received: &AtomicU64, is_over: &AtomicBool) {
    let mut bytes = [0; 1 << 16];
    while !is_over.load(Ordering::Relaxed) {
        let mut ready: Vec<PollFd> =
            receivers.iter().map(|receiver| PollFd::new(receiver.as_fd(), PollFlags::POLLIN)).collect();
        let _ = poll(&mut ready, PollTimeout::from(100_u8));
        let some: Vec<bool> = ready.iter().map(|fd| fd.any().unwrap_or(false)).collect();
        for (mut receiver, _) in receivers.iter().zip(some).filter(|(_, ready)| *ready) {
            match receiver.read(&mut bytes) {
                Ok(count) => drop(received.fetch_add(count as u64, Ordering::Relaxed)),
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(_) => return,
            }
        }
        // Reading in bunches is what a busy server does.
        sleep(Duration::from_millis(5));
    }
}

/// A program that is asked to end, and whose end is waited for.
struct Running(Child);

impl Running {
    fn end(mut self) -> Result {
        kill(Pid::from_raw(self.0.id().cast_signed()), Signal::SIGINT)?;
        self.0.wait()?;
        Ok(())
    }

    /// User and system time so far, s.
    fn cpu_s(&self) -> Result<f64> {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.0.id()))?;
        let fields: Vec<&str> = stat.rsplit_once(") ").ok_or("no stat")?.1.split(' ').collect();
        Ok((fields[11].parse::<f64>()? + fields[12].parse::<f64>()?) / ticks_per_s())
    }

    /// Memory in MiB: of its own, now and at most.
    fn memory_mib(&self) -> Result<(f64, f64)> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.0.id()))?;
        let kib = |name: &str| -> Result<f64> {
            let line = status.lines().find_map(|line| line.strip_prefix(name)).ok_or("no such line")?;
            Ok(line.trim().trim_end_matches(" kB").parse()?)
        };
        Ok((kib("VmRSS:")? / 1024.0, kib("VmHWM:")? / 1024.0))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn ticks_per_s() -> f64 {
    // SAFETY: a plain question.
    unsafe { libc::sysconf(libc::_SC_CLK_TCK) as f64 }
}

/// Time in which any CPU of this machine was at work, s; what the hypervisor took does not count.
fn busy_s() -> Result<f64> {
    let stat = fs::read_to_string("/proc/stat")?;
    let fields: Vec<f64> =
        stat.lines().next().ok_or("no cpu")?.split_whitespace().skip(1).map_while(|text| text.parse().ok()).collect();
    let [user, nice, system, _idle, _wait, irq, softirq, ..] = fields[..] else { return Err("no such line".into()) };
    Ok((user + nice + system + irq + softirq) / ticks_per_s())
}

fn blackbox(ccactl: &Path, folder: &Path) -> Result<Running> {
    let child = Command::new(ccactl)
        .args([
            "-q",
            "record",
            "--ring",
            &format!("{BEFORE_S}s"),
            "--after",
            "1s",
            "--trigger",
            "rto",
            "--trigger",
            "cwnd < 2",
            "--max-per-minute",
            "100000",
            "-o",
        ])
        .arg(folder)
        .stdout(Stdio::inherit())
        .stdin(Stdio::null())
        .spawn()?;
    Ok(Running(child))
}

/// In turns: nobody, black box.
fn cost(ccactl: &Path, folder: &Path, traffic: &Traffic, pairs: u64, turn: Duration) -> Result {
    println!(
        "| pair | Mbit/s | host busy, nobody [% of a CPU] | host busy, black box | its own time | its memory [MiB] |"
    );
    println!("|---:|---:|---:|---:|---:|---:|");
    let mut differences = Vec::new();
    let percent = |s: f64| 100.0 * s / turn.as_secs_f64();
    for pair in 1..=pairs {
        let (before, bytes) = (busy_s()?, traffic.received_bytes.load(Ordering::Relaxed));
        sleep(turn);
        let alone = busy_s()? - before;
        let mbit_s = (traffic.received_bytes.load(Ordering::Relaxed) - bytes) as f64 * 8e-6 / turn.as_secs_f64();
        let running = blackbox(ccactl, &folder.join(format!("turn-{pair}")))?;
        // Loading its programs is no part of a day.
        sleep(Duration::from_secs(3));
        let (before, own) = (busy_s()?, running.cpu_s()?);
        sleep(turn);
        let (with, own) = (busy_s()? - before, running.cpu_s()? - own);
        let (_, most) = running.memory_mib()?;
        running.end()?;
        println!(
            "| {pair} | {mbit_s:.0} | {:.1} | {:.1} | {:.2} | {most:.0} |",
            percent(alone),
            percent(with),
            percent(own)
        );
        differences.push(percent(with - alone));
    }
    differences.sort_by(f64::total_cmp);
    println!(
        "\nDifference of the host's time: median {:.2} % of a CPU ({:.2} … {:.2}).\n",
        differences[differences.len() / 2],
        differences[0],
        differences[differences.len() - 1]
    );
    Ok(())
}

/// Each timeout is to have its file, with the time before it.
fn timeouts(ccactl: &Path, folder: &Path, traffic: &Traffic, count: u64) -> Result {
    let files = folder.join("timeouts");
    let running = blackbox(ccactl, &files)?;
    sleep(Duration::from_secs(BEFORE_S + 5));
    let silent: Vec<JoinHandle<std::io::Result<()>>> = (0..count as usize)
        .map(|i| {
            let receivers = Arc::clone(&traffic.receivers);
            sleep(BETWEEN_TIMEOUTS);
            thread::spawn(move || {
                let receiver = &receivers[i % receivers.len()];
                drop_everything(receiver)?;
                sleep(SILENCE);
                drop_nothing(receiver)
            })
        })
        .collect();
    for one in silent {
        one.join().expect("no panic")?;
    }
    sleep(Duration::from_secs(3));
    let (_, most) = running.memory_mib()?;
    running.end()?;
    let mut found: Vec<PathBuf> = fs::read_dir(&files)?.flatten().map(|entry| entry.path()).collect();
    found.sort();
    let (mut befores, mut further) = (Vec::new(), 0);
    for file in &found {
        let summary = summarize(&open_all(std::slice::from_ref(file))?, &Options::default())?;
        let trigger = summary.recordings[0].trigger.as_ref().ok_or("a file without its trigger")?;
        befores.push(trigger.at_s);
        further += trigger.further;
    }
    befores.sort_by(f64::total_cmp);
    println!(
        "{count} provoked timeouts: {} files, which begin {:.2} to {:.2} s before their trigger; {further} further triggers are within them. Memory at most {most:.0} MiB.",
        found.len(),
        befores.first().ok_or("no file")?,
        befores.last().ok_or("no file")?
    );
    Ok(())
}

/// A classic BPF program at the socket: no segment passes.
fn drop_everything(receiver: &TcpStream) -> std::io::Result<()> {
    let mut nothing = [libc::sock_filter { code: 0x06, jt: 0, jf: 0, k: 0 }];
    let program = libc::sock_fprog { len: 1, filter: nothing.as_mut_ptr() };
    set(receiver, libc::SO_ATTACH_FILTER, &program)
}

fn drop_nothing(receiver: &TcpStream) -> std::io::Result<()> {
    set(receiver, libc::SO_DETACH_FILTER, &0_i32)
}

fn set<T>(receiver: &TcpStream, option: i32, value: &T) -> std::io::Result<()> {
    // SAFETY: the value lives until the call returns, and its size is its own.
    let answer = unsafe {
        libc::setsockopt(
            receiver.as_raw_fd(),
            libc::SOL_SOCKET,
            option,
            std::ptr::from_ref(value).cast(),
            size_of::<T>() as u32,
        )
    };
    if answer == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
}

/// One reader for a long time.
fn page(ccactl: &Path, folder: &Path, traffic: &Traffic, length: Duration) -> Result {
    let mut child = Command::new(ccactl)
        .args(["serve", "--listen", "127.0.0.1:0"])
        .env("CCACTL_STATE", folder)
        .stdin(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()?;
    let mut said = BufReader::new(child.stderr.take().ok_or("piped")?);
    let running = Running(child);
    let mut line = String::new();
    let (address, path) = loop {
        line.clear();
        if said.read_line(&mut line)? == 0 {
            return Err("it has ended without saying where it listens".into());
        }
        if let Some(url) = line.trim().strip_prefix("live page: http://") {
            break url.split_once('/').map(|(address, path)| (address.to_owned(), path.to_owned())).ok_or("no path")?;
        }
    };
    let (read_bytes, moments) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let counts = (Arc::clone(&read_bytes), Arc::clone(&moments));
    // A stream lasts nine minutes; a page opens the next one by itself.
    thread::spawn(move || {
        loop {
            let Ok(mut stream) = TcpStream::connect(&address) else { return };
            if write!(stream, "GET /{path}events HTTP/1.1\r\nHost: {address}\r\n\r\n").is_err() {
                return;
            }
            for line in BufReader::new(stream).lines().map_while(std::result::Result::ok) {
                counts.0.fetch_add(line.len() as u64, Ordering::Relaxed);
                counts.1.fetch_add(u64::from(line == "event: tick"), Ordering::Relaxed);
            }
        }
    });
    println!("| minute | Mbit/s of traffic | server [% of a CPU] | memory [MiB] | moments read | kB/s read |");
    println!("|---:|---:|---:|---:|---:|---:|");
    sleep(Duration::from_secs(5));
    let end = Instant::now() + length;
    for minute in 1.. {
        let part = Duration::from_secs(60).min(end.saturating_duration_since(Instant::now()));
        if part.is_zero() {
            break;
        }
        let now = || -> Result<[f64; 4]> {
            let count = |of: &AtomicU64| of.load(Ordering::Relaxed) as f64;
            Ok([running.cpu_s()?, count(&traffic.received_bytes), count(&moments), count(&read_bytes)])
        };
        let before = now()?;
        sleep(part);
        let after = now()?;
        let [cpu, traffic_bytes, moments, bytes] = [0, 1, 2, 3].map(|i| (after[i] - before[i]) / part.as_secs_f64());
        let (memory, _) = running.memory_mib()?;
        println!(
            "| {minute} | {:.0} | {:.2} | {memory:.1} | {:.0} | {:.0} |",
            traffic_bytes * 8e-6,
            cpu * 100.0,
            moments * part.as_secs_f64(),
            bytes / 1e3
        );
    }
    running.end()
}
