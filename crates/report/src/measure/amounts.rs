//! How much of something happened in each interval of fixed width.
//!
//! A step may reach over the edge of an interval; its amount is then split in proportion to time, as if it had happened
//! at a steady rate between the two rows. Whole numbers stay whole: an edge gets what is complete by then, so that no sum depends on
//! the order in which steps were added.

use std::ops::Sub;

/// What can be split in proportion to time.
pub trait Amount: Copy + Default + PartialEq + Sub<Output = Self> {
    /// Both together.
    fn plus(self, other: Self) -> Self;

    /// How much of it has happened after `passed_us` of `span_us` > 0.
    fn after(self, passed_us: u64, span_us: u64) -> Self;
}

impl Amount for f64 {
    fn plus(self, other: f64) -> f64 {
        self + other
    }

    fn after(self, passed_us: u64, span_us: u64) -> f64 {
        self * passed_us as f64 / span_us as f64
    }
}

impl Amount for u64 {
    fn plus(self, other: u64) -> u64 {
        self.saturating_add(other)
    }

    fn after(self, passed_us: u64, span_us: u64) -> u64 {
        // Not more than `self`, as no more has passed than there is.
        (u128::from(self) * u128::from(passed_us.min(span_us)) / u128::from(span_us)) as u64
    }
}

/// Amount per interval; interval `k` is `[k·width, (k+1)·width)` since the start of the recording.
#[derive(Debug, Clone, PartialEq)]
pub struct Amounts<T> {
    /// Number of the interval and amount; ascending but where rows changed places in time.
    parts: Vec<(u64, T)>,
}

impl<T> Default for Amounts<T> {
    fn default() -> Self {
        Amounts { parts: Vec::new() }
    }
}

impl<T: Amount> Amounts<T> {
    /// Those of these intervals.
    pub fn of(parts: Vec<(u64, T)>) -> Amounts<T> {
        Amounts { parts }
    }

    /// Adds what happened from one time to another, in intervals of `width_us` > 0.
    pub fn add(&mut self, (from_us, to_us): (u64, u64), width_us: u64, amount: T) {
        // Mostly nothing is split, and to see that takes no division.
        if let Some((latest, sum)) = self.parts.last_mut() {
            let start_us = *latest * width_us;
            let within = start_us..start_us.saturating_add(width_us);
            if within.contains(&from_us) && within.contains(&to_us) {
                *sum = sum.plus(amount);
                return;
            }
        }
        let (first, last) = (from_us / width_us, to_us / width_us);
        if first >= last {
            self.add_to(last, amount);
            return;
        }
        let mut before = T::default();
        for interval in first..=last {
            let end_us = to_us.min((interval + 1) * width_us);
            let upto = if end_us == to_us { amount } else { amount.after(end_us - from_us, to_us - from_us) };
            if upto != before {
                self.add_to(interval, upto - before);
            }
            before = upto;
        }
    }

    /// Takes in what was added up over later steps.
    pub fn append(&mut self, later: Amounts<T>) {
        for (interval, amount) in later.parts {
            self.add_to(interval, amount);
        }
    }

    fn add_to(&mut self, interval: u64, amount: T) {
        match self.parts.last_mut() {
            Some((latest, sum)) if *latest == interval => *sum = sum.plus(amount),
            _ => self.parts.push((interval, amount)),
        }
    }

    /// Each interval in which something happened, ascending.
    pub fn into_sorted(mut self) -> Vec<(u64, T)> {
        self.parts.sort_by_key(|(interval, _)| *interval);
        self.parts.dedup_by(|later, kept| {
            let same = later.0 == kept.0;
            if same {
                kept.1 = kept.1.plus(later.1);
            }
            same
        });
        self.parts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn amounts(spans: &[((u64, u64), f64)]) -> Vec<(u64, f64)> {
        let mut amounts = Amounts::default();
        spans.iter().for_each(|(span, amount)| amounts.add(*span, 100, *amount));
        amounts.into_sorted()
    }

    #[test]
    fn a_span_is_split_in_proportion_to_time() {
        assert_eq!(amounts(&[((50, 250), 8.0)]), [(0, 2.0), (1, 4.0), (2, 2.0)]);
    }

    #[test]
    fn whole_numbers_stay_whole_and_nothing_of_them_is_lost() {
        let mut whole = Amounts::<u64>::default();
        whole.add((50, 350), 100, 10);
        // After 50, 150 and 250 of 300 µs: 1.67, 5, 8.33.
        assert_eq!(whole.into_sorted(), [(0, 1), (1, 4), (2, 3), (3, 2)]);
        let mut most = Amounts::<u64>::default();
        most.add((0, 200), 100, u64::MAX);
        assert_eq!(most.into_sorted(), [(0, u64::MAX / 2), (1, u64::MAX / 2 + 1)]);
    }

    #[test]
    fn a_span_that_ends_on_an_edge_has_nothing_in_the_next_interval() {
        assert_eq!(amounts(&[((100, 200), 3.0)]), [(1, 3.0)]);
    }

    #[test]
    fn rows_that_changed_places_lose_nothing() {
        assert_eq!(
            amounts(&[((0, 10), 1.0), ((210, 220), 2.0), ((30, 40), 4.0), ((60, 50), 8.0)]),
            [(0, 13.0), (2, 2.0)]
        );
    }
}
