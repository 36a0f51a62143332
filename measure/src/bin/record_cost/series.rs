//! One watcher over one load: windows with it, each between two windows without any.

use crate::Result;
use crate::bpf_time::BpfTime;
use crate::load::Load;
use crate::spread::Spread;
use crate::watchers::{Watched, Watcher};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use std::time::{Duration, Instant};

/// All windows of one watcher.
pub struct Series {
    pub watcher: Watcher,
    pub flows: usize,
    /// Throughput of the windows without it, bit/s.
    pub bare_bps: Vec<f64>,
    /// Throughput with it over the mean of the windows before and after.
    throughput: Vec<f64>,
    /// Likewise CPU time of load and watcher per byte received.
    cpu_per_byte: Vec<f64>,
    pub watched: Vec<Watched>,
    /// `None` of a watcher without programs.
    pub bpf: Option<BpfTime>,
    /// On disk, in the longest window; `None` of a watcher without a file.
    pub bytes_per_row: Option<f64>,
}

/// What a load did in a span.
#[derive(Debug, Clone, Copy)]
pub struct Window {
    bps: f64,
    cpu_per_byte: f64,
}

impl Window {
    /// `watcher_cpu` is asked at both ends for the CPU time of a watcher so far.
    pub fn of(load: &Load, span: Duration, watcher_cpu: impl Fn() -> Result<Duration>) -> Result<(Window, Duration)> {
        let (start, bytes, own_cpu, others_cpu) = (Instant::now(), load.bytes(), own_cpu()?, watcher_cpu()?);
        std::thread::sleep(span);
        let moved = (load.bytes() - bytes) as f64;
        let seconds = start.elapsed().as_secs_f64();
        let watcher = watcher_cpu()? - others_cpu;
        let cpu = self::own_cpu()? - own_cpu + watcher;
        if moved == 0.0 {
            return Err("the load stands still".into());
        }
        Ok((Window { bps: moved * 8.0 / seconds, cpu_per_byte: cpu.as_secs_f64() / moved }, watcher))
    }
}

impl Series {
    pub fn new(watcher: Watcher, flows: usize) -> Series {
        let (bare_bps, throughput, cpu_per_byte, watched) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Series { watcher, flows, bare_bps, throughput, cpu_per_byte, watched, bpf: None, bytes_per_row: None }
    }

    /// Takes in a window with the watcher and its neighbours without.
    pub fn push(&mut self, before: Window, with: Window, after: Window, watched: Watched) {
        self.throughput.push(with.bps / f64::midpoint(before.bps, after.bps));
        self.cpu_per_byte.push(with.cpu_per_byte / f64::midpoint(before.cpu_per_byte, after.cpu_per_byte));
        self.bare_bps.extend([before.bps, after.bps]);
        self.watched.push(watched);
    }

    pub fn throughput(&self) -> Spread {
        Spread::of(self.throughput.clone())
    }

    pub fn cpu_per_byte(&self) -> Spread {
        Spread::of(self.cpu_per_byte.clone())
    }
}

/// Of this process, whose threads are both ends of the load.
fn own_cpu() -> Result<Duration> {
    let usage = getrusage(UsageWho::RUSAGE_SELF)?;
    let micros = usage.user_time().num_microseconds() + usage.system_time().num_microseconds();
    Ok(Duration::from_micros(micros.try_into()?))
}
