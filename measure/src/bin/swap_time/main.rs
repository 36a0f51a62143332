//! How long one swap takes with many live connections: `cargo xtask bench swap`. Prints the Markdown tables of
//! `docs/performance.md`; ends with 6 when a goal is missed.

mod commands;

use ccactl_loader::{Choice, LoadRequest, Loader, Paths, SwapRequest};
use ccactl_testbed::host::cgroup::Cgroup;
use ccactl_testbed::host::run_id::{PREFIX, RunId};
use ccactl_testbed::traffic::checked::{CheckedLoad, LoadOptions};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

const USAGE: &str = "usage: swap_time [--repeats N] [--connections N,…]";
/// Moved back and forth between these.
const ALGORITHMS: [&str; 2] = ["cubic", "bbrv2"];
/// Connections and namespace pairs of each row.
const ROWS: [(u32, usize); 8] =
    [(0, 1), (500, 1), (1_000, 1), (5_000, 1), (10_000, 1), (50_000, 1), (1_000, 10), (10_000, 10)];
/// Of the iteration in one row.
const GOAL: Duration = Duration::from_millis(100);
const GOAL_ROW: (u32, usize) = (10_000, 1);
/// Of whole commands over 100 000 sockets.
const STATUS_GOAL: Duration = Duration::from_secs(1);
const SWAP_GOAL: Duration = Duration::from_secs(5);

type Result<T, E = Box<dyn std::error::Error>> = std::result::Result<T, E>;

struct Settings {
    repeats: u32,
    connections: Vec<u32>,
}

/// Of all repeats of one row.
#[derive(Default)]
struct Times {
    sockets: u64,
    /// Those of the load and all others of the host: each is looked at.
    namespaces: usize,
    iterations: Vec<Duration>,
    calls: Vec<Duration>,
    commands: Vec<Duration>,
    statuses: Vec<Duration>,
    /// From the start of the exporter to its first answer, and of later answers.
    first_scrape: Duration,
    scrapes: Vec<Duration>,
}

fn main() -> ExitCode {
    let Some(settings) = settings() else {
        eprintln!("swap_time: {USAGE}");
        return ExitCode::from(ccactl_abi::exit::USAGE);
    };
    match run(&settings) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(ccactl_abi::exit::THRESHOLD),
        Err(error) => {
            eprintln!("swap_time: {error}");
            ExitCode::FAILURE
        }
    }
}

fn settings() -> Option<Settings> {
    let mut settings = Settings { repeats: 20, connections: Vec::new() };
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--repeats" => settings.repeats = args.next()?.parse().ok().filter(|repeats| *repeats > 0)?,
            "--connections" => {
                settings.connections =
                    args.next()?.split(',').map(|count| count.parse().ok()).collect::<Option<_>>()?;
            }
            _ => return None,
        }
    }
    Some(settings)
}

/// Whether the goal was reached.
fn run(settings: &Settings) -> Result<bool> {
    println!(
        "| connections | namespaces of theirs | on the host | sockets moved | iteration | per socket | `Loader::swap` | `ccactl swap` |\n\
         |---|---|---|---|---|---|---|---|"
    );
    let mut reached = true;
    let mut whole = Vec::new();
    for (connections, pairs) in ROWS {
        if !settings.connections.is_empty() && !settings.connections.contains(&connections) {
            continue;
        }
        let mut times = measure(connections, pairs, settings.repeats)?;
        let iteration = median(&mut times.iterations);
        let per_socket = if connections == 0 {
            "—".to_owned()
        } else {
            format!("{:.2} µs", iteration.as_secs_f64() * 1e6 / times.sockets as f64)
        };
        println!(
            "| {connections} | {} | {} | {} | {} | {per_socket} | {} | {} |",
            2 * pairs,
            times.namespaces,
            times.sockets,
            spread(&mut times.iterations),
            spread(&mut times.calls),
            spread(&mut times.commands),
        );
        reached &= (connections, pairs) != GOAL_ROW || iteration < GOAL;
        reached &= median(&mut times.statuses) <= STATUS_GOAL && median(&mut times.commands) <= SWAP_GOAL;
        if pairs == 1 && connections > 0 {
            whole.push(times);
        }
    }
    println!(
        "\n| idle sockets | `ccactl status` | `ccactl swap` | exporter: start to first scrape | later scrapes |\n|---|---|---|---|---|"
    );
    for mut times in whole {
        println!(
            "| {} | {} | {} | {:.1} ms | {} |",
            times.sockets,
            spread(&mut times.statuses),
            spread(&mut times.commands),
            times.first_scrape.as_secs_f64() * 1e3,
            spread(&mut times.scrapes),
        );
    }
    Ok(reached)
}

fn measure(connections: u32, pairs: usize, repeats: u32) -> Result<Times> {
    let program = std::env::var_os("CCACTL").map(PathBuf::from).ok_or("CCACTL is not set: `cargo xtask bench` does")?;
    let id = RunId::new();
    let tag = format!("b{:x}", std::process::id());
    let bpffs = PathBuf::from(format!("/sys/fs/bpf/ccactl-bench-{tag}"));
    let loader = Loader::with_paths(Paths { bpffs, ..Paths::default() })?;
    // Names by which `ccactl bench clean` finds what a killed bench leaves.
    let parent = Cgroup::create(loader.mount().path().join(format!("{PREFIX}-bench-{id}")))?;
    let cgroup = Cgroup::create(parent.path().join("load"))?;
    let options = LoadOptions {
        connections,
        pairs,
        opening_bytes: 1000,
        rate_bytes_per_s: 0,
        bottleneck: None,
        seed: u64::from(std::process::id()),
    };
    // Before the load, so that it goes after it: notes on sockets stay as long as the sockets.
    let _policies = Unload(&loader);
    let mut load = CheckedLoad::start(&program, id, &options, &cgroup)?;
    let request = |turn: u32| {
        let place = turn as usize % ALGORITHMS.len();
        let choice = Choice::parse(ALGORITHMS[place], &[], Some(&format!("{tag}_{place}"))).unwrap();
        LoadRequest::new(choice, cgroup.path())
    };
    loader.load(&request(0))?;
    // Once for each algorithm without the clock: the first swap moves sockets that have the host's default.
    loader.swap(&SwapRequest::of(request(0)))?;
    let mut times = Times::default();
    for turn in 1..=repeats {
        let before = Instant::now();
        let outcome = loader.swap(&SwapRequest::of(request(turn)))?;
        times.calls.push(before.elapsed());
        if !outcome.is_complete() || outcome.counts.moved < load.sockets() {
            return Err(format!("{:?}, {:?}", outcome.counts, outcome.verification).into());
        }
        times.iterations.push(outcome.iteration);
        (times.sockets, times.namespaces) = (outcome.counts.moved, outcome.namespaces.max(times.namespaces));
    }
    for turn in repeats + 1..=2 * repeats {
        times.commands.push(commands::swap(&program, &loader, &request(turn))?);
        times.statuses.push(commands::status(&program, &loader)?);
    }
    (times.first_scrape, times.scrapes) = commands::scrapes(&program, &loader, repeats)?;
    let faults = load.faults()?;
    loader.unload(cgroup.path())?;
    let faults = [faults, load.finish()?.faults].concat();
    if faults.is_empty() { Ok(times) } else { Err(faults.join("; ").into()) }
}

/// Leaves nothing behind, also after an error.
struct Unload<'a>(&'a Loader);

impl Drop for Unload<'_> {
    fn drop(&mut self) {
        if let Err(error) = self.0.unload_all() {
            eprintln!("swap_time: clean-up: {error}");
        }
    }
}

fn median(values: &mut [Duration]) -> Duration {
    values.sort();
    values[values.len() / 2]
}

fn spread(values: &mut [Duration]) -> String {
    let middle = median(values);
    let millis = |value: Duration| format!("{:.1}", value.as_secs_f64() * 1e3);
    format!("{} ms ({} … {})", millis(middle), millis(values[0]), millis(values[values.len() - 1]))
}
