//! RTT samples of a group within the window: mean exact, percentiles to 0.4 %, memory bounded whatever the rate.

use super::pace::Pace;
use ccactl_host::quantiles::{Classes, rank};
use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

/// The middle of a class is at most 1/256 off. There are many windows, so a histogram of exact values would take too much.
type Close = Classes<7>;

/// Samples by class.
#[derive(Debug, Clone, Default)]
pub struct Rtts {
    sum_us: u64,
    samples: u64,
    classes: BTreeMap<u16, u32>,
}

impl Rtts {
    /// Adds a sample.
    pub fn add(&mut self, rtt_us: u32) {
        self.sum_us += u64::from(rtt_us);
        self.samples += 1;
        *self.classes.entry(class_of(rtt_us)).or_default() += 1;
    }

    fn merge(&mut self, other: &Rtts) {
        self.sum_us += other.sum_us;
        self.samples += other.samples;
        for (class, count) in &other.classes {
            *self.classes.entry(*class).or_default() += count;
        }
    }

    /// How many samples there are.
    #[must_use]
    pub fn samples(&self) -> u64 {
        self.samples
    }

    /// Their mean.
    #[must_use]
    pub fn mean_us(&self) -> Option<f64> {
        (self.samples > 0).then(|| self.sum_us as f64 / self.samples as f64)
    }

    /// Nearest-rank percentile, `quantile` in 0 … 1.
    #[must_use]
    pub fn quantile_us(&self, quantile: f64) -> Option<f64> {
        let rank = rank(quantile, self.samples);
        let mut below = 0;
        self.classes.iter().find_map(|(class, count)| {
            below += u64::from(*count);
            (below >= rank).then(|| middle_us(*class))
        })
    }
}

fn class_of(rtt_us: u32) -> u16 {
    Close::of(u64::from(rtt_us)) as u16
}

fn middle_us(class: u16) -> f64 {
    let class = usize::from(class);
    (Close::lowest(class) + Close::highest(class)) as f64 / 2.0
}

/// Samples of the latest slots.
#[derive(Debug, Clone, Default)]
pub(crate) struct RttWindow {
    /// Slot and its samples, in order of time.
    slots: VecDeque<(u64, Rtts)>,
}

impl RttWindow {
    /// Adds a sample to its slot. One that comes after its slot was forgotten is late for every window.
    pub(crate) fn add(&mut self, pace: &Pace, time_ns: u64, rtt_us: u32) {
        let slot = pace.slot_of(time_ns);
        let at = self.slots.partition_point(|(n, _)| *n < slot);
        if self.slots.get(at).is_none_or(|(n, _)| *n != slot) {
            self.slots.insert(at, (slot, Rtts::default()));
        }
        self.slots[at].1.add(rtt_us);
        let newest = self.slots.back().map_or(0, |(n, _)| *n);
        while self.slots.front().is_some_and(|(n, _)| n + pace.kept_slots() as u64 <= newest) {
            self.slots.pop_front();
        }
    }

    /// All samples of these slots.
    pub(crate) fn sum(&self, slots: &Range<u64>) -> Rtts {
        let mut sum = Rtts::default();
        self.slots.iter().filter(|(n, _)| slots.contains(n)).for_each(|(_, rtts)| sum.merge(rtts));
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ccactl_collector::Every;
    use std::time::Duration;

    #[test]
    fn percentiles_are_nearest_rank_to_four_thousandths_and_the_mean_is_exact() {
        let mut rtts = Rtts::default();
        assert_eq!((rtts.mean_us(), rtts.quantile_us(0.5)), (None, None));
        (1..=1000).for_each(|i| rtts.add(i * 100));
        assert_eq!((rtts.samples(), rtts.mean_us()), (1000, Some(50_050.0)));
        for (quantile, exact_us) in [(0.0, 100.0), (0.5, 50_000.0), (0.95, 95_000.0), (1.0, 100_000.0)] {
            let found_us = rtts.quantile_us(quantile).unwrap();
            assert!((found_us / exact_us - 1.0).abs() <= 1.0 / 256.0, "{quantile}: {found_us}");
        }
    }

    #[test]
    fn every_rtt_is_within_half_a_class_and_short_ones_are_exact() {
        let mut last = 0;
        for rtt_us in (0..4096).chain((1..20).map(|i| i * 200_000_000)).chain([u32::MAX]) {
            let class = class_of(rtt_us);
            assert!(class >= last, "classes are in order of their RTTs");
            last = class;
            let off = (middle_us(class) - f64::from(rtt_us)).abs();
            assert!(off <= f64::from(rtt_us) / 256.0 && (rtt_us >= 256 || off <= 0.5), "{rtt_us}: off by {off}");
        }
    }

    #[test]
    fn a_window_has_the_samples_of_its_slots_and_older_ones_are_forgotten() {
        let pace = Pace::new(Duration::from_secs(1), Every::Ack);
        let mut window = RttWindow::default();
        for slot in 0..1000_u64 {
            window.add(&pace, slot * 100_000_000, u32::try_from(slot).unwrap());
        }
        assert_eq!(window.slots.len(), pace.kept_slots());
        let sum = window.sum(&(995..997));
        assert_eq!((sum.samples(), sum.mean_us()), (2, Some(995.5)));
    }
}
