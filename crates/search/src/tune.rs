//! Values of tunables with which an algorithm does best: the same search over values, on paths that stay the same.

use crate::case::Case;
use crate::document::Contestant;
use crate::error::{Error, Result};
use crate::evolve::Space;
use crate::judge::{Judge, median};
use crate::objective::Objective;
use ccactl_abi::{Algorithm, Tunable};
use ccactl_testbed::bench::Interrupt;
use rand::Rng;
use rand::rngs::StdRng;
use serde::Serialize;
use std::ops::RangeInclusive;

/// How much a worsening costs of an objective that is to be kept, in place of a gain of the other.
const KEPT_WEIGHT: f64 = 10.0;
/// Where no range is given, values from the default divided by this to the default times it.
const SPREAD: i64 = 2;
/// A value is moved by so much of its range, at most.
const MOVED_SHARE: f64 = 0.2;
/// How often a value is moved.
const MOVED_OFTEN: f64 = 0.5;
/// Steps to which a range is rounded: finer values than a hundredth of it are chance.
const STEPS: i64 = 100;

/// A tunable and the values that are tried, as stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Knob {
    /// Of the algorithm.
    pub tunable: &'static Tunable,
    /// From the smallest to the largest.
    pub range: RangeInclusive<i64>,
}

impl Knob {
    /// `NAME`, or `NAME=A..B`.
    ///
    /// # Errors
    /// When the algorithm has no such tunable, or it does not take the values.
    pub fn parse(text: &str, algorithm: &'static Algorithm) -> Result<Knob> {
        let fault = |expected: String| Error::Bounds { option: "--tune", expected, found: text.to_owned() };
        let (name, values) = text.split_once('=').map_or((text, None), |(name, values)| (name, Some(values)));
        let tunable = algorithm.tunables.iter().find(|tunable| tunable.name == name);
        let tunable = tunable.ok_or_else(|| {
            let names: Vec<&str> = algorithm.tunables.iter().map(|tunable| tunable.name).collect();
            fault(format!("a tunable of {} ({})", algorithm.name, names.join(", ")))
        })?;
        let range = match values {
            None if tunable.default_raw == 0 => {
                return Err(fault(format!("a range such as {name}=1..5, as its default is 0")));
            }
            None => {
                let (least, most) = (tunable.default_raw / SPREAD, tunable.default_raw * SPREAD);
                least.max(tunable.min_raw)..=most.min(tunable.max_raw)
            }
            Some(values) => {
                let value = |part: &str| {
                    let (least, most) = (tunable.display(tunable.min_raw), tunable.display(tunable.max_raw));
                    tunable.parse(part).map_err(|_| fault(format!("values from {least} to {most}")))
                };
                let (least, most) = values.split_once("..").unwrap_or((values, values));
                value(least)?..=value(most)?
            }
        };
        if range.is_empty() {
            return Err(fault("the smaller value first".to_owned()));
        }
        Ok(Knob { tunable, range })
    }

    fn step(&self) -> i64 {
        ((self.range.end() - self.range.start()) / STEPS).max(1)
    }

    fn fit(&self, raw: i64) -> i64 {
        let steps = (raw - self.range.start() + self.step() / 2).div_euclid(self.step());
        (self.range.start() + steps * self.step()).clamp(*self.range.start(), *self.range.end())
    }
}

/// The tunables that are varied; a point has a value of each, as stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Knobs(pub Vec<Knob>);

impl Knobs {
    /// The values as the algorithm has them by default.
    #[must_use]
    pub fn defaults(&self) -> Vec<i64> {
        self.0.iter().map(|knob| knob.tunable.default_raw).collect()
    }

    /// As users write them.
    #[must_use]
    pub fn shown(&self, values: &[i64]) -> Vec<(String, String)> {
        let shown = |(knob, raw): (&Knob, &i64)| (knob.tunable.name.to_owned(), knob.tunable.display(*raw));
        self.0.iter().zip(values).map(shown).collect()
    }
}

impl Space for Knobs {
    type Point = Vec<i64>;

    fn draw(&self, rng: &mut StdRng) -> Vec<i64> {
        self.0.iter().map(|knob| knob.fit(rng.random_range(knob.range.clone()))).collect()
    }

    fn vary(&self, point: &Vec<i64>, rng: &mut StdRng) -> Vec<i64> {
        let moved = |(knob, raw): (&Knob, &i64)| {
            if !rng.random_bool(MOVED_OFTEN) {
                return *raw;
            }
            let width = (knob.range.end() - knob.range.start()) as f64 * MOVED_SHARE;
            knob.fit(raw + (rng.random_range(-1.0..=1.0) * width).round() as i64)
        };
        self.0.iter().zip(point).map(moved).collect()
    }

    fn cross(&self, one: &Vec<i64>, other: &Vec<i64>, rng: &mut StdRng) -> Vec<i64> {
        one.iter().zip(other).map(|(one, other)| if rng.random_bool(0.5) { *one } else { *other }).collect()
    }

    /// With one more value at its default.
    fn simpler(&self, point: &Vec<i64>) -> Vec<Vec<i64>> {
        let defaults = self.defaults();
        let others = (0..point.len()).filter(|at| point[*at] != defaults[*at]);
        others
            .map(|at| {
                let mut simpler = point.clone();
                simpler[at] = defaults[at];
                simpler
            })
            .collect()
    }
}

/// What is tuned, and on which paths.
pub struct Tuning<'a> {
    /// The tunables.
    pub knobs: Knobs,
    /// What is to be better.
    pub judge: Judge,
    /// What is not to be worse than with the defaults.
    pub kept: Vec<Judge>,
    /// Paths on which values are compared.
    pub training: Vec<Case>,
    /// Paths that no value has seen.
    pub held_out: Vec<Case>,
    /// Ends it.
    pub interrupt: Interrupt<'a>,
}

/// An objective with the defaults and with the values that were found: means over paths, and the worst of them.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Comparison {
    /// What.
    pub objective: Objective,
    /// Whether the paths were held out.
    pub held_out: bool,
    /// Mean with the defaults.
    pub before: f64,
    /// The same of the worst path.
    pub worst_before: f64,
    /// Mean with what was found.
    pub after: f64,
    /// The same of the worst path.
    pub worst_after: f64,
}

impl Tuning<'_> {
    /// How good values are on the training paths, the larger the better, as a search wants it; `kept` are the means of the defaults.
    ///
    /// # Errors
    /// When a run cannot be simulated.
    pub fn goodness(&self, values: &[i64], kept: &[f64]) -> Result<f64> {
        let mut cost = mean(&self.of(&self.judge, values, &self.training)?);
        for (judge, before) in self.kept.iter().zip(kept) {
            let excess = mean(&self.of(judge, values, &self.training)?) - before;
            cost += KEPT_WEIGHT * excess.max(0.0);
        }
        Ok(-cost)
    }

    /// What the defaults have of the objectives that are kept, on the training paths.
    ///
    /// # Errors
    /// When a run cannot be simulated.
    pub fn kept_before(&self) -> Result<Vec<f64>> {
        let defaults = self.knobs.defaults();
        self.kept.iter().map(|judge| Ok(mean(&self.of(judge, &defaults, &self.training)?))).collect()
    }

    /// The values beside the defaults, on both sets of paths.
    ///
    /// # Errors
    /// When a run cannot be simulated.
    pub fn compare(&self, values: &[i64]) -> Result<Vec<Comparison>> {
        let defaults = self.knobs.defaults();
        let mut rows = Vec::new();
        for (held_out, cases) in [(false, &self.training), (true, &self.held_out)] {
            for judge in std::iter::once(&self.judge).chain(&self.kept) {
                let (before, after) = (self.of(judge, &defaults, cases)?, self.of(judge, values, cases)?);
                rows.push(Comparison {
                    objective: judge.objective,
                    held_out,
                    before: mean(&before),
                    worst_before: most(&before),
                    after: mean(&after),
                    worst_after: most(&after),
                });
            }
        }
        Ok(rows)
    }

    /// How bad values are on each path, in the run in the middle.
    ///
    /// # Errors
    /// When a run cannot be simulated.
    pub fn of(&self, judge: &Judge, values: &[i64], cases: &[Case]) -> Result<Vec<f64>> {
        let contestant = self.contestant(&judge.subject, values);
        cases.iter().map(|case| Ok(median(judge.of(&contestant, case, self.interrupt)?))).collect()
    }

    /// What is set by hand stays, as far as it is not tuned.
    fn contestant(&self, subject: &Contestant, values: &[i64]) -> Contestant {
        let tuned = self.knobs.shown(values);
        let is_by_hand = |(name, _): &&(String, String)| tuned.iter().all(|(other, _)| other != name);
        let by_hand: Vec<_> = subject.set.iter().filter(is_by_hand).cloned().collect();
        Contestant { set: by_hand.into_iter().chain(tuned).collect(), ..subject.clone() }
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

fn most(values: &[f64]) -> f64 {
    values.iter().copied().fold(f64::NEG_INFINITY, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bounds::Bounds;
    use crate::document::Setting;
    use rand::SeedableRng;
    use std::sync::atomic::AtomicBool;

    fn algorithm() -> &'static Algorithm {
        Algorithm::by_name("f-bbrv2").unwrap()
    }

    #[test]
    fn a_knob_has_a_range_that_its_tunable_takes() {
        let range = |text: &str| Knob::parse(text, algorithm()).map(|knob| knob.range);
        let alpha = algorithm().tunables.iter().find(|tunable| tunable.name == "alpha").unwrap();
        assert_eq!(range("alpha=1.1..1.5").unwrap(), alpha.parse("1.1").unwrap()..=alpha.parse("1.5").unwrap());
        assert_eq!(range("alpha").unwrap(), alpha.min_raw..=alpha.default_raw * 2);
        for bad in ["beta_", "alpha=0..2", "alpha=2..1", "alpha=x..y", "detect_rounds"] {
            assert!(range(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn values_stay_in_their_ranges_and_simpler_ones_are_nearer_to_the_defaults() {
        let knobs =
            Knobs(["alpha=1.1..1.5", "detect_rounds=0..5"].map(|text| Knob::parse(text, algorithm()).unwrap()).into());
        let mut rng = StdRng::seed_from_u64(2);
        let mut point = knobs.draw(&mut rng);
        for _ in 0..500 {
            point = knobs.vary(&knobs.cross(&point, &knobs.draw(&mut rng), &mut rng), &mut rng);
            assert!(knobs.0.iter().zip(&point).all(|(knob, raw)| knob.range.contains(raw)), "{point:?}");
        }
        for simpler in knobs.simpler(&point) {
            let apart = |of: &Vec<i64>| of.iter().zip(knobs.defaults()).filter(|(one, other)| *one != other).count();
            assert_eq!(apart(&simpler) + 1, apart(&point));
        }
    }

    #[test]
    fn the_defaults_beside_themselves_are_the_same_and_others_are_not() {
        let interrupt = AtomicBool::new(false);
        let bounds = Bounds { events: 0, ..Bounds::of_run(4_000) };
        let mut rng = StdRng::seed_from_u64(4);
        let judge = Judge {
            setting: Setting { name: "x".to_owned(), duration_ms: 4_000, rival: None },
            subject: Contestant::plain("cubic"),
            compared: None,
            objective: Objective::Use,
            runs: 1,
        };
        let tuning = Tuning {
            knobs: Knobs(vec![Knob::parse("beta=100..1000", Algorithm::by_name("cubic").unwrap()).unwrap()]),
            judge,
            kept: Vec::new(),
            training: vec![bounds.draw(&mut rng)],
            held_out: vec![bounds.draw(&mut rng)],
            interrupt: Interrupt(&interrupt),
        };
        let rows = tuning.compare(&tuning.knobs.defaults()).unwrap();
        assert_eq!(rows.iter().map(|row| row.held_out).collect::<Vec<_>>(), [false, true]);
        assert!(rows.iter().all(|row| row.before == row.after));
        let timid = tuning.compare(&[tuning.knobs.0[0].tunable.parse("100").unwrap()]).unwrap();
        assert!(timid.iter().any(|row| row.before != row.after), "{timid:?}");
    }
}
