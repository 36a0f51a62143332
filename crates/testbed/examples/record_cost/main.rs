//! What a recording costs beside none, and beside a loop of `ss`: `cargo xtask bench collector`. Prints the Markdown
//! tables of `docs/performance.md`; ends with 6 when a goal is missed.
//!
//! A bulk transfer over the loopback of a namespace of its own keeps every CPU busy. Windows with a watcher and windows
//! without one take turns, so that each recorded window has an unrecorded one on either side.

mod load;
mod watchers;

use ccactl_testbed::host::netns::Netns;
use ccactl_testbed::host::run_id::{PREFIX, RunId};
use load::Load;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};
use watchers::{Watched, Watcher};

const USAGE: &str = "usage: record_cost [--pairs N] [--seconds N] [--flows N,…]";
/// Of the throughput without a recorder; median over the pairs of one flow with every ACK recorded.
const GOAL_RATIO: f64 = 0.97;
/// On disk.
const GOAL_BYTES_PER_ROW: f64 = 25.0;
/// Between the start of the load or the end of a watcher and the next window.
const SETTLE: Duration = Duration::from_millis(500);
const WATCHERS: [Watcher; 3] = [Watcher::Record("ack"), Watcher::Record("10ms"), Watcher::Ss];

type Result<T, E = Box<dyn std::error::Error>> = std::result::Result<T, E>;

struct Settings {
    pairs: usize,
    span: Duration,
    flows: Vec<usize>,
}

/// All pairs of one watcher over one load.
struct Series {
    watcher: Watcher,
    flows: usize,
    /// Of the windows without a watcher.
    bare_bps: Vec<f64>,
    /// Throughput with the watcher over the mean of the windows before and after.
    ratios: Vec<f64>,
    watched: Vec<Watched>,
}

fn main() -> ExitCode {
    let Some(settings) = settings() else {
        eprintln!("record_cost: {USAGE}");
        return ExitCode::from(ccactl_abi::exit::USAGE);
    };
    match run(&settings) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(ccactl_abi::exit::THRESHOLD),
        Err(error) => {
            eprintln!("record_cost: {error}");
            ExitCode::FAILURE
        }
    }
}

fn settings() -> Option<Settings> {
    let mut settings = Settings { pairs: 7, span: Duration::from_secs(4), flows: vec![1, 50, 200] };
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        let value = args.next()?;
        match arg.as_str() {
            "--pairs" => settings.pairs = value.parse().ok().filter(|pairs| *pairs > 0)?,
            "--seconds" => settings.span = value.parse().ok().filter(|s| *s > 0).map(Duration::from_secs)?,
            "--flows" => {
                settings.flows = value.split(',').map(|n| n.parse().ok().filter(|n| *n > 0)).collect::<Option<_>>()?
            }
            _ => return None,
        }
    }
    Some(settings)
}

/// Whether the goals were reached.
fn run(settings: &Settings) -> Result<bool> {
    let program = std::env::var_os("CCACTL").map(PathBuf::from).ok_or("CCACTL is not set: `cargo xtask bench` does")?;
    let folder = tempfile::tempdir()?;
    println!(
        "| flows | watched by | Gbit/s bare | throughput with / without | rows/s | of the rows asked for | drops | CPUs while it records | bytes/row |\n\
         |---|---|---|---|---|---|---|---|---|"
    );
    let mut reached = true;
    for &flows in &settings.flows {
        // A name by which `ccactl bench clean` finds what a killed bench leaves.
        let netns = Netns::create(format!("{PREFIX}-{}-load", RunId::new()))?;
        let load = Load::start(&netns, flows)?;
        for watcher in WATCHERS {
            let series = measure(settings, &netns, &load, watcher, &program, folder.path())?;
            println!("{}", line(&series));
            reached &= reaches_goals(&series);
        }
        load.finish()?;
    }
    Ok(reached)
}

fn measure(
    settings: &Settings,
    netns: &Netns,
    load: &Load,
    watcher: Watcher,
    program: &std::path::Path,
    folder: &std::path::Path,
) -> Result<Series> {
    let mut series =
        Series { watcher, flows: load.flows(), bare_bps: Vec::new(), ratios: Vec::new(), watched: Vec::new() };
    std::thread::sleep(SETTLE);
    let mut before = window(load, settings.span)?;
    for _ in 0..settings.pairs {
        let mut running = watcher.start(program, netns, load.port(), folder)?;
        std::thread::sleep(SETTLE);
        running.mark()?;
        let with = window(load, settings.span)?;
        series.watched.push(running.stop()?);
        std::thread::sleep(SETTLE);
        let after = window(load, settings.span)?;
        series.ratios.push(with / f64::midpoint(before, after));
        series.bare_bps.push(before);
        before = after;
    }
    series.bare_bps.push(before);
    Ok(series)
}

/// Goodput of the load over a span, bit/s.
fn window(load: &Load, span: Duration) -> Result<f64> {
    let (start, bytes) = (Instant::now(), load.bytes());
    std::thread::sleep(span);
    let moved = load.bytes() - bytes;
    if moved == 0 {
        return Err("the load stands still".into());
    }
    Ok(moved as f64 * 8.0 / start.elapsed().as_secs_f64())
}

fn line(series: &Series) -> String {
    let mean = |value: fn(&Watched) -> f64| mean(series.watched.iter().map(value));
    let asked = series.watcher.rows_per_s_asked(series.flows);
    let rows_per_s = mean(|watched| watched.rows_per_s);
    let drops: Option<u64> = series.watched.iter().map(|watched| watched.drops).sum();
    let bytes_per_row = series.watched.iter().map(|watched| watched.bytes_per_row).collect::<Option<Vec<_>>>();
    let none = || "—".to_owned();
    format!(
        "| {} | {} | {:.1} | {} | {rows_per_s:.0} | {} | {} | {:.2} | {} |",
        series.flows,
        series.watcher,
        self::mean(series.bare_bps.iter().copied()) / 1e9,
        spread(&series.ratios),
        asked.map_or_else(none, |asked| format!("{:.0} %", 100.0 * rows_per_s / asked)),
        drops.map_or_else(none, |drops| drops.to_string()),
        mean(|watched| watched.cpus),
        bytes_per_row.map_or_else(none, |bytes| format!("{:.1}", self::mean(bytes))),
    )
}

/// Only a recording of every ACK has goals.
fn reaches_goals(series: &Series) -> bool {
    if series.watcher != Watcher::Record("ack") {
        return true;
    }
    let is_lossless = series.watched.iter().all(|watched| watched.drops == Some(0));
    let is_small = series.watched.iter().all(|watched| watched.bytes_per_row.is_some_and(|b| b <= GOAL_BYTES_PER_ROW));
    is_lossless && is_small && (series.flows != 1 || median(&series.ratios) >= GOAL_RATIO)
}

fn mean(values: impl IntoIterator<Item = f64>) -> f64 {
    let (mut sum, mut count) = (0.0, 0.0);
    for value in values {
        sum += value;
        count += 1.0;
    }
    sum / count
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[sorted.len() / 2]
}

fn spread(values: &[f64]) -> String {
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    format!("{:.3} ({least:.3} … {most:.3})", median(values))
}
