//! What the BPF programs of a process cost, from the kernel's own run statistics. They tell costs apart that no
//! throughput shows.

use crate::Result;
use std::collections::BTreeMap;
use std::fs;
use std::os::fd::{FromRawFd, OwnedFd};
use std::time::{Duration, Instant};

/// Runs of all programs over a span.
#[derive(Debug, Clone, Copy)]
pub struct BpfTime {
    pub runs_per_s: f64,
    /// Mean; the two clock readings of the statistics are part of it.
    pub ns_per_run: f64,
    /// Time in programs over time.
    pub cpus: f64,
}

/// Runs and time of one program.
#[derive(Clone, Copy, Default)]
struct Runs {
    count: u64,
    ns: u64,
}

/// Looks at the programs that a process has open, with the kernel's statistics on for this time only.
pub fn measure(pid: u32, span: Duration) -> Result<BpfTime> {
    // SAFETY: the call takes no pointer.
    let fd = unsafe { libbpf_sys::bpf_enable_stats(libbpf_sys::BPF_STATS_RUN_TIME) };
    if fd < 0 {
        return Err(format!("BPF_ENABLE_STATS: {}", std::io::Error::last_os_error()).into());
    }
    // SAFETY: a fresh descriptor that nobody else owns.
    let _statistics = unsafe { OwnedFd::from_raw_fd(fd) };
    let (started, before) = (Instant::now(), programs(pid)?);
    std::thread::sleep(span);
    let (seconds, after) = (started.elapsed().as_secs_f64(), programs(pid)?);
    let mut runs = Runs::default();
    for (id, now) in after {
        let then = before.get(&id).copied().unwrap_or_default();
        runs.count += now.count - then.count;
        runs.ns += now.ns - then.ns;
    }
    Ok(BpfTime {
        runs_per_s: runs.count as f64 / seconds,
        ns_per_run: runs.ns as f64 / runs.count.max(1) as f64,
        cpus: runs.ns as f64 / 1e9 / seconds,
    })
}

/// By program id: what /proc/PID/fdinfo says of descriptors that are BPF programs.
fn programs(pid: u32) -> Result<BTreeMap<u64, Runs>> {
    let mut programs = BTreeMap::new();
    for entry in fs::read_dir(format!("/proc/{pid}/fdinfo"))? {
        // A descriptor that was closed meanwhile is none of a program.
        let Ok(text) = fs::read_to_string(entry?.path()) else { continue };
        let value = |key: &str| text.lines().find_map(|line| line.strip_prefix(key)?.trim().parse().ok());
        if let (Some(id), Some(count), Some(ns)) = (value("prog_id:"), value("run_cnt:"), value("run_time_ns:")) {
            programs.insert(id, Runs { count, ns });
        }
    }
    if programs.is_empty() {
        return Err(format!("process {pid} has no BPF program open").into());
    }
    Ok(programs)
}
