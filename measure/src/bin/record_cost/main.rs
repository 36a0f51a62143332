//! What a recording costs beside none, and beside a loop of `ss`: `cargo xtask bench collector`. Prints the Markdown
//! tables of `docs/performance.md`; ends with 6 when a goal is missed.
//!
//! A bulk transfer over the loopback of a namespace of its own keeps every CPU busy. In each round every watcher has a
//! short window between two without any, and so has nobody: what that one shows is the noise of the others.

mod bpf_time;
mod load;
mod series;
#[path = "../../spread.rs"]
mod spread;
mod table;
mod watchers;

use ccactl_testbed::host::netns::Netns;
use ccactl_testbed::host::run_id::{PREFIX, RunId};
use load::Load;
use series::{Series, Window};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;
use watchers::Watcher;

const USAGE: &str = "usage: record_cost [--rounds N] [--millis N] [--flows N,…]";
/// Between the start of the load or the start or end of a watcher and the next window.
const SETTLE: Duration = Duration::from_millis(200);
/// In which the kernel's statistics of BPF programs are on; it is none of the windows.
const BPF_SPAN: Duration = Duration::from_secs(4);
const WATCHERS: [Watcher; 4] = [Watcher::Record("ack"), Watcher::Record("10ms"), Watcher::Ss, Watcher::Nobody];

type Result<T, E = Box<dyn std::error::Error>> = std::result::Result<T, E>;

struct Settings {
    rounds: usize,
    span: Duration,
    flows: Vec<usize>,
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
    let mut settings = Settings { rounds: 20, span: Duration::from_millis(500), flows: vec![1, 50, 200] };
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        let value = args.next()?;
        match arg.as_str() {
            "--rounds" => settings.rounds = value.parse().ok().filter(|rounds| *rounds > 0)?,
            "--millis" => settings.span = value.parse().ok().filter(|ms| *ms > 0).map(Duration::from_millis)?,
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
    println!("{}", table::HEAD);
    let mut verdicts = Vec::new();
    for &flows in &settings.flows {
        let series = Bench::new(flows, &program)?.run(settings)?;
        series.iter().for_each(|series| println!("{}", table::line(series)));
        verdicts.extend(series.iter().filter_map(table::verdict));
    }
    println!();
    verdicts.iter().for_each(|(_, text)| println!("{text}"));
    Ok(verdicts.iter().all(|(reached, _)| *reached))
}

/// A load, and what watches it.
struct Bench<'a> {
    netns: Netns,
    load: Load,
    program: &'a Path,
    folder: tempfile::TempDir,
}

impl Bench<'_> {
    fn new(flows: usize, program: &Path) -> Result<Bench<'_>> {
        // A name by which `ccactl bench clean` finds what a killed bench leaves.
        let netns = Netns::create(format!("{PREFIX}-{}-load", RunId::new()))?;
        let load = Load::start(&netns, flows)?;
        Ok(Bench { netns, load, program, folder: tempfile::tempdir()? })
    }

    fn run(self, settings: &Settings) -> Result<Vec<Series>> {
        let mut all = WATCHERS.map(|watcher| Series::new(watcher, self.load.flows()));
        std::thread::sleep(SETTLE);
        let mut before = self.bare(settings.span)?;
        for _ in 0..settings.rounds {
            for series in &mut all {
                let running = self.start(series.watcher)?;
                let (with, cpu) = Window::of(&self.load, settings.span, || running.cpu())?;
                let watched = running.stop(cpu.as_secs_f64() / settings.span.as_secs_f64())?;
                std::thread::sleep(SETTLE);
                let after = self.bare(settings.span)?;
                series.push(before, with, after, watched);
                before = after;
            }
        }
        for series in &mut all {
            let running = self.start(series.watcher)?;
            series.bpf = running.pid().map(|pid| bpf_time::measure(pid, BPF_SPAN)).transpose()?;
            // The longest window: the fixed part of a file counts least in it.
            series.bytes_per_row = running.stop(0.0)?.bytes_per_row;
        }
        self.load.finish()?;
        Ok(all.into())
    }

    fn start(&self, watcher: Watcher) -> Result<watchers::Running> {
        let running = watcher.start(self.program, &self.netns, self.load.port(), self.folder.path())?;
        std::thread::sleep(SETTLE);
        Ok(running)
    }

    fn bare(&self, span: Duration) -> Result<Window> {
        Ok(Window::of(&self.load, span, || Ok(Duration::ZERO))?.0)
    }
}
