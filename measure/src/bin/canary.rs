//! Canaries on the testbed, for `cargo xtask measure canary`: how often one that is no different is taken back, and how often one
//! that has a fifth less goodput or twice the retransmissions.
//!
//! Each fleet is a cgroup with connections that send as much as they can. The canary is CUBIC beside CUBIC. Where it is to be worse,
//! its connections have a bottleneck of their own that is worse by just that much: what a rule can see is then known in advance. The
//! ratio of both figures is measured with the others.

use ccactl_loader::{Choice, LoadRequest, Loader, SwapRequest};
use ccactl_observe::rollout::canary::{self, CanaryRequest};
use ccactl_observe::rollout::{Decision, Outcome, Share};
use ccactl_testbed::host::run_id::{PREFIX, RunId};
use fleet::Fleet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

#[path = "../../../crates/observe/tests/testbed/fleet.rs"]
#[expect(dead_code, reason = "the tests of crates/observe use more of it")]
mod fleet;

const USAGE: &str = "usage: canary [--trials N] [--watch SECONDS] [--connections N,…] [--only same,slower,lossier]";
const SHARE: &str = "50%";
/// Of each connection, on average, where a queue decides: a window of 3 to 8 packets.
const KBIT_S_PER_CONNECTION: u64 = 200;
const QUEUE_RTT_MS: u64 = 160;
/// Where losses decide, the rate is no limit. The RTT keeps the connections within what two emulators carry on two CPUs. At
/// 300 ms 500 of them make 18 000 packets/s, and the devices drop some of their own.
const LOSS_RTT_MS: u64 = 300;
const LOSS_RTT_OF_MANY_MS: u64 = 900;
const MANY: u64 = 200;
/// Connections that send at the same time, in fleets side by side, so that the trials of a row do not take hours.
const AT_A_TIME: u64 = 500;
const FLEETS: u64 = 3;
/// Where a kernel skips programs (docs/notes/skipped-programs.md), a loss may leave a socket with garbage as its window. Such sockets
/// gather in a fleet, so it does not last.
const TRIALS_OF_A_FLEET: usize = 5;

/// What the canary's connections meet, and what the baseline's.
struct Kind {
    name: &'static str,
    words: &'static str,
    /// As an operator would write them: a tenth less, half as many again.
    rules: &'static [&'static str],
    paths: Paths,
}

enum Paths {
    /// All through one queue.
    One,
    /// Each group through a queue of its own: shares of the usual rate.
    Rates { canary_percent: u64 },
    /// Each group with random losses of its own.
    Losses { canary: f64, baseline: f64 },
}

const GOODPUT: &str = "p50_goodput < 0.9 * baseline";
const RETRANSMISSIONS: &str = "retransmit_rate > 1.5 * baseline + 0.1%";
const KINDS: [Kind; 3] = [
    Kind { name: "same", words: "no different", rules: &[GOODPUT, RETRANSMISSIONS], paths: Paths::One },
    Kind {
        name: "slower",
        words: "a fifth less goodput",
        rules: &[GOODPUT],
        paths: Paths::Rates { canary_percent: 80 },
    },
    Kind {
        name: "lossier",
        words: "twice the losses",
        rules: &[RETRANSMISSIONS],
        paths: Paths::Losses { canary: 0.04, baseline: 0.02 },
    },
];

impl Paths {
    /// Connections of both groups, as many in each.
    fn fleet(&self, cgroup: &Path, share: Share, per_group: u64) -> Fleet {
        let rate = KBIT_S_PER_CONNECTION * per_group;
        let two = |canary: String, baseline: String| Fleet::on_two(&canary, &baseline, cgroup, share, per_group);
        match *self {
            Paths::One => Fleet::on(&link(2 * rate, QUEUE_RTT_MS, 0.0), cgroup, share, per_group),
            Paths::Rates { canary_percent } => {
                two(link(rate * canary_percent / 100, QUEUE_RTT_MS, 0.0), link(rate, QUEUE_RTT_MS, 0.0))
            }
            Paths::Losses { canary, baseline } => {
                let rtt = if per_group < MANY { LOSS_RTT_MS } else { LOSS_RTT_OF_MANY_MS };
                two(link(10 * rate, rtt, canary), link(10 * rate, rtt, baseline))
            }
        }
    }
}

fn link(rate_kbit_s: u64, rtt_ms: u64, loss: f64) -> String {
    format!(
        "duration = \"10s\"\n[link]\nrate = \"{rate_kbit_s}kbit/s\"\nbase_rtt = \"{rtt_ms}ms\"\nbuffer = {{ bdp = 2 }}\nloss = {loss}\n\
         [[flow]]\nname = \"flow\"\nalgorithm = \"native:cubic\"\n"
    )
}

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
        "Rules: `{GOODPUT}`, `{RETRANSMISSIONS}`; watched for {} s, {SHARE} of the connections.\n",
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
    let fleets = (AT_A_TIME / connections).clamp(1, FLEETS);
    let left = Mutex::new(options.trials);
    // The process enters a fleet's cgroup while it opens connections: one fleet after the other.
    let opening = Mutex::new(());
    let work = || {
        let mut decisions = Vec::new();
        loop {
            let trials = take(&left);
            if trials == 0 {
                return Ok::<Vec<Decision>, String>(decisions);
            }
            let host = {
                let _alone = opening.lock().unwrap_or_else(PoisonError::into_inner);
                Host::new(kind, connections)?
            };
            for _ in 0..trials {
                let decision = host.canary(kind, options.watch)?;
                eprintln!("{}", told(&decision));
                decisions.push(decision);
            }
        }
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..fleets).map(|_| scope.spawn(work)).collect();
        let mut all: Vec<Decision> = Vec::new();
        for thread in threads {
            all.extend(thread.join().map_err(|_| "a thread has panicked".to_owned())??);
        }
        Ok(all)
    })
}

/// So many trials of those that are left.
fn take(left: &Mutex<usize>) -> usize {
    let mut left = left.lock().unwrap_or_else(PoisonError::into_inner);
    let trials = TRIALS_OF_A_FLEET.min(*left);
    *left -= trials;
    trials
}

/// One trial, with what each rule said at its end.
fn told(decision: &Decision) -> String {
    let rules = decision.guards.iter().map(|verdict| {
        let value = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |value| format!("{value:.4}"));
        let chance = value(verdict.chance);
        format!(
            "{}: {:?}, {} of {}, chance {chance}",
            verdict.metric,
            verdict.state,
            value(verdict.canary),
            value(verdict.baseline)
        )
    });
    let rules: Vec<String> = rules.collect();
    format!("{:?} after {:.1} s, {:?}; {}", decision.outcome, decision.watched_s, decision.cause, rules.join("; "))
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
    fn new(kind: &Kind, connections: u64) -> Result<Host, String> {
        let id = RunId::new().to_string();
        let serial = id.rsplit('-').next().unwrap_or_default().to_owned();
        let bpffs = format!("/sys/fs/bpf/ccactl-canary-{id}").into();
        let paths = ccactl_loader::Paths { bpffs, ..Default::default() };
        let loader = Loader::with_paths(paths).map_err(|error| error.to_string())?;
        let cgroup = loader.mount().path().join(format!("{PREFIX}-canary-{id}"));
        let choice = Choice::parse("cubic", &[], Some(&format!("mo{:x}_{serial}", std::process::id())));
        let ground = Ground { loader, cgroup };
        let request = LoadRequest::new(choice.map_err(|error| error.to_string())?, &ground.cgroup).create(true);
        ground.loader.load(&request).map_err(|error| error.to_string())?;
        let share: Share = SHARE.parse().expect("a constant");
        let fleet = kind.paths.fleet(&ground.cgroup, share, connections / 2);
        let evidence = tempfile::tempdir().map_err(|error| error.to_string())?;
        Ok(Host { _fleet: fleet, ground, serial, evidence })
    }

    /// One roll-out; a promoted one is taken back, so that the next begins as this one did.
    fn canary(&self, kind: &Kind, watch: Duration) -> Result<Decision, String> {
        let name = format!("mc{:x}_{}", std::process::id(), self.serial);
        let choice = Choice::parse("cubic", &[], Some(&name)).map_err(|error| error.to_string())?;
        let request = CanaryRequest {
            swap: SwapRequest::of(LoadRequest::new(choice, &self.ground.cgroup)),
            share: SHARE.parse().expect("a constant"),
            same: None,
            watch,
            guards: kind.rules.iter().map(|rule| rule.parse().expect("a constant")).collect(),
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
