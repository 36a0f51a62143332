//! Canaries with real traffic over the emulated bottleneck: a bad one is taken back, a good one is promoted.

mod fleet;

use ccactl_loader::{Choice, LoadRequest, Loader, Paths, SwapRequest};
use ccactl_observe::rollout::canary::{self, CanaryRequest, Event};
use ccactl_observe::rollout::{Cause, Decision, Error, Outcome, Share};
use ccactl_testbed::host::run_id::{PREFIX, RunId};
use fleet::Fleet;
use nix::unistd::geteuid;
use std::env;
use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tempfile::TempDir;

/// Sockets in each group.
const MIN_FLOWS: u64 = 6;
const SHARE: &str = "50%";
const WATCH: Duration = Duration::from_secs(12);

/// The process enters the cgroup while it opens connections, so only one test at a time.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// A starved flow: each loss leaves a thousandth of the window, and nothing but a slow cubic brings it back.
const STARVED: &[(&str, &str)] = &[("beta", "1"), ("bic_scale", "1"), ("tcp_friendliness", "0")];
/// Hybla that takes every path for a satellite's: with RTT0 = 1 ms it grows by hundreds of packets per round trip.
const RECKLESS: &[(&str, &str)] = &[("rtt0_ms", "1")];

#[test]
fn a_canary_that_starves_beside_the_baseline_is_taken_back_early() {
    let Some(host) = Host::new() else { return };
    let fleet = Fleet::on_one_bottleneck(&host.cgroup, share(), MIN_FLOWS);
    let decision = host.canary("cubic", STARVED, &["goodput < 0.5 * baseline", "p99_rtt > 10s"]).expect("a decision");
    report(&decision);
    assert_eq!(decision.outcome, Outcome::Reverted);
    assert!(matches!(decision.cause, Cause::GuardHeld { early: true, .. }), "{:?}", decision.cause);
    assert!(decision.watched_s < WATCH.as_secs_f64() + 0.5, "{}", decision.watched_s);
    assert_eq!(fleet.algorithms(), [host.baseline.clone()].into());
    host.check_evidence(&decision);
}

#[test]
fn a_canary_that_overshoots_its_own_bottlenecks_is_taken_back_early() {
    let Some(host) = Host::new() else { return };
    let fleet = Fleet::on_own_bottlenecks(&host.cgroup, share(), MIN_FLOWS);
    let guards = ["retransmit_rate > 2 * baseline + 1%", "goodput < 0.1 * baseline"];
    let decision = host.canary("hybla", RECKLESS, &guards).expect("a decision");
    report(&decision);
    assert_eq!(decision.outcome, Outcome::Reverted);
    let Cause::GuardHeld { guard, early: true, .. } = &decision.cause else { panic!("{:?}", decision.cause) };
    assert!(guard.starts_with("retransmit_rate"), "{guard}");
    assert_eq!(fleet.algorithms(), [host.baseline.clone()].into());
}

#[test]
fn a_canary_that_does_as_well_is_promoted() {
    let Some(host) = Host::new() else { return };
    let fleet = Fleet::on_one_bottleneck(&host.cgroup, share(), MIN_FLOWS);
    let guards = ["retransmit_rate > 3 * baseline + 3%", "mean_rtt > 1.5 * baseline", "goodput < 0.3 * baseline"];
    let decision = host.canary("cubic", &[], &guards).expect("a decision");
    report(&decision);
    assert_eq!((decision.outcome, &decision.cause), (Outcome::Promoted, &Cause::NoGuardHeld));
    assert_eq!(decision.exit_code(), 0);
    assert!(decision.watched_s >= WATCH.as_secs_f64(), "{}", decision.watched_s);
    assert_eq!(fleet.algorithms(), [decision.canary.kernel_name.clone()].into());
    host.check_evidence(&decision);
}

#[test]
fn a_signal_takes_the_canary_back_at_once_and_a_rollback_by_somebody_else_ends_the_watch() {
    let Some(host) = Host::new() else { return };
    let fleet = Fleet::on_one_bottleneck(&host.cgroup, share(), MIN_FLOWS);
    let stop = AtomicBool::new(false);
    let decision = host.watched(&stop, |event| {
        if let Event::Evaluated { .. } = event {
            host.check_running();
            stop.store(true, Ordering::Relaxed);
        }
    });
    assert_eq!((decision.outcome, &decision.cause), (Outcome::Reverted, &Cause::Interrupted));
    assert_eq!(decision.exit_code(), 130);
    assert_eq!(fleet.algorithms(), [host.baseline.clone()].into());

    let decision = host.watched(&AtomicBool::new(false), |event| {
        if let Event::Started { .. } = event {
            host.loader.rollback(&host.cgroup).unwrap_or_else(|error| panic!("{error}"));
        }
    });
    assert_eq!((decision.outcome, &decision.cause), (Outcome::Superseded, &Cause::Superseded));
    assert!(decision.end.is_none());
    assert_eq!(fleet.algorithms(), [host.baseline.clone()].into());
}

#[test]
fn a_guard_that_holds_before_anything_has_moved_ends_it_there() {
    let Some(host) = Host::new() else { return };
    let fleet = Fleet::on_one_bottleneck(&host.cgroup, share(), MIN_FLOWS);
    let rehearsed = |guard: &str| {
        let request = CanaryRequest { same: Some(Duration::from_secs(6)), ..host.request("cubic", &[], &[guard]) };
        canary::run(&host.loader, &request, &AtomicBool::new(false), &mut |event| {
            assert!(!matches!(event, Event::Started { .. }), "{guard}");
        })
    };
    let error = rehearsed("goodput > 1kbit/s").expect_err("it holds for any algorithm");
    assert!(matches!(error, Error::HoldsAnyway { .. }), "{error}");
    assert!(error.to_string().contains("Nothing was moved"), "{error}");
    let error = rehearsed("p99_rtt > 10s").expect_err("6 s of 12 flows have too few RTT samples");
    assert!(matches!(error, Error::NotTried { .. }), "{error}");
    assert_eq!(fleet.algorithms(), [host.baseline.clone()].into());
    assert_eq!(host.evidence().len(), 0);
}

#[test]
fn a_canary_with_too_few_sockets_changes_nothing_and_leaves_nothing() {
    let Some(host) = Host::new() else { return };
    let fleet = Fleet::on_one_bottleneck(&host.cgroup, share(), 2);
    let error = host.canary("cubic", &[], &["p95_rtt > 2 * baseline"]).expect_err("6 are needed");
    assert!(matches!(error, Error::TooFewSockets { needed: MIN_FLOWS, .. }), "{error}");
    assert_eq!(error.exit_code(), 2);
    assert_eq!(fleet.algorithms(), [host.baseline.clone()].into());
    assert_eq!(host.evidence().len(), 0);
}

fn share() -> Share {
    SHARE.parse().unwrap()
}

/// For whoever reads the log of a failed test.
fn report(decision: &Decision) {
    eprintln!("{:?} after {:.1} s: {}", decision.outcome, decision.watched_s, decision.reason());
    for verdict in &decision.guards {
        let value = |value: Option<f64>| value.map_or("-".to_owned(), |v| verdict.metric.dimension().display(v));
        let [canary, baseline, threshold] = [verdict.canary, verdict.baseline, verdict.threshold].map(value);
        eprintln!(
            "  {}: canary {canary}, baseline {baseline}, threshold {threshold}: {:?}",
            verdict.guard, verdict.state
        );
    }
    for (name, figures) in [("canary", &decision.canary), ("baseline", &decision.baseline)] {
        eprintln!("  {name}: {figures:?}");
    }
    eprintln!("  {:?} {:?} {:?}", decision.recording, decision.ignored, decision.problems);
}

/// A cgroup with a policy, a loader with pins of its own, and a folder for evidence.
struct Host {
    loader: Loader,
    cgroup: PathBuf,
    baseline: String,
    serial: String,
    dir: TempDir,
    _one_at_a_time: MutexGuard<'static, ()>,
}

impl Host {
    /// `None` without root; in CI that is a failure.
    fn new() -> Option<Host> {
        if !geteuid().is_root() {
            assert_ne!(env::var("CI").as_deref(), Ok("true"), "CI runs the testbed tests, so it needs root");
            eprintln!("not run: needs root");
            return None;
        }
        let one_at_a_time = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        let id = RunId::new().to_string();
        let serial = id.rsplit('-').next().expect("an id ends with its serial").to_owned();
        let dir = tempfile::tempdir().expect("a temporary folder");
        let paths = Paths { bpffs: format!("/sys/fs/bpf/ccactl-test-{id}").into(), ..Paths::default() };
        let loader = Loader::with_paths(paths).unwrap_or_else(|error| panic!("{error}"));
        let cgroup = loader.mount().path().join(format!("{PREFIX}-test-{id}"));
        let baseline = format!("ro{:x}_{serial}", std::process::id());
        let host = Host { loader, cgroup, baseline, serial, dir, _one_at_a_time: one_at_a_time };
        let choice = Choice::parse("cubic", &[], Some(&host.baseline)).unwrap();
        let request = LoadRequest::new(choice, &host.cgroup).create(true);
        host.loader.load(&request).unwrap_or_else(|error| panic!("{error}"));
        Some(host)
    }

    fn request(&self, algorithm: &str, set: &[(&str, &str)], guards: &[&str]) -> CanaryRequest {
        let name = format!("rc{:x}_{}", std::process::id(), self.serial);
        let choice = Choice::parse(algorithm, &[], Some(&name)).unwrap();
        let choice = set.iter().fold(choice, |choice, (name, value)| choice.with(name, value).unwrap());
        let load = LoadRequest::new(choice, &self.cgroup);
        CanaryRequest {
            swap: SwapRequest::of(load),
            share: share(),
            same: None,
            watch: WATCH,
            guards: guards
                .iter()
                .map(|guard| guard.parse().unwrap_or_else(|error| panic!("{guard}: {error}")))
                .collect(),
            min_flows: MIN_FLOWS,
            evidence: self.dir.path().join("evidence"),
            lease: CanaryRequest::DEFAULT_LEASE,
        }
    }

    fn canary(&self, algorithm: &str, set: &[(&str, &str)], guards: &[&str]) -> Result<Decision, Error> {
        let request = self.request(algorithm, set, guards);
        canary::run(&self.loader, &request, &AtomicBool::new(false), &mut |_| {})
    }

    /// A canary that no guard ends.
    fn watched(&self, interrupted: &AtomicBool, mut observe: impl FnMut(Event<'_>)) -> Decision {
        let request = self.request("cubic", &[], &["p99_rtt > 10s"]);
        canary::run(&self.loader, &request, interrupted, &mut observe).unwrap_or_else(|error| panic!("{error}"))
    }

    fn evidence(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.dir.path().join("evidence"));
        entries.into_iter().flatten().flatten().map(|entry| entry.path()).collect()
    }

    /// While it is watched, a file tells of it: `ccactl serve` reads it.
    fn check_running(&self) {
        let is_running = |path: &&PathBuf| path.to_string_lossy().ends_with(".running.json");
        let all = self.evidence();
        let file = all.iter().find(is_running).unwrap_or_else(|| panic!("none of {all:?} tells of the canary"));
        let told: serde_json::Value = serde_json::from_slice(&fs::read(file).expect("a file")).expect("JSON");
        assert_eq!(told["guards"][0]["guard"], "p99_rtt > 10s", "{told}");
        assert_eq!((&told["algorithm"], &told["pid"]), (&"cubic".into(), &std::process::id().into()), "{told}");
        assert!(told["canary"]["flows"].is_u64() && told["units"]["p99_rtt"] == "us", "{told}");
    }

    /// The decision is stored as it was returned, beside the recording that its figures come from.
    fn check_evidence(&self, decision: &Decision) {
        assert_eq!(decision.problems, Vec::<String>::new());
        let stored = fs::read_to_string(&decision.stored).expect("the decision is stored");
        assert_eq!(stored, serde_json::to_string_pretty(decision).expect("it is JSON") + "\n");
        let recording = decision.recording.path.clone().expect("a recording");
        check_figures(decision, &[recording]);
        assert_eq!(self.evidence().len(), 2);
    }
}

/// `ccactl report` computes the same figures in its own way. Its window is not quite that of the watch, which begins a
/// moment after the recording and ends before it.
fn check_figures(decision: &Decision, recording: &[PathBuf]) {
    let from_s = Some(decision.settle_s + 0.2);
    let options = ccactl_report::Options { from_s, ..ccactl_report::Options::default() };
    let opened = ccactl_report::open_all(recording).unwrap_or_else(|error| panic!("{error}"));
    let summary = ccactl_report::summarize(&opened, &options).unwrap_or_else(|error| panic!("{error}"));
    for figures in [&decision.canary, &decision.baseline] {
        let algorithms = &summary.recordings[0].algorithms;
        let found = algorithms.iter().find(|algorithm| algorithm.kernel_name == figures.kernel_name);
        let found = &found.unwrap_or_else(|| panic!("{} is not in the recording", figures.kernel_name)).measures;
        let alike = |name: &str, ours: f64, theirs: f64, within: f64| {
            assert!((ours / theirs - 1.0).abs() < within, "{name} of {}: {ours} and {theirs}", figures.kernel_name);
        };
        alike("sent_bytes", figures.sent_bytes as f64, found.sent_bytes as f64, 0.2);
        let mean_rtt_us = figures.metrics["mean_rtt"].expect("RTTs were measured");
        alike("mean_rtt", mean_rtt_us, found.rtt_mean_us.expect("RTTs were recorded"), 0.1);
        // Its rates are the mean of the flows', those that were moved for a moment among them.
        alike("acked_bytes", figures.acked_bytes as f64, found.acked_bytes as f64, 0.2);
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        if let Err(error) = self.loader.unload_all() {
            eprintln!("clean-up: {error}");
        }
        if let Err(error) = ccactl_testbed::host::cgroup::remove(&self.cgroup) {
            eprintln!("clean-up: {}: {error}", self.cgroup.display());
        }
    }
}
