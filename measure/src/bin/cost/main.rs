//! What each algorithm costs: size of its programs, time per callback, and bulk throughput over loopback beside the kernel's own
//! algorithms. Run by `cargo xtask bench algorithms`; prints the Markdown table of `docs/performance.md`.

#[path = "../../../../crates/loader/tests/common/mod.rs"]
mod common;
mod program;
#[path = "../../spread.rs"]
mod spread;
mod transfer;

use ccactl_abi::{ALGORITHMS, Algorithm};
use ccactl_loader::LoadRequest;
use common::callbacks::{Callbacks, count_runs};
use common::net::in_own_netns;
use common::{Host, named};
use program::Program;
use spread::Spread;
use std::collections::BTreeMap;
use std::process::ExitCode;
use std::time::Duration;
use transfer::Transfer;

const USAGE: &str = "usage: cost [--only NAME,…] [--pairs N]";
/// Algorithms that are the kernel's own as well, on every kernel.
const TWINS: &[&str] = &["reno", "cubic", "bbr"];
/// What all are compared with.
const BASELINE: &str = "cubic";
/// Pairs for a 95 % interval of the median that leaves out five values at each end.
const PAIRS: usize = 20;
/// A twin is to be as fast as this.
const GOAL: f64 = 0.99;
const STATISTICS_FOR: Duration = Duration::from_secs(1);
/// A callback that ran less often than this was not part of the bulk of the transfer.
const OFTEN: u64 = 1000;

struct Settings {
    only: Vec<String>,
    pairs: usize,
}

fn main() -> ExitCode {
    let Some(settings) = settings() else {
        eprintln!("cost: {USAGE}");
        return ExitCode::from(ccactl_abi::exit::USAGE);
    };
    let Some(host) = Host::new() else { return ExitCode::from(ccactl_abi::exit::PERMISSION) };
    println!(
        "| algorithm | instructions | verified | native code [bytes] | ns per call | throughput / native {BASELINE} | CPU time per byte \
         / native {BASELINE} | throughput / twin | CPU / twin |\n|---|---|---|---|---|---|---|---|---|"
    );
    let mut reached = true;
    for (index, algorithm) in ALGORITHMS.iter().enumerate() {
        if settings.only.is_empty() || settings.only.iter().any(|name| name == algorithm.name) {
            reached &= measure(&host, index, algorithm, settings.pairs);
        }
    }
    if reached { ExitCode::SUCCESS } else { ExitCode::from(ccactl_abi::exit::THRESHOLD) }
}

fn settings() -> Option<Settings> {
    let mut settings = Settings { only: Vec::new(), pairs: PAIRS };
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--only" => settings.only = args.next()?.split(',').map(str::to_owned).collect(),
            "--pairs" => settings.pairs = args.next()?.parse().ok().filter(|pairs| *pairs > 0)?,
            _ => return None,
        }
    }
    let known = |name: &String| Algorithm::by_name(name).is_some();
    settings.only.iter().all(known).then_some(settings)
}

/// Prints one row. Whether a twin reaches the goal; true for an algorithm that has none.
fn measure(host: &Host, index: usize, algorithm: &Algorithm, pairs: usize) -> bool {
    let name = host.name(&index.to_string());
    // Nothing runs in that cgroup: the transfers choose by setsockopt, native and ours alike.
    host.loader.load(&LoadRequest::new(named(algorithm.name, &name), host.cgroup("a")).create(true)).unwrap();
    let ids = Callbacks::of(host.loader.paths(), &name).ids();
    let nanoseconds = time_per_call(&name, &ids);
    let programs: Vec<Program> = ids.values().map(|id| Program::by_id(*id)).collect();
    let total = |part: fn(&Program) -> u64| programs.iter().map(part).sum::<u64>();
    let beside_baseline = compare(&name, BASELINE, pairs);
    let beside_twin = match algorithm.name {
        BASELINE => Some(beside_baseline.clone()),
        twin if TWINS.contains(&twin) => Some(compare(&name, twin, pairs)),
        _ => None,
    };
    host.loader.unload(&host.cgroup("a")).unwrap();
    let twin = beside_twin
        .as_ref()
        .map_or(["—".to_owned(), "—".to_owned()], |twin| twin.each_ref().map(ToString::to_string));
    println!(
        "| {} | {} | {} | {} | {nanoseconds} | {} | {} | {} | {} |",
        algorithm.name,
        total(|program| program.instructions),
        total(|program| program.verified_instructions),
        total(|program| program.native_bytes),
        beside_baseline[0],
        beside_baseline[1],
        twin[0],
        twin[1],
    );
    beside_twin.is_none_or(|[throughput, _]| throughput.median >= GOAL)
}

/// Mean time of the callbacks that run with the data. The kernel counts only during this transfer, because counting costs time.
fn time_per_call(name: &str, ids: &BTreeMap<String, u32>) -> String {
    let counting = count_runs();
    let before: Vec<Program> = ids.values().map(|id| Program::by_id(*id)).collect();
    in_own_netns(|| transfer::bulk(name, STATISTICS_FOR));
    let after: Vec<Program> = ids.values().map(|id| Program::by_id(*id)).collect();
    drop(counting);
    let cells = ids.keys().zip(before.iter().zip(&after)).filter_map(|(hook, (before, after))| {
        let runs = after.runs - before.runs;
        (runs >= OFTEN).then(|| format!("{hook} {}", (after.run_ns - before.run_ns) / runs))
    });
    cells.collect::<Vec<_>>().join(", ")
}

/// Throughput and CPU time per byte of `ours` over those of `native`, pair by pair and in alternating order, so that whatever
/// the host does meanwhile meets both.
fn compare(ours: &str, native: &str, pairs: usize) -> [Spread; 2] {
    let one = |name: &str| in_own_netns(|| transfer::bulk(name, transfer::LENGTH));
    let pair = |i: usize| {
        let (ours, native) = if i.is_multiple_of(2) {
            let ours = one(ours);
            (ours, one(native))
        } else {
            let native = one(native);
            (one(ours), native)
        };
        [Transfer::bytes_per_s, Transfer::cpu_per_byte].map(|figure| figure(&ours) / figure(&native))
    };
    let ratios: Vec<[f64; 2]> = (0..pairs).map(pair).collect();
    [0, 1].map(|figure| Spread::of(ratios.iter().map(|ratio| ratio[figure]).collect()))
}
