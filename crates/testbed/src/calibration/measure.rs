//! Measures a host: runs like those of a bench, more and more of them side by side.

use super::{Calibration, Point};
use crate::bench::{self, Backend, Interrupt, Limits, Options, OutputDir, RunResult, Timekeeping};
use crate::error::{Error, Result};
use ccactl_link::network::Lateness;
use ccactl_scenario::Scenario;
use std::path::{Path, PathBuf};

/// Rates, in Mbit/s: those of the shipped experiments and what lies between and beyond.
const RATES_MBIT: [u64; 7] = [10, 50, 100, 200, 400, 1000, 2500];
/// A path within a country and one across an ocean, ms.
const BASE_RTTS_MS: [u64; 2] = [10, 100];
/// Slow runs go side by side in larger numbers, but each more takes seconds of the calibration.
const RUNS_PER_CPU: usize = 3;
const MOST_RUNS: usize = 16;
/// Share of the time for which a saturating flow has to keep the link busy.
const FILLED: f64 = 0.5;

/// How a host is measured.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The `ccactl` binary, which is also the built-in traffic.
    pub program: PathBuf,
    /// Short runs and one delay.
    pub quick: bool,
    /// What a valid run keeps to.
    pub limits: Limits,
}

impl Plan {
    fn base_rtts_ms(&self) -> &'static [u64] {
        if self.quick { &BASE_RTTS_MS[..1] } else { &BASE_RTTS_MS }
    }

    /// Slow start at the highest rate is over after a second; a rate is judged by another second of backlog.
    fn duration_s(&self) -> u64 {
        if self.quick { 2 } else { 5 }
    }

    /// A moment of trouble on the host is not its limit.
    fn attempts(&self) -> u32 {
        if self.quick { 1 } else { 2 }
    }

    fn most_runs(&self) -> usize {
        let cpus = std::thread::available_parallelism().map_or(1, usize::from);
        if self.quick { cpus.min(MOST_RUNS) } else { (cpus * RUNS_PER_CPU).min(MOST_RUNS) }
    }
}

/// Measures; `observe` sees every point. Whatever was made on the host is removed.
///
/// # Errors
/// When something fails other than a run's validity.
pub fn measure(plan: &Plan, interrupt: Interrupt<'_>, observe: &mut dyn FnMut(&Point)) -> Result<Calibration> {
    let folder = std::env::temp_dir().join(format!("ccactl-calibrate-{}", std::process::id()));
    let _removed_at_the_end = Scratch(&folder);
    let mut points = Vec::new();
    for rate_mbit in RATES_MBIT {
        for base_rtt_ms in plan.base_rtts_ms() {
            for parallel in 1..=plan.most_runs() {
                let point = level(plan, &folder, (rate_mbit, *base_rtt_ms, parallel), interrupt)?;
                observe(&point);
                let carried = point.valid;
                points.push(point);
                // More of what is too much already only takes time.
                if !carried {
                    break;
                }
            }
        }
    }
    Ok(Calibration::new(plan.quick, plan.limits, points))
}

/// A folder for recordings that nobody looks at.
struct Scratch<'a>(&'a Path);

impl Drop for Scratch<'_> {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_dir_all(self.0)
            && error.kind() != std::io::ErrorKind::NotFound
        {
            tracing::warn!("{}: not removed: {error}", self.0.display());
        }
    }
}

/// (rate, base RTT, runs side by side), tried again while it is not valid.
fn level(plan: &Plan, folder: &Path, level: (u64, u64, usize), interrupt: Interrupt<'_>) -> Result<Point> {
    let mut attempt = 1;
    loop {
        let runs = side_by_side(plan, &folder.join("runs"), level, interrupt)?;
        let point = point(plan, level, &runs);
        if point.valid || attempt >= plan.attempts() {
            return Ok(point);
        }
        attempt += 1;
    }
}

fn side_by_side(
    plan: &Plan,
    folder: &Path,
    (rate_mbit, base_rtt_ms, parallel): (u64, u64, usize),
    interrupt: Interrupt<'_>,
) -> Result<Vec<RunResult>> {
    let scenario = scenario(rate_mbit, base_rtt_ms, plan.duration_s());
    let options = Options {
        program: plan.program.clone(),
        limits: plan.limits,
        attempts: 1,
        backend: Backend::Emulator,
        phase_ns: None,
    };
    let one = |number: usize| -> Result<RunResult> {
        let output = OutputDir::prepare(&folder.join(number.to_string()))?;
        let result = bench::bench(&scenario, &options, &output, interrupt, &mut |_| {})?;
        Ok(result.runs.into_iter().next().expect("a bench has a run"))
    };
    let _removed_at_the_end = Scratch(folder);
    std::thread::scope(|scope| {
        let running: Vec<_> = (0..parallel).map(|number| scope.spawn(move || one(number))).collect();
        let ended = running.into_iter().map(|run| run.join().unwrap_or(Err(Error::Panicked("a run"))));
        ended.collect()
    })
}

/// Room of the buffer in BDP. Slow start may end with two losses in a row. After them the window is a quarter of what the path holds. With
/// one BDP that is half of what fills the link, and the flow needs longer than a run to come back.
const BUFFER_BDP: u64 = 3;

/// One flow that fills the link: once it has, it always has a backlog. The buffer holds at least what Linux sends at once.
fn scenario(rate_mbit: u64, base_rtt_ms: u64, duration_s: u64) -> Scenario {
    const SMALLEST_BUFFER_BYTES: u64 = 150_000;
    let buffer_bytes = (BUFFER_BDP * bdp_bytes(rate_mbit, base_rtt_ms)).max(SMALLEST_BUFFER_BYTES);
    let text = format!(
        "duration = \"{duration_s}s\"\n[link]\nrate = \"{rate_mbit}Mbit/s\"\nbase_rtt = \"{base_rtt_ms}ms\"\n\
         buffer = {{ bytes = {buffer_bytes} }}\n[[flow]]\nname = \"flow\"\nalgorithm = \"native:reno\"\n"
    );
    Scenario::parse("calibration.toml", &text).expect("a scenario of this crate")
}

fn bdp_bytes(rate_mbit: u64, base_rtt_ms: u64) -> u64 {
    rate_mbit * 1_000_000 / 8 * base_rtt_ms / 1000
}

/// What a calibration is about.
fn lateness(run: &RunResult) -> &Lateness {
    run.link.lateness.as_ref().expect("a calibration is of the emulator")
}

fn timekeeping(run: &RunResult) -> &Timekeeping {
    run.link.timekeeping.as_ref().expect("a calibration is of the emulator")
}

/// A link that was not filled says nothing about its rate.
fn not_filled(run: &RunResult, duration_s: f64) -> Option<String> {
    let backlogged_s = timekeeping(run).backlogged_s;
    (backlogged_s < FILLED * duration_s).then(|| {
        format!("the flow kept the link busy for {backlogged_s:.1} s of {duration_s} s, expected at least half of it")
    })
}

fn point(plan: &Plan, (rate_mbit, base_rtt_ms, parallel): (u64, u64, usize), runs: &[RunResult]) -> Point {
    let worst = |value: &dyn Fn(&RunResult) -> f64| runs.iter().map(value).fold(0.0, f64::max);
    let mut problems: Vec<String> = runs.iter().flat_map(|run| run.problems.clone()).collect();
    problems.extend(runs.iter().filter_map(|run| not_filled(run, plan.duration_s() as f64)));
    problems.dedup();
    Point {
        rate_bps: rate_mbit * 1_000_000,
        base_rtt_us: base_rtt_ms * 1000,
        parallel,
        valid: problems.is_empty(),
        problems,
        lateness_p50_us: worst(&|run| lateness(run).p50_us),
        lateness_p99_us: worst(&|run| lateness(run).p99_us),
        lateness_p999_us: worst(&|run| lateness(run).p999_us),
        rate_error: runs
            .iter()
            .filter_map(|run| timekeeping(run).rate_error)
            .max_by(|a, b| a.abs().total_cmp(&b.abs())),
        cpus_per_run: worst(&|run| {
            (run.cpu.processes_s + run.cpu.emulator_s.unwrap_or(0.0)) / plan.duration_s() as f64
        }),
        cpu_waiting: runs.iter().filter_map(|run| run.cpu.run_waiting).reduce(f64::max),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::emulator::Topology;

    #[test]
    fn every_level_is_a_scenario_with_its_rate_and_a_buffer_that_two_losses_do_not_empty() {
        for rate_mbit in RATES_MBIT {
            for base_rtt_ms in BASE_RTTS_MS {
                let scenario = scenario(rate_mbit, base_rtt_ms, 5);
                let topology = Topology::of(&scenario, 1);
                assert_eq!(
                    (topology.carried_bps, topology.calibrated_bps()),
                    (rate_mbit * 1_000_000, rate_mbit * 1_000_000)
                );
                assert_eq!(scenario.path_rtt(&scenario.flows[0].path).ns, base_rtt_ms * 1_000_000);
                // A window of path and buffer, halved twice, is still what the path holds.
                let buffer_bytes = scenario.link.buffer_bytes();
                let bdp_bytes = bdp_bytes(rate_mbit, base_rtt_ms);
                assert!(buffer_bytes >= 150_000 && (bdp_bytes + buffer_bytes) / 4 >= bdp_bytes, "{buffer_bytes}");
            }
        }
    }

    #[test]
    fn smaller_packets_count_as_a_faster_link() {
        // 400 Mbit/s in packets of 1000 bytes.
        let scenario = Scenario::open("aca-cwnd", &[]).unwrap();
        let topology = Topology::of(&scenario, 1);
        assert_eq!((topology.carried_bps, topology.calibrated_bps()), (400_000_000, 600_000_000));
    }
}
