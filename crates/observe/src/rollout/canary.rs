//! The guarded roll-out from its checks to its decision.

use crate::rollout::decision::{self, Cause, Decision, Figures, Moves, Outcome};
use crate::rollout::error::{Error, Result};
use crate::rollout::evidence::{Evidence, Running};
use crate::rollout::groups::{Group, Groups, Ignored, Membership};
use crate::rollout::metric::Metric;
use crate::rollout::plan::Plan;
pub use crate::rollout::request::CanaryRequest;
use crate::rollout::verdict::{Judge, State, Verdict, early_end};
use crate::rollout::watch::{Watch, sampling_interval};
use ccactl_collector::Clock;
use ccactl_host::units::dimension;
use ccactl_loader::{Canary, Loader, SwapOutcome};
use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Between two evaluations of the guards.
const EVALUATION_INTERVAL: Duration = Duration::from_secs(1);
/// How soon a signal is noticed.
const ATTENTION: Duration = Duration::from_millis(50);
/// Time after the move that does not count, at least: what is in flight then was sent by the algorithm before, and its losses are
/// repaired within a few round trips.
const SETTLE: Duration = Duration::from_secs(1);
/// The same in mean RTTs. A moved connection has forgotten what its neighbours know, as CUBIC its last maximum, and learns it in as
/// many round trips as lie between two losses. With one second at an RTT of 160 to 480 ms, a CUBIC beside the same CUBIC had 0.90 of
/// its goodput, and of 200 such canaries 14 were taken back.
const SETTLE_RTTS: u32 = 20;

/// What a caller shows while a canary is watched.
#[derive(Debug)]
pub enum Event<'a> {
    /// The guards are tried before anything moves.
    Rehearsal {
        /// What all sockets have.
        algorithm: &'a str,
        /// For how long.
        length: Duration,
    },
    /// The share has moved.
    Started {
        /// How.
        moves: &'a Moves,
        /// Kernel name of the canary.
        canary: &'a str,
        /// Kernel name of the baseline.
        baseline: &'a str,
    },
    /// The guards were evaluated.
    Evaluated {
        /// Since the watch began.
        elapsed: Duration,
        /// What they said.
        verdicts: &'a [Verdict],
        /// Active flows of the canary.
        canary_flows: u64,
        /// Active flows of the baseline.
        baseline_flows: u64,
        /// Rows lost so far.
        drops: u64,
    },
    /// The decision is made and is being carried out.
    Decided {
        /// Why.
        cause: &'a Cause,
    },
}

/// Moves the share, watches both groups, and promotes or reverts. A set `interrupted` reverts at once.
///
/// # Errors
/// Before anything has changed: bad input, too few sockets, a folder or a recorder that does not work. Later: a failure
/// of the kernel, after which the canary has been taken back, or [`Error::NotReverted`].
pub fn run(
    loader: &Loader,
    request: &CanaryRequest,
    interrupted: &AtomicBool,
    observe: &mut dyn FnMut(Event<'_>),
) -> Result<Decision> {
    let plan = Plan::check(loader, request)?;
    let evidence = Evidence::prepare(&request.evidence, plan.subject.cgroup_id, plan.choice.kernel_name())?;
    let interval = sampling_interval(plan.sockets, request.watch);
    let watch = Watch::record(loader, &plan.subject, &plan.choice, request.share, interval, &evidence.recording)?;
    if let Some(length) = request.same
        && let Err(error) = rehearse(loader, request, &plan, &watch, length, interrupted, observe)
    {
        let _ = watch.finish();
        evidence.discard_recording();
        return Err(error);
    }
    let started = Clock::now().started_rfc3339();
    let canary = match loader.start_canary(&request.swap, request.share.fraction(), request.lease) {
        Ok(canary) => canary,
        Err(error) => {
            // The recorder makes its file at the end; only then can it be removed.
            let _ = watch.finish();
            evidence.discard_recording();
            return Err(error.into());
        }
    };

    let start = Moves::from(canary.outcome());
    observe(Event::Started { moves: &start, canary: canary.canary_name(), baseline: canary.baseline_name() });
    let trial = Trial {
        loader,
        request,
        plan: &plan,
        watch: &watch,
        canary: &canary,
        evidence: &evidence,
        moved: Instant::now(),
    };
    let End { cause, seen, begins } = match trial.follow(interrupted, observe) {
        Ok(end) => end,
        Err(error) => {
            // Which takes it back.
            drop(canary);
            let _ = watch.finish();
            return Err(error);
        }
    };
    let (settle, watched) = (begins - trial.moved, begins.elapsed());
    watch.decided();
    observe(Event::Decided { cause: &cause });

    let carried_out = carry_out(canary, cause);
    let (recording, problem) = watch.finish();
    let (outcome, cause, end) = carried_out?;
    let mut decision = Decision {
        outcome,
        cause: with_reason(cause, problem.as_deref()),
        algorithm: plan.choice.algorithm_name(),
        cgroup: loader.mount().display(&plan.subject.cgroup),
        cgroup_id: plan.subject.cgroup_id,
        share: request.share,
        started,
        settle_s: settle.as_secs_f64(),
        watch_s: request.watch.as_secs_f64(),
        watched_s: watched.as_secs_f64(),
        min_flows: request.min_flows,
        guards: seen.verdicts,
        canary: seen.canary,
        baseline: seen.baseline,
        ignored: seen.ignored,
        start,
        end: end.as_ref().map(Moves::from),
        recording,
        stored: evidence.decision.clone(),
        problems: problem.into_iter().collect(),
    };
    if let Err(error) = evidence.write(&decision) {
        decision.problems.push(error.to_string());
    }
    Ok(decision)
}

/// Lets the guards look at both groups while all of them have the same algorithm. One that holds would hold whatever the canary is.
fn rehearse(
    loader: &Loader,
    request: &CanaryRequest,
    plan: &Plan,
    watch: &Watch,
    length: Duration,
    interrupted: &AtomicBool,
    observe: &mut dyn FnMut(Event<'_>),
) -> Result<()> {
    let same = &plan.subject.baseline;
    let membership = Membership {
        canary: same.clone(),
        baseline: same.clone(),
        share: request.share,
        cgroups: plan.subject.cgroups(loader)?,
        fixed: HashSet::new(),
    };
    observe(Event::Rehearsal { algorithm: same, length });
    watch.begin(membership, Duration::ZERO);
    let mut judge = Judge::new(request.guards.clone(), request.min_flows);
    let begun = Instant::now();
    let mut next = begun + EVALUATION_INTERVAL;
    while begun.elapsed() < length {
        if interrupted.load(Ordering::Relaxed) {
            return Err(Error::Interrupted);
        }
        sleep(ATTENTION);
        if Instant::now() < next {
            continue;
        }
        next += EVALUATION_INTERVAL;
        let verdicts = watch.with_groups(|groups| judge.evaluate(groups));
        let is_last = begun.elapsed() + EVALUATION_INTERVAL > length;
        let at_the_end = |state: State| verdicts.iter().find(|verdict| is_last && verdict.state == state);
        if let Some(held) = early_end(&verdicts).or_else(|| at_the_end(State::Holds)) {
            let text = |value: Option<f64>| dimension::written(held.metric.dimension(), value.unwrap_or_default());
            return Err(Error::HoldsAnyway {
                guard: held.guard.to_string(),
                algorithm: same.clone(),
                canary: text(held.canary),
                baseline: text(held.baseline),
            });
        }
        if let Some(silent) = at_the_end(State::TooLittleData) {
            let missing = silent.note.clone().unwrap_or_default();
            return Err(Error::NotTried { guard: silent.guard.to_string(), missing });
        }
    }
    Ok(())
}

/// A canary that is in force and watched.
struct Trial<'a> {
    loader: &'a Loader,
    request: &'a CanaryRequest,
    plan: &'a Plan,
    watch: &'a Watch,
    canary: &'a Canary<'a>,
    evidence: &'a Evidence,
    moved: Instant,
}

/// How a watch has ended.
struct End {
    cause: Cause,
    seen: Seen,
    /// When rows began to count.
    begins: Instant,
}

impl Trial<'_> {
    /// Evaluates the guards until something ends the watch; says what, and what was seen last.
    fn follow(&self, interrupted: &AtomicBool, observe: &mut dyn FnMut(Event<'_>)) -> Result<End> {
        self.begin(self.moved)?;
        while self.moved.elapsed() < SETTLE && !interrupted.load(Ordering::Relaxed) {
            sleep(ATTENTION);
        }
        let begins = self.moved + self.settle();
        self.begin(begins)?;
        let mut judge = Judge::new(self.request.guards.clone(), self.request.min_flows);
        let end = begins + self.request.watch;
        let mut next = begins + EVALUATION_INTERVAL;
        let mut seen = self.watch.with_groups(|groups| self.look(&mut judge, groups));
        let ended = |cause, seen| Ok(End { cause, seen, begins });
        loop {
            while Instant::now() < next.min(end) {
                if interrupted.load(Ordering::Relaxed) {
                    return ended(Cause::Interrupted, seen);
                }
                sleep(ATTENTION);
            }
            if self.watch.has_ended() {
                return ended(Cause::RecorderEnded { error: String::new() }, seen);
            }
            if !self.canary.is_current()? {
                return ended(Cause::Superseded, seen);
            }
            seen = self.evaluate(begins, &mut judge, observe)?;
            if let Some(held) = early_end(&seen.verdicts) {
                let guard = held.guard.to_string();
                return ended(Cause::GuardHeld { guard, evaluations: held.held, early: true }, seen);
            }
            if Instant::now() >= end {
                return ended(decision::at_the_end(&seen.verdicts), seen);
            }
            next += EVALUATION_INTERVAL;
        }
    }

    /// By the RTTs since the move, and no longer than the watch itself.
    fn settle(&self) -> Duration {
        let rtt_us = |groups: &Groups, group| groups.tally(group).rtt.mean_us().unwrap_or_default();
        let longest =
            self.watch.with_groups(|groups| rtt_us(groups, Group::Canary).max(rtt_us(groups, Group::Baseline)));
        (Duration::from_secs_f64(longest / 1e6) * SETTLE_RTTS).clamp(SETTLE, self.request.watch.max(SETTLE))
    }

    /// Rows count from `begins` on.
    fn begin(&self, begins: Instant) -> Result<()> {
        let membership = Membership {
            canary: self.canary.canary_name().to_owned(),
            baseline: self.canary.baseline_name().to_owned(),
            share: self.request.share,
            cgroups: self.plan.subject.cgroups(self.loader)?,
            fixed: self.canary.outcome().left.iter().map(|socket| socket.flow_id).collect(),
        };
        self.watch.begin(membership, begins.saturating_duration_since(Instant::now()));
        Ok(())
    }

    fn evaluate(&self, begins: Instant, judge: &mut Judge, observe: &mut dyn FnMut(Event<'_>)) -> Result<Seen> {
        let cgroups = self.plan.subject.cgroups(self.loader)?;
        let seen = self.watch.with_groups(|groups| {
            groups.set_cgroups(cgroups);
            self.look(judge, groups)
        });
        self.evidence.tell(&Running {
            pid: std::process::id(),
            algorithm: &self.plan.choice.algorithm_name(),
            cgroup: &self.loader.mount().display(&self.plan.subject.cgroup),
            share: self.request.share.fraction(),
            elapsed_s: begins.elapsed().as_secs_f64(),
            watch_s: self.request.watch.as_secs_f64(),
            guards: &seen.verdicts,
            canary: &seen.canary,
            baseline: &seen.baseline,
            units: Metric::ALL.into_iter().map(|metric| (metric.name(), metric.dimension().unit())).collect(),
        });
        observe(Event::Evaluated {
            elapsed: begins.elapsed(),
            verdicts: &seen.verdicts,
            canary_flows: seen.canary.flows,
            baseline_flows: seen.baseline.flows,
            drops: self.watch.drops().total(),
        });
        Ok(seen)
    }

    /// Verdicts and the figures that they are about, of one moment.
    fn look(&self, judge: &mut Judge, groups: &Groups) -> Seen {
        Seen {
            verdicts: judge.evaluate(groups),
            canary: Figures::of(Group::Canary, self.canary.canary_name(), groups),
            baseline: Figures::of(Group::Baseline, self.canary.baseline_name(), groups),
            ignored: groups.ignored(),
        }
    }
}

/// What one evaluation has seen.
struct Seen {
    verdicts: Vec<Verdict>,
    canary: Figures,
    baseline: Figures,
    ignored: Ignored,
}

/// Promotes, reverts, or leaves alone. Somebody else may still come first.
fn carry_out(canary: Canary<'_>, cause: Cause) -> Result<(Outcome, Cause, Option<SwapOutcome>)> {
    let (outcome, result) = match cause {
        Cause::Superseded => return Ok((Outcome::Superseded, cause, None)),
        Cause::NoGuardHeld => (Outcome::Promoted, canary.promote()),
        _ => (Outcome::Reverted, canary.revert()),
    };
    match result {
        Ok(swap) => Ok((outcome, cause, Some(swap))),
        Err(ccactl_loader::Error::CanaryGone { .. }) => Ok((Outcome::Superseded, Cause::Superseded, None)),
        Err(source) if outcome == Outcome::Reverted => Err(Error::NotReverted { why: cause.to_string(), source }),
        Err(source) => Err(source.into()),
    }
}

/// Why the recorder has ended is known only when it has been waited for.
fn with_reason(cause: Cause, problem: Option<&str>) -> Cause {
    match cause {
        Cause::RecorderEnded { .. } => Cause::RecorderEnded { error: problem.unwrap_or("no reason given").to_owned() },
        other => other,
    }
}

impl From<&SwapOutcome> for Moves {
    fn from(outcome: &SwapOutcome) -> Moves {
        Moves { counts: outcome.counts.clone(), complete: outcome.is_complete() }
    }
}
