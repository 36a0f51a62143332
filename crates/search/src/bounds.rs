//! Within which a search looks.

use crate::case::{Case, Event, Gene, Kind};
use crate::error::{Error, Result};
use crate::evolve::Space;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};
use std::ops::RangeInclusive;

/// How often a gene that may be plain is.
const PLAIN_SHARE: f64 = 0.5;
/// How often a gene is drawn anew rather than moved.
const DRAWN_SHARE: f64 = 0.3;
/// By how much a value is moved, at most: times or divided by one and a half.
const MOVED_BY: f64 = 0.4;
/// Changes of one offspring, at most.
const CHANGES: u32 = 3;
/// From the smallest to the largest value of a gene that may be plain.
const SPREAD: u32 = 100;

/// Values of a gene.
pub type Domain = RangeInclusive<u32>;

/// Values of a kind of event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventDomain {
    /// What it is.
    pub kind: Kind,
    /// How much of it.
    pub percent: Domain,
}

/// Within which a search looks.
#[derive(Debug, Clone, PartialEq)]
pub struct Bounds {
    /// By [`Gene`].
    pub domains: [Domain; Gene::ALL.len()],
    /// Which events there may be.
    pub kinds: Vec<EventDomain>,
    /// How many of them, at most.
    pub events: usize,
    /// How long one lasts.
    pub for_ms: Domain,
    /// When the last one is over, at the latest: what follows shows whether the algorithm recovers.
    pub quiet_from_ms: u32,
}

impl Bounds {
    /// Those of a run of so many ms, where nothing else is asked for: paths as the Internet has them.
    #[must_use]
    pub fn of_run(duration_ms: u32) -> Bounds {
        Bounds {
            domains: [5_000..=20_000, 10..=100, 50..=400, 0..=2_000, 0..=10, 0..=20, 0..=5_000, 1..=1],
            kinds: vec![
                EventDomain { kind: Kind::Rate, percent: 20..=100 },
                EventDomain { kind: Kind::Rtt, percent: 50..=300 },
                EventDomain { kind: Kind::Burst, percent: 10..=150 },
            ],
            events: 4,
            for_ms: 50..=3_000,
            quiet_from_ms: duration_ms / 2,
        }
    }

    /// Values of a gene.
    #[must_use]
    pub fn domain(&self, gene: Gene) -> &Domain {
        &self.domains[gene as usize]
    }

    /// The same with other values of a gene; `option` is named where they are none.
    ///
    /// # Errors
    /// When the range has no value.
    pub fn with(mut self, gene: Gene, domain: Domain, option: &'static str) -> Result<Bounds> {
        if domain.is_empty() {
            return Err(Error::Bounds {
                option,
                expected: "the smaller value first".to_owned(),
                found: format!("{}..{}", domain.start(), domain.end()),
            });
        }
        self.domains[gene as usize] = domain;
        Ok(self)
    }

    /// So many paths, by a seed.
    #[must_use]
    pub fn paths(&self, count: usize, seed: u64) -> Vec<Case> {
        let mut rng = StdRng::seed_from_u64(seed);
        (0..count).map(|_| self.draw(&mut rng)).collect()
    }

    fn any_value(&self, gene: Gene, rng: &mut StdRng) -> u32 {
        let domain = self.domain(gene);
        match gene.plain().filter(|plain| domain.contains(plain)) {
            Some(plain) if rng.random_bool(PLAIN_SHARE) => plain,
            Some(_) => log_uniform(&((domain.end() / SPREAD).max(*domain.start())..=*domain.end()), rng),
            None => log_uniform(domain, rng),
        }
    }

    fn any_event(&self, rng: &mut StdRng) -> Option<Event> {
        let domain = self.kinds.choose(rng)?;
        let event = Event {
            at_ms: rng.random_range(0..=self.quiet_from_ms),
            for_ms: log_uniform(&self.for_ms, rng),
            kind: domain.kind,
            percent: rng.random_range(domain.percent.clone()),
        };
        Some(self.within(event))
    }

    fn within(&self, event: Event) -> Event {
        let least_ms = (*self.for_ms.start()).min(self.quiet_from_ms);
        let at_ms = event.at_ms.min(self.quiet_from_ms - least_ms);
        let for_ms = event.for_ms.clamp(least_ms, *self.for_ms.end()).min(self.quiet_from_ms - at_ms);
        let percent = self.kinds.iter().find(|domain| domain.kind == event.kind);
        let percent = percent.map_or(event.percent, |domain| clamped(event.percent, &domain.percent));
        Event { at_ms, for_ms, percent, ..event }
    }

    fn moved_event(&self, event: Event, rng: &mut StdRng) -> Event {
        let moved = match rng.random_range(0..3) {
            0 => Event { at_ms: moved(event.at_ms, rng), ..event },
            1 => Event { for_ms: moved(event.for_ms, rng), ..event },
            _ => Event { percent: moved(event.percent, rng), ..event },
        };
        self.within(moved)
    }

    fn changed(&self, case: &Case, rng: &mut StdRng) -> Case {
        let free: Vec<Gene> =
            Gene::ALL.into_iter().filter(|gene| self.domain(*gene).start() != self.domain(*gene).end()).collect();
        let is_about_a_gene = self.events == 0 || rng.random_bool(0.5);
        if let Some(gene) = free.choose(rng).filter(|_| is_about_a_gene) {
            let value = if rng.random_bool(DRAWN_SHARE) {
                self.any_value(*gene, rng)
            } else {
                clamped(moved(case.value(*gene), rng), self.domain(*gene))
            };
            return case.with(*gene, value);
        }
        let mut events = case.events().to_vec();
        let room = events.len() < self.events;
        match rng.random_range(0..4) {
            0 if room => events.extend(self.any_event(rng)),
            1 if !events.is_empty() => {
                events.swap_remove(rng.random_range(0..events.len()));
            }
            _ if events.is_empty() => events.extend(self.any_event(rng).filter(|_| room)),
            _ => {
                let at = rng.random_range(0..events.len());
                events[at] = self.moved_event(events[at], rng);
            }
        }
        case.with_events(events)
    }
}

impl Space for Bounds {
    type Point = Case;

    fn draw(&self, rng: &mut StdRng) -> Case {
        let values = Gene::ALL.map(|gene| self.any_value(gene, rng));
        let count = rng.random_range(0..=self.events);
        Case::new(values, (0..count).filter_map(|_| self.any_event(rng)).collect())
    }

    fn vary(&self, case: &Case, rng: &mut StdRng) -> Case {
        let changes = rng.random_range(1..=CHANGES);
        (0..changes).fold(case.clone(), |case, _| self.changed(&case, rng))
    }

    fn cross(&self, one: &Case, other: &Case, rng: &mut StdRng) -> Case {
        let values = Gene::ALL.map(|gene| if rng.random_bool(0.5) { one.value(gene) } else { other.value(gene) });
        let mut events: Vec<Event> = one.events().iter().chain(other.events()).copied().collect();
        events.retain(|_| rng.random_bool(0.5));
        events.truncate(self.events);
        Case::new(values, events)
    }

    /// First without an event, then with plain genes, then with round numbers.
    fn simpler(&self, case: &Case) -> Vec<Case> {
        let events = case.events();
        let without = (0..events.len()).map(|at| {
            let mut events = events.to_vec();
            events.remove(at);
            case.with_events(events)
        });
        let plain = Gene::ALL.into_iter().filter_map(|gene| {
            let plain = gene.plain().filter(|plain| self.domain(gene).contains(plain) && case.value(gene) != *plain)?;
            Some(case.with(gene, plain))
        });
        let round = Gene::ALL.into_iter().flat_map(|gene| {
            let fits = rounder(case.value(gene)).into_iter().filter(move |value| self.domain(gene).contains(value));
            fits.map(move |value| case.with(gene, value))
        });
        let round_events = (0..events.len()).flat_map(|at| {
            let event = events[at];
            let times = rounder(event.at_ms).into_iter().map(move |at_ms| Event { at_ms, ..event });
            let lengths = rounder(event.for_ms).into_iter().map(move |for_ms| Event { for_ms, ..event });
            let percents = rounder(event.percent).into_iter().map(move |percent| Event { percent, ..event });
            let fits = times.chain(lengths).chain(percents).filter(|event| self.within(*event) == *event);
            fits.map(move |event| {
                let mut events = events.to_vec();
                events[at] = event;
                case.with_events(events)
            })
        });
        without.chain(plain).chain(round).chain(round_events).collect()
    }
}

fn clamped(value: u32, domain: &Domain) -> u32 {
    value.clamp(*domain.start(), *domain.end())
}

fn moved(value: u32, rng: &mut StdRng) -> u32 {
    let factor = rng.random_range(-MOVED_BY..=MOVED_BY).exp();
    let moved = (f64::from(value) * factor).round() as u32;
    // What is small moves too.
    if moved == value { value.saturating_add_signed(rng.random_range(-1..=1)) } else { moved }
}

/// Each factor as likely as the next.
fn log_uniform(domain: &Domain, rng: &mut StdRng) -> u32 {
    let (least, most) = (f64::from(*domain.start()), f64::from(*domain.end()));
    let value = ((least + 1.0).ln() + rng.random::<f64>() * ((most + 1.0) / (least + 1.0)).ln()).exp() - 1.0;
    clamped(value.round() as u32, domain)
}

/// The value with one and with two digits that are not zero, where it has more.
fn rounder(value: u32) -> Vec<u32> {
    let mut unit = 1;
    while value / unit >= 10 {
        unit *= 10;
    }
    let to = |unit: u32| (value + unit / 2) / unit * unit;
    let mut rounder: Vec<u32> = [unit, unit / 10].into_iter().filter(|unit| *unit > 0).map(to).collect();
    rounder.retain(|round| *round != value);
    rounder
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_numbers_have_fewer_digits() {
        assert_eq!(rounder(12_345), [10_000, 12_000]);
        assert_eq!(rounder(12_000), [10_000]);
        assert_eq!(rounder(96), [100]);
        assert_eq!(rounder(7), Vec::<u32>::new());
        assert_eq!(rounder(0), Vec::<u32>::new());
    }

    fn fits(bounds: &Bounds, case: &Case) {
        for gene in Gene::ALL {
            let value = case.value(gene);
            assert!(bounds.domain(gene).contains(&value), "{gene:?} {value}");
        }
        assert!(case.events().len() <= bounds.events);
        for event in case.events() {
            assert!(event.end_ms() <= bounds.quiet_from_ms && event.for_ms > 0, "{event:?}");
        }
    }

    #[test]
    fn what_is_drawn_varied_crossed_and_shrunk_stays_within_the_bounds() {
        let bounds = Bounds::of_run(20_000);
        let mut rng = StdRng::seed_from_u64(1);
        let mut cases: Vec<Case> = (0..50).map(|_| bounds.draw(&mut rng)).collect();
        for round in 0..2000 {
            let one = cases[round % cases.len()].clone();
            let other = cases[(round * 7 + 3) % cases.len()].clone();
            let varied = bounds.vary(&bounds.cross(&one, &other, &mut rng), &mut rng);
            fits(&bounds, &varied);
            let at = round % cases.len();
            cases[at] = varied;
        }
        for case in cases {
            for simpler in bounds.simpler(&case) {
                fits(&bounds, &simpler);
                assert_ne!(simpler, case);
            }
        }
    }

    #[test]
    fn shrinking_with_a_judge_that_takes_everything_ends_with_a_plain_path() {
        let bounds = Bounds::of_run(20_000);
        let mut case = bounds.draw(&mut StdRng::seed_from_u64(7));
        while let Some(simpler) = bounds.simpler(&case).into_iter().next() {
            case = simpler;
        }
        assert!(case.events().is_empty());
        assert_eq!([Gene::Loss, Gene::Jitter, Gene::AckBatch, Gene::RivalStart].map(|gene| case.value(gene)), [0; 4]);
    }
}
