//! Canaries on the testbed, for `cargo xtask measure canary`: how often one that is no different is taken back, and how often one is
//! that has a fifth less goodput or twice the retransmissions.
//!
//! Each fleet is a cgroup with connections that send as much as they can through one emulated bottleneck. The canary is CUBIC beside
//! CUBIC, with a tunable where it is to be worse. What the tunable does is measured with the others: the ratio of both figures.

use ccactl_loader::{Choice, LoadRequest, Loader, Paths, SwapRequest};
use ccactl_observe::rollout::canary::{self, CanaryRequest};
use ccactl_observe::rollout::{Decision, Outcome, Share};
use ccactl_testbed::host::run_id::{PREFIX, RunId};
use fleet::Fleet;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

#[path = "../../../crates/observe/tests/testbed/fleet.rs"]
#[expect(dead_code, reason = "the tests of crates/observe use more of it")]
mod fleet;

const USAGE: &str = "usage: canary [--trials N] [--watch SECONDS] [--connections N,…] [--only same,slower,lossier]";
const SHARE: &str = "50%";
/// Of each connection, on average.
const KBIT_S_PER_CONNECTION: u64 = 400;
/// Fleets that are watched at the same time, so that the trials of a row do not take hours.
const SIDE_BY_SIDE: usize = 3;
/// As an operator would write them: a tenth less, half as many again.
const RULES: [&str; 2] = ["p50_goodput < 0.9 * baseline", "retransmit_rate > 1.5 * baseline + 0.1%"];

/// What the canary is.
struct Kind {
    name: &'static str,
    words: &'static str,
    tunables: &'static [(&'static str, &'static str)],
}

const KINDS: [Kind; 3] = [
    Kind { name: "same", words: "the same CUBIC under another name", tunables: &[] },
    Kind {
        name: "slower",
        words: "CUBIC that keeps 0.5 of its window (`beta=512`, no Reno-friendly region)",
        tunables: &[("beta", "512"), ("tcp_friendliness", "0")],
    },
    Kind {
        name: "lossier",
        words: "CUBIC that keeps 0.9 of its window (`beta=922`) and grows eight times as fast (`bic_scale=328`)",
        tunables: &[("beta", "922"), ("bic_scale", "328")],
    },
];

struct Options {
    trials: usize,
    watch: Duration,
    connections: Vec<u64>,
    only: Vec<String>,
}

fn main() -> ExitCode {
    match options().and_then(|options| run(&options)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("canary: {message}");
            ExitCode::FAILURE
        }
    }
}

fn options() -> Result<Options, String> {
    let mut options =
        Options { trials: 200, watch: Duration::from_secs(10), connections: vec![20, 100, 500], only: Vec::new() };
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        let value = args.next().ok_or(USAGE)?;
        let number = |text: &str| text.parse::<u64>().map_err(|_| USAGE.to_owned());
        match arg.as_str() {
            "--trials" => options.trials = number(&value)? as usize,
            "--watch" => options.watch = Duration::from_secs(number(&value)?),
            "--connections" => options.connections = value.split(',').map(number).collect::<Result<_, _>>()?,
            "--only" => options.only = value.split(',').map(str::to_owned).collect(),
            _ => return Err(USAGE.to_owned()),
        }
    }
    Ok(options)
}

fn run(options: &Options) -> Result<(), String> {
    println!(
        "Rules: `{}`; watched for {} s, {SHARE} of the connections.\n",
        RULES.join("`, `"),
        options.watch.as_secs()
    );
    println!(
        "| canary | connections | trials | goodput, of the baseline's | retransmitted, of the baseline's | taken back | early |"
    );
    println!("|---|---:|---:|---:|---:|---:|---:|");
    for kind in KINDS.iter().filter(|kind| options.only.is_empty() || options.only.iter().any(|name| name == kind.name))
    {
        for &connections in &options.connections {
            let begun = Instant::now();
            let decisions = trials(kind, connections, options)?;
            println!("{}", row(kind, connections, &decisions));
            eprintln!("{} of {connections}: {} s", kind.name, begun.elapsed().as_secs());
        }
    }
    Ok(())
}

/// Fleets side by side, each with its share of the trials one after the other.
fn trials(kind: &Kind, connections: u64, options: &Options) -> Result<Vec<Decision>, String> {
    // The process enters a fleet's cgroup while it opens connections: one fleet after the other.
    let hosts = (0..SIDE_BY_SIDE).map(|_| Host::new(connections)).collect::<Result<Vec<_>, _>>()?;
    let left = Arc::new(Mutex::new(options.trials));
    let work = |host: &Host| {
        let mut decisions = Vec::new();
        while take(&left) {
            decisions.push(host.canary(kind, options.watch)?);
        }
        Ok::<_, String>(decisions)
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = hosts.iter().map(|host| scope.spawn(|| work(host))).collect();
        let mut all = Vec::new();
        for thread in threads {
            all.extend(thread.join().map_err(|_| "a thread has panicked".to_owned())??);
        }
        Ok(all)
    })
}

fn take(left: &Mutex<usize>) -> bool {
    let mut left = left.lock().unwrap_or_else(PoisonError::into_inner);
    let any = *left > 0;
    *left = left.saturating_sub(1);
    any
}

fn row(kind: &Kind, connections: u64, decisions: &[Decision]) -> String {
    let ratio = |metric: &str| {
        let of = |decision: &Decision| Some(decision.canary.metrics[metric]? / decision.baseline.metrics[metric]?);
        let ratios: Vec<f64> = decisions.iter().filter_map(of).filter(|ratio| ratio.is_finite()).collect();
        ratios.iter().sum::<f64>() / ratios.len() as f64
    };
    let reverted = decisions.iter().filter(|decision| decision.outcome == Outcome::Reverted);
    let early = reverted.clone().filter(|decision| decision.watched_s < decision.watch_s).count();
    let share = |count: usize| format!("{count} ({:.1} %)", 100.0 * count as f64 / decisions.len() as f64);
    format!(
        "| {} | {connections} | {} | {:.2} | {:.2} | {} | {} |",
        kind.words,
        decisions.len(),
        ratio("p50_goodput"),
        ratio("retransmit_rate"),
        share(reverted.count()),
        share(early)
    )
}

/// A cgroup with a policy, connections in it, and a loader with pins of its own.
struct Host {
    // In the order of the removal: as long as a socket is open, its algorithm and the loader's pins stay.
    _fleet: Fleet,
    ground: Ground,
    serial: String,
    evidence: tempfile::TempDir,
}

/// Policies, then the cgroup.
struct Ground {
    loader: Loader,
    cgroup: PathBuf,
}

impl Host {
    fn new(connections: u64) -> Result<Host, String> {
        let id = RunId::new().to_string();
        let serial = id.rsplit('-').next().unwrap_or_default().to_owned();
        let paths = Paths { bpffs: format!("/sys/fs/bpf/ccactl-canary-{id}").into(), ..Paths::default() };
        let loader = Loader::with_paths(paths).map_err(|error| error.to_string())?;
        let cgroup = loader.mount().path().join(format!("{PREFIX}-canary-{id}"));
        let choice = Choice::parse("cubic", &[], Some(&format!("mo{:x}_{serial}", std::process::id())));
        let ground = Ground { loader, cgroup };
        let request = LoadRequest::new(choice.map_err(|error| error.to_string())?, &ground.cgroup).create(true);
        ground.loader.load(&request).map_err(|error| error.to_string())?;
        let link = format!(
            "duration = \"10s\"\n[link]\nrate = \"{}kbit/s\"\nbase_rtt = \"20ms\"\nbuffer = {{ bdp = 2 }}\n\
             [[flow]]\nname = \"flow\"\nalgorithm = \"native:cubic\"\n",
            KBIT_S_PER_CONNECTION * connections
        );
        let share: Share = SHARE.parse().expect("a constant");
        let fleet = Fleet::on(&link, &ground.cgroup, share, connections / 2);
        let evidence = tempfile::tempdir().map_err(|error| error.to_string())?;
        Ok(Host { _fleet: fleet, ground, serial, evidence })
    }

    /// One roll-out; a promoted one is taken back, so that the next begins as this one did.
    fn canary(&self, kind: &Kind, watch: Duration) -> Result<Decision, String> {
        let name = format!("mc{:x}_{}", std::process::id(), self.serial);
        let mut choice = Choice::parse("cubic", &[], Some(&name)).map_err(|error| error.to_string())?;
        for (tunable, value) in kind.tunables {
            choice = choice.with(tunable, value).map_err(|error| error.to_string())?;
        }
        let request = CanaryRequest {
            swap: SwapRequest::of(LoadRequest::new(choice, &self.ground.cgroup)),
            share: SHARE.parse().expect("a constant"),
            same: None,
            watch,
            guards: RULES.iter().map(|rule| rule.parse().expect("a constant")).collect(),
            min_flows: CanaryRequest::DEFAULT_MIN_FLOWS,
            evidence: self.evidence.path().to_owned(),
            lease: CanaryRequest::DEFAULT_LEASE,
        };
        let decision = canary::run(&self.ground.loader, &request, &AtomicBool::new(false), &mut |_| {});
        let decision = decision.map_err(|error| error.to_string())?;
        if decision.outcome == Outcome::Promoted {
            self.ground.loader.rollback(&self.ground.cgroup).map_err(|error| error.to_string())?;
        }
        for file in std::fs::read_dir(self.evidence.path()).into_iter().flatten().flatten() {
            let _ = std::fs::remove_file(file.path());
        }
        Ok(decision)
    }
}

impl Drop for Ground {
    fn drop(&mut self) {
        if let Err(error) = self.loader.unload_all() {
            eprintln!("canary: clean-up: {error}");
        }
        if let Err(error) = ccactl_testbed::host::cgroup::remove(&self.cgroup) {
            eprintln!("canary: clean-up: {}: {error}", self.cgroup.display());
        }
    }
}
