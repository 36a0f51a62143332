//! `ccactl bench calibrate`

use super::carry_out::interrupt_flag;
use super::output;
use crate::error::{Context, Result};
use ccactl_host::{errln, outln};
use ccactl_loader::Loader;
use ccactl_scenario::{SHIPPED, Scenario};
use ccactl_testbed::bench::{Interrupt, Limits};
use ccactl_testbed::calibration::{self, Calibration, Plan, Point};
use ccactl_testbed::emulator::Topology;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;

#[derive(clap::Args)]
pub struct Args {
    /// Shorter runs, one delay, at most one run per CPU: under a minute on two CPUs
    #[arg(long)]
    quick: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args) -> Result<ExitCode> {
    Loader::open()?;
    let program = std::env::current_exe().context("find the ccactl binary for the built-in traffic")?;
    let plan = Plan { program, quick: args.quick, limits: Limits::default() };
    let interrupt = interrupt_flag()?;
    let calibration = calibration::measure(&plan, Interrupt(&interrupt), &mut |point| errln!("{}", told(point)))?;
    let path = calibration.store()?;
    if args.json {
        output::json(&calibration)?;
    } else {
        print(&calibration, &path)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// One line of progress.
fn told(point: &Point) -> String {
    let verdict = if point.valid { "valid".to_owned() } else { point.problems.join("; ") };
    format!("{} Mbit/s, {} ms, {} side by side: {verdict}", mbit(point), point.base_rtt_us / 1000, point.parallel)
}

fn mbit(point: &Point) -> u64 {
    point.rate_bps / 1_000_000
}

fn print(calibration: &Calibration, path: &Path) -> Result<()> {
    let us = |value: f64| format!("{value:.0}");
    let percent = |share: Option<f64>, decimals: usize| {
        share.map_or_else(|| "-".to_owned(), |share| format!("{:.decimals$}", share * 100.0))
    };
    let rows: Vec<_> = calibration
        .points
        .iter()
        .map(|point| {
            [
                mbit(point).to_string(),
                (point.base_rtt_us / 1000).to_string(),
                point.parallel.to_string(),
                us(point.lateness_p50_us),
                us(point.lateness_p99_us),
                us(point.lateness_p999_us),
                percent(point.rate_error, 3),
                format!("{:.2}", point.cpus_per_run),
                percent(point.cpu_waiting, 0),
                if point.valid { "yes" } else { "no" }.to_owned(),
            ]
        })
        .collect();
    let titles = [
        "Mbit/s",
        "RTT ms",
        "runs",
        "late p50 us",
        "p99 us",
        "p99.9 us",
        "rate error %",
        "CPUs per run",
        "waiting %",
        "valid",
    ];
    output::table(titles, &rows)?;
    let host = &calibration.host;
    outln!("host {}, kernel {}, {} CPUs", host.name, host.kernel, host.cpus);
    let limits = &calibration.limits;
    outln!(
        "limits: lateness p99 {} us, p99.9 {} us ({} us, {} us above 100 Mbit/s), rate error {} %, waiting {} % (up to 100 Mbit/s)",
        limits.lateness_p99_us,
        limits.lateness_p999_us,
        limits.fast_lateness_p99_us,
        limits.fast_lateness_p999_us,
        limits.rate_error * 100.0,
        limits.cpu_waiting * 100.0
    );
    for point in calibration.points.iter().filter(|point| !point.valid) {
        outln!("{}", told(point));
    }
    let Carried { by_runs, beyond } = shipped(calibration)?;
    for (runs, names) in by_runs.iter().rev() {
        outln!("{runs} side by side: {}", names.join(", "));
    }
    if !beyond.is_empty() {
        outln!("beyond this host: {}", beyond.join(", "));
    }
    outln!("kept in {}", path.display());
    Ok(())
}

/// The shipped scenarios by what this host carries.
#[derive(Default)]
struct Carried {
    /// By the number of runs that may go side by side.
    by_runs: BTreeMap<usize, Vec<String>>,
    /// The rate is too high for even one run.
    beyond: Vec<String>,
}

fn shipped(calibration: &Calibration) -> Result<Carried> {
    let mut carried = Carried::default();
    for shipped in SHIPPED {
        let scenario =
            Scenario::parse(&format!("{}.toml", shipped.name), shipped.text).map_err(ccactl_testbed::Error::from)?;
        let rate_bps = Topology::of(&scenario, 1).calibrated_bps();
        match calibration.parallel_runs(rate_bps) {
            0 => carried.beyond.push(format!(
                "{} ({} Mbit/s in packets of 1500 bytes)",
                scenario.name,
                rate_bps as f64 / 1e6
            )),
            runs => carried.by_runs.entry(runs).or_default().push(scenario.name),
        }
    }
    Ok(carried)
}
