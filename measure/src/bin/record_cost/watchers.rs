//! What looks at the sockets: `ccactl record`, or `ss` in a loop.

use crate::Result;
use ccactl_testbed::host::netns::{NETNS_DIR, Netns};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::signal::{Signal, kill};
use nix::sys::time::TimeValLike;
use nix::time::{clock_getcpuclockid, clock_gettime};
use nix::unistd::Pid;
use std::ffi::OsStr;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{JoinHandle, sleep};
use std::time::{Duration, Instant};

/// Between two calls of `ss`.
const SS_INTERVAL: Duration = Duration::from_millis(10);
/// Rows per second and flow that an interval of 10 ms asks for.
const PER_FLOW_RATE: f64 = 100.0;
/// A recorder has attached its programs long before this, also where every CPU is wanted by hundreds of threads.
const PATIENCE: Duration = Duration::from_secs(60);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Watcher {
    /// Nobody: what its windows differ by is the noise of the others.
    Nobody,
    /// `ccactl record --every`.
    Record(&'static str),
    /// `ss -tin`, every 10 ms.
    Ss,
}

impl fmt::Display for Watcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Watcher::Nobody => f.write_str("nobody"),
            Watcher::Record(every) => write!(f, "`ccactl record --every {every}`"),
            Watcher::Ss => f.write_str("`ss -tin` every 10 ms"),
        }
    }
}

/// What a watcher did.
pub struct Watched {
    /// Of senders; `None` of nobody.
    pub rows_per_s: Option<f64>,
    /// `None`: it does not know.
    pub drops: Option<u64>,
    /// On disk; `None` without a file.
    pub bytes_per_row: Option<f64>,
    /// CPU time over time in the window; the work of BPF programs is not in it, it is the load's.
    pub cpus: f64,
}

pub enum Running {
    Nobody,
    Recorder { child: Child, path: PathBuf },
    Loop { thread: JoinHandle<std::io::Result<u64>>, stop: Arc<AtomicBool>, started: Instant },
}

impl Watcher {
    /// How many rows per second were asked for, where that does not depend on the traffic.
    pub fn rows_per_s_asked(self, flows: usize) -> Option<f64> {
        matches!(self, Watcher::Ss | Watcher::Record("10ms")).then_some(flows as f64 * PER_FLOW_RATE)
    }

    /// Starts it and waits until it watches.
    pub fn start(self, program: &Path, netns: &Netns, port: u16, folder: &Path) -> Result<Running> {
        match self {
            Watcher::Nobody => Ok(Running::Nobody),
            Watcher::Record(every) => record(program, netns, every, folder.join("bench.parquet")),
            Watcher::Ss => {
                let stop = Arc::new(AtomicBool::new(false));
                let (name, is_stopped, started) = (netns.name().to_owned(), Arc::clone(&stop), Instant::now());
                let thread = std::thread::spawn(move || poll(&name, port, &is_stopped));
                Ok(Running::Loop { thread, stop, started })
            }
        }
    }
}

impl Running {
    /// CPU time so far. That of the loop is in the processes that it started; its own is the load's, and small.
    pub fn cpu(&self) -> Result<Duration> {
        match self {
            Running::Nobody => Ok(Duration::ZERO),
            Running::Recorder { child, .. } => {
                let clock = clock_getcpuclockid(Pid::from_raw(child.id().try_into()?))?;
                Ok(clock_gettime(clock)?.into())
            }
            Running::Loop { .. } => children_cpu(),
        }
    }

    /// The process whose BPF programs are those of the watcher.
    pub fn pid(&self) -> Option<u32> {
        match self {
            Running::Recorder { child, .. } => Some(child.id()),
            Running::Nobody | Running::Loop { .. } => None,
        }
    }

    /// Ends it. `cpus` is what it took in its window.
    pub fn stop(self, cpus: f64) -> Result<Watched> {
        match self {
            Running::Nobody => Ok(Watched { rows_per_s: None, drops: None, bytes_per_row: None, cpus }),
            Running::Recorder { child, path } => {
                kill(Pid::from_raw(child.id().try_into()?), Signal::SIGINT)?;
                recorded(child, &path, cpus)
            }
            Running::Loop { thread, stop, started } => {
                let elapsed = started.elapsed().as_secs_f64();
                stop.store(true, Ordering::Relaxed);
                let rows = thread.join().map_err(|_| "the loop of ss panicked")??;
                Ok(Watched { rows_per_s: Some(rows as f64 / elapsed), drops: None, bytes_per_row: None, cpus })
            }
        }
    }
}

/// As from a terminal or a service of its own: the scheduler then shares the CPUs between it and the load as a whole, however
/// many threads that has.
fn in_own_session(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new("setsid");
    command.arg(program);
    command
}

fn record(program: &Path, netns: &Netns, every: &str, path: PathBuf) -> Result<Running> {
    let mut command = in_own_session(program);
    command
        .args(["record", "--force", "--json", "--every", every, "--netns"])
        .arg(Path::new(NETNS_DIR).join(netns.name()));
    let child = command.arg("-o").arg(&path).stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
    let stream = ccactl_collector::partial_path(&path);
    let deadline = Instant::now() + PATIENCE;
    // The stream grows beyond its header when the first rows have come.
    let header_bytes = loop {
        match std::fs::metadata(&stream).map(|metadata| metadata.len()) {
            Ok(bytes @ 1..) => break bytes,
            _ if Instant::now() > deadline => return Err("`ccactl record` does not begin".into()),
            _ => sleep(Duration::from_millis(10)),
        }
    };
    while std::fs::metadata(&stream)?.len() == header_bytes {
        if Instant::now() > deadline {
            return Err("`ccactl record` sees no row".into());
        }
        sleep(Duration::from_millis(10));
    }
    Ok(Running::Recorder { child, path })
}

fn recorded(child: Child, path: &Path, cpus: f64) -> Result<Watched> {
    let output = child.wait_with_output()?;
    if !output.status.success() {
        return Err(format!("`ccactl record` failed: {}", output.status).into());
    }
    let summary: serde_json::Value = serde_json::from_slice(&output.stdout)?;
    let number = |key: &str| summary[key].as_u64().ok_or_else(|| format!("`ccactl record --json` has no {key}"));
    let rows = number("rows")? as f64;
    let seconds = number("duration_us")? as f64 / 1e6;
    let file_bytes = std::fs::metadata(path)?.len() as f64;
    std::fs::remove_file(path)?;
    let drops = Some(number("drops")?);
    Ok(Watched { rows_per_s: Some(rows / seconds), drops, bytes_per_row: Some(file_bytes / rows), cpus })
}

/// Rows of senders that `ss` printed until told to stop.
fn poll(netns: &str, port: u16, is_stopped: &AtomicBool) -> std::io::Result<u64> {
    let mut rows = 0;
    let filter = format!("dport = :{port}");
    while !is_stopped.load(Ordering::Relaxed) {
        let began = Instant::now();
        let output = in_own_session("ss").args(["-N", netns, "-tinH", &filter]).stdin(Stdio::null()).output()?;
        if !output.status.success() {
            return Err(std::io::Error::other(format!("ss: {}", String::from_utf8_lossy(&output.stderr))));
        }
        rows += String::from_utf8_lossy(&output.stdout).matches(" cwnd:").count() as u64;
        sleep(SS_INTERVAL.saturating_sub(began.elapsed()));
    }
    Ok(rows)
}

/// CPU time of the children that have ended.
fn children_cpu() -> Result<Duration> {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN)?;
    let micros = usage.user_time().num_microseconds() + usage.system_time().num_microseconds();
    Ok(Duration::from_micros(micros.try_into()?))
}
