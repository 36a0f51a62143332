//! What the guards say about the figures of both groups, now and over time.

use crate::rollout::chance;
use crate::rollout::groups::{Group, Groups};
use crate::rollout::guard::Guard;
use crate::rollout::metric::Metric;
use serde::Serialize;

/// A canary is taken back early when a guard holds on this many evaluations in a row, one per second.
///
/// The figures are sums since the start of the watch, so they settle. Five seconds outlast what a single burst of losses
/// does to them, and are short beside the time that bad connections have to be endured otherwise.
pub const CONSECUTIVE: u32 = 5;
/// Early, a guard counts only when chance alone would make its difference this rarely: a watch of a minute looks sixty times. Five
/// flows beside five can show it, if all of the ones are worse than all of the others.
pub const EARLY_CHANCE: f64 = 0.004;
/// At the end of the watch, where one look decides.
///
/// Both hold for a roll-out: guards with a baseline share them out among themselves (Bonferroni), since each is one more chance to be
/// wrong. Unshared, two guards took back 5 of 200 canaries that were no different.
pub const FINAL_CHANCE: f64 = 0.01;

/// What one guard says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// The canary is bad by this guard.
    Holds,
    /// The canary is not.
    Clear,
    /// The figures say that it is bad, but chance alone would make such figures too often.
    Unproven,
    /// A group has not seen enough yet.
    TooLittleData,
}

/// One guard with the figures that it compares, in the unit of its metric.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Verdict {
    /// The guard.
    pub guard: Guard,
    /// Its metric.
    pub metric: Metric,
    /// Unit of the values.
    pub unit: &'static str,
    /// Value of the canary.
    pub canary: Option<f64>,
    /// Value of the baseline.
    pub baseline: Option<f64>,
    /// What the canary's value is compared with.
    pub threshold: Option<f64>,
    /// How often chance alone would make as large a difference between the groups; known of a guard with a baseline whose figures
    /// say that the canary is bad.
    pub chance: Option<f64>,
    /// What the guard says.
    pub state: State,
    /// Evaluations in a row on which it has held, up to now.
    pub held: u32,
    /// What is missing, or what to keep in mind.
    pub note: Option<String>,
}

/// Follows the guards over the watch.
#[derive(Debug)]
pub struct Judge {
    guards: Vec<Guard>,
    min_flows: u64,
    held: Vec<u32>,
    /// Those with a baseline.
    compared: f64,
}

impl Judge {
    /// For these guards; a group with fewer flows than `min_flows` says nothing.
    #[must_use]
    pub fn new(guards: Vec<Guard>, min_flows: u64) -> Judge {
        let held = vec![0; guards.len()];
        let compared = guards.iter().filter(|guard| guard.needs_baseline()).count().max(1) as f64;
        Judge { guards, min_flows, held, compared }
    }

    /// What the guards say now; counts as one evaluation.
    pub fn evaluate(&mut self, groups: &Groups) -> Vec<Verdict> {
        let early = EARLY_CHANCE / self.compared;
        let mut verdicts: Vec<Verdict> = self.guards.iter().map(|guard| self.verdict(guard, groups)).collect();
        for (verdict, held) in verdicts.iter_mut().zip(&mut self.held) {
            let is_early = verdict.state == State::Holds && verdict.chance.is_none_or(|chance| chance <= early);
            *held = if is_early { *held + 1 } else { 0 };
            verdict.held = *held;
        }
        verdicts
    }

    fn verdict(&self, guard: &Guard, groups: &Groups) -> Verdict {
        let metric = guard.metric;
        let canary = metric.of(groups.tally(Group::Canary));
        let baseline = metric.of(groups.tally(Group::Baseline));
        let threshold = guard.threshold(baseline);
        let missing = self.missing(guard, groups);
        let is_bad = canary.and_then(|value| guard.holds(value, baseline));
        let chance = (missing.is_none() && is_bad == Some(true)).then(|| chance_of(guard, groups)).flatten();
        let (state, note) = match (missing, is_bad, chance) {
            (Some(missing), ..) => (State::TooLittleData, Some(missing)),
            (None, None, _) => (State::TooLittleData, Some("nothing was measured".to_owned())),
            (None, Some(true), Some(chance)) if chance > FINAL_CHANCE / self.compared => {
                let part =
                    if chance > 0.1 { format!("{:.0}", chance * 100.0) } else { format!("{:.1}", chance * 100.0) };
                (State::Unproven, Some(format!("{part} % of all choices of as many flows differ as much")))
            }
            (None, Some(true), _) => (State::Holds, note_on_zero(guard, threshold)),
            (None, Some(false), _) => (State::Clear, None),
        };
        let unit = metric.dimension().unit();
        Verdict { guard: *guard, metric, unit, canary, baseline, threshold, chance, state, held: 0, note }
    }

    /// What a group lacks for this guard to be believed.
    fn missing(&self, guard: &Guard, groups: &Groups) -> Option<String> {
        let metric = guard.metric;
        let of_a_group =
            [(Group::Canary, "canary"), (Group::Baseline, "baseline")].into_iter().find_map(|(group, name)| {
                let tally = groups.tally(group);
                if tally.flows < self.min_flows {
                    return Some(format!("the {name} had {} active flows, needed are {}", tally.flows, self.min_flows));
                }
                let is_compared = group == Group::Canary || guard.needs_baseline();
                (is_compared && !metric.has_enough(tally)).then(|| {
                    format!("{metric} of the {name}: {} seen, needed are {}", metric.found(tally), metric.needed())
                })
            });
        of_a_group.or_else(|| {
            let choices = chance::choices(groups.units(Group::Canary), groups.units(Group::Baseline));
            let is_short = guard.needs_baseline() && (choices as f64) < self.compared / FINAL_CHANCE;
            is_short.then(|| {
                format!("chance alone makes the largest difference in 1 of {choices} cases: more flows are needed")
            })
        })
    }
}

fn chance_of(guard: &Guard, groups: &Groups) -> Option<f64> {
    let (canary, baseline) = (groups.units(Group::Canary), groups.units(Group::Baseline));
    if guard.needs_baseline() { chance::of(guard.metric, guard.comparison, canary, baseline) } else { None }
}

/// Twice nothing is nothing: then a single lost packet of the canary decides.
fn note_on_zero(guard: &Guard, threshold: Option<f64>) -> Option<String> {
    (guard.needs_baseline() && threshold == Some(0.0))
        .then(|| format!("the baseline's is 0, so any {} is too much: add an allowance, as in '+ 0.1%'", guard.metric))
}

/// The guard that ends the watch early.
#[must_use]
pub fn early_end(verdicts: &[Verdict]) -> Option<&Verdict> {
    verdicts.iter().find(|verdict| verdict.held >= CONSECUTIVE)
}
