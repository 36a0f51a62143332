//! How busy the machine's CPUs are: what the kernel says about waiting, stealing and idling.

use super::cgroup::Cgroup;
use crate::clock;
use ccactl_link::Nanos;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// Pressure of the whole machine.
const MACHINE: &str = "/proc/pressure/cpu";

/// What became of the CPUs' time over a run. Shares of time; `None` where the kernel does not say (no `CONFIG_PSI`).
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct CpuUse {
    /// At least one process of the machine was ready and had to wait for a CPU.
    pub machine_waiting: Option<f64>,
    /// At least one sending or receiving process of the run was ready and had to wait for a CPU.
    pub run_waiting: Option<f64>,
    /// Of all CPUs' time: taken by the hypervisor for others.
    pub stolen: f64,
    /// Of all CPUs' time: nothing to do.
    pub idle: f64,
    /// Time in which the machine's only CPU had something to do, in s, counted in ns; none with several CPUs.
    #[serde(default)]
    pub busy_s: Option<f64>,
    /// CPU time of the sending and receiving processes of the run, in s.
    pub processes_s: f64,
    /// Whether all built-in ends of flows had real-time priority; without it, ordinary load on the host delays what arrives at them.
    #[serde(default)]
    pub ends_realtime: bool,
    /// CPU time of the emulator's thread, in s; what the kernel does for a packet that it gives out is in it. None without it.
    pub emulator_s: Option<f64>,
}

/// Measures between two moments.
#[derive(Debug)]
pub struct CpuMeter {
    /// Folders of the cgroups.
    cgroups: Vec<PathBuf>,
    start: Reading,
}

#[derive(Debug, Clone, PartialEq)]
struct Reading {
    at: Nanos,
    machine_us: Option<u64>,
    /// By cgroup: time in which a process of it waited.
    run_us: Vec<Option<u64>>,
    /// CPU time of all cgroups.
    used_us: u64,
    times: Times,
    idle_ns: Option<u64>,
}

/// Ticks of `/proc/stat`, all CPUs together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Times {
    total: u64,
    idle: u64,
    stolen: u64,
}

impl CpuMeter {
    /// From now on. The processes of the run are those of `cgroups` and below.
    #[must_use]
    pub fn start(cgroups: &[&Cgroup]) -> Self {
        let cgroups: Vec<PathBuf> = cgroups.iter().map(|cgroup| cgroup.path().to_owned()).collect();
        let start = Reading::now(&cgroups);
        CpuMeter { cgroups, start }
    }

    /// Until now, without what only the emulator and the processes themselves know.
    #[must_use]
    pub fn read(&self) -> CpuUse {
        self.start.until(&Reading::now(&self.cgroups))
    }
}

impl Reading {
    fn now(cgroups: &[PathBuf]) -> Self {
        Reading {
            at: clock::now(),
            machine_us: waited_us(Path::new(MACHINE)),
            run_us: cgroups.iter().map(|cgroup| waited_us(&cgroup.join("cpu.pressure"))).collect(),
            used_us: cgroups.iter().filter_map(|cgroup| used_us(cgroup)).sum(),
            times: std::fs::read_to_string("/proc/stat").ok().and_then(|text| times(&text)).unwrap_or_default(),
            idle_ns: idle_ns(),
        }
    }

    fn until(&self, later: &Reading) -> CpuUse {
        let elapsed_ns = later.at.saturating_sub(self.at);
        let elapsed_us = (elapsed_ns / 1000).max(1) as f64;
        let idle_ns = self.idle_ns.zip(later.idle_ns).map(|(from, to)| to.saturating_sub(from));
        let share = |from: Option<u64>, to: Option<u64>| Some(to?.saturating_sub(from?) as f64 / elapsed_us);
        let ticks = |of: fn(&Times) -> u64| of(&later.times).saturating_sub(of(&self.times)) as f64;
        let total = ticks(|times| times.total).max(1.0);
        // Senders and receivers are in cgroups of their own: the one that waited longer stands for both.
        let shares = self.run_us.iter().zip(&later.run_us).map(|(from, to)| share(*from, *to));
        CpuUse {
            machine_waiting: share(self.machine_us, later.machine_us),
            run_waiting: shares.flatten().reduce(f64::max),
            stolen: ticks(|times| times.stolen) / total,
            idle: ticks(|times| times.idle) / total,
            busy_s: idle_ns.map(|idle_ns| elapsed_ns.saturating_sub(idle_ns) as f64 / 1e9),
            processes_s: later.used_us.saturating_sub(self.used_us) as f64 / 1e6,
            ends_realtime: false,
            emulator_s: None,
        }
    }
}

/// Time without anything to run since boot, of a machine with one CPU, where `/proc/stat` would count it in hundredths of a second. With
/// several, those that sleep have not added the present sleep to theirs (kernel/time/timer_list.c).
#[must_use]
pub fn idle_ns() -> Option<u64> {
    parse_idle(&std::fs::read_to_string("/proc/timer_list").ok()?)
}

fn parse_idle(text: &str) -> Option<u64> {
    let mut slept =
        text.lines().filter_map(|line| line.trim().strip_prefix(".idle_sleeptime")?.split_whitespace().nth(1));
    let only = slept.next()?.parse().ok();
    if slept.next().is_some() { None } else { only }
}

/// `total` of the line `some` of a pressure file.
fn waited_us(file: &Path) -> Option<u64> {
    parse_waited(&std::fs::read_to_string(file).ok()?)
}

fn parse_waited(text: &str) -> Option<u64> {
    let line = text.lines().find(|line| line.starts_with("some "))?;
    line.split_whitespace().find_map(|word| word.strip_prefix("total="))?.parse().ok()
}

/// Of a cgroup and what is below it.
fn used_us(cgroup: &Path) -> Option<u64> {
    let text = std::fs::read_to_string(cgroup.join("cpu.stat")).ok()?;
    text.lines().find_map(|line| line.strip_prefix("usage_usec "))?.parse().ok()
}

/// The first line: user, nice, system, idle, iowait, irq, softirq, steal; guest times are in user and nice already.
fn times(text: &str) -> Option<Times> {
    const FIELDS: usize = 8;
    let line = text.lines().next()?.strip_prefix("cpu ")?;
    let ticks: Vec<u64> = line.split_whitespace().take(FIELDS).map_while(|word| word.parse().ok()).collect();
    let [_, _, _, idle, iowait, _, _, stolen] = ticks[..] else { return None };
    Some(Times { total: ticks.iter().sum(), idle: idle + iowait, stolen })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_some_counts() {
        let text = "some avg10=87.63 avg60=66.08 avg300=24.79 total=7644597581\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=5\n";
        assert_eq!(parse_waited(text), Some(7_644_597_581));
        assert_eq!(parse_waited("full avg10=0.00 total=5\n"), None);
        assert_eq!(parse_waited("some avg10=0.00"), None);
    }

    #[test]
    fn one_cpu_tells_its_idle_time_and_several_do_not() {
        let one = "cpu: 0\n  .idle_expires   : 5 nsecs\n  .idle_sleeptime  : 123456789 nsecs\n";
        assert_eq!(parse_idle(one), Some(123_456_789));
        assert_eq!(parse_idle(&format!("{one}{one}")), None);
        assert_eq!(parse_idle("Timer List Version: v0.9\n"), None);
    }

    #[test]
    fn guest_time_is_not_counted_twice() {
        let text = "cpu  100 20 30 40 5 0 6 7 100 20\ncpu0 1 1 1 1 1 1 1 1 1 1\n";
        assert_eq!(times(text), Some(Times { total: 208, idle: 45, stolen: 7 }));
        assert_eq!(times("cpu  1 2 3\n"), None);
    }

    #[test]
    fn shares_are_those_of_the_time_between() {
        let times = |total, idle, stolen| Times { total, idle, stolen };
        let start = Reading {
            at: 0,
            machine_us: Some(10),
            run_us: vec![Some(0), Some(100)],
            used_us: 0,
            times: times(1000, 500, 0),
            idle_ns: Some(7),
        };
        let end = Reading {
            at: 1_000_000_000,
            machine_us: Some(250_010),
            run_us: vec![Some(50_000), Some(20_100)],
            used_us: 300_000,
            times: times(1200, 600, 4),
            idle_ns: Some(400_000_007),
        };
        let expected = CpuUse {
            machine_waiting: Some(0.25),
            run_waiting: Some(0.05),
            stolen: 0.02,
            idle: 0.5,
            busy_s: Some(0.6),
            processes_s: 0.3,
            ends_realtime: false,
            emulator_s: None,
        };
        assert_eq!(start.until(&end), expected);
        let blind = Reading { machine_us: None, run_us: vec![None], ..start };
        assert_eq!((blind.until(&end).machine_waiting, blind.until(&end).run_waiting), (None, None));
    }
}
