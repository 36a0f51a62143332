//! How often each value occurs, exactly.

use std::collections::BTreeMap;

/// Values per page; pages are made when a value of theirs occurs.
const PAGE: u64 = 256;
/// Values below this (4.2 s in µs) are counted in pages, which is one addition per value. The list of pages is then at most
/// 128 KiB long. Larger values are rare and go into a tree.
const PAGED: u64 = 1 << 22;
/// Up to so many distinct values there are no pages: a connection of a second has a few, and there are very many of them.
const FEW: usize = 32;

/// Values with how often each occurs. Memory grows with the number of distinct values, not with the number of values.
#[derive(Debug, Clone, Default)]
pub struct Histogram {
    /// None while there are few values.
    pages: Vec<Option<Box<[u64; PAGE as usize]>>>,
    /// Large values, and few.
    tree: BTreeMap<u64, u64>,
    total: u64,
    sum: u128,
}

impl Histogram {
    /// Counts `value` another `times` times.
    pub fn add(&mut self, value: u64, times: u64) {
        if times == 0 {
            return;
        }
        self.total += times;
        self.sum += u128::from(value) * u128::from(times);
        let are_few = || self.tree.len() < FEW || self.tree.contains_key(&value);
        if value >= PAGED || (self.pages.is_empty() && are_few()) {
            *self.tree.entry(value).or_default() += times;
            return;
        }
        if self.pages.is_empty() {
            let large = self.tree.split_off(&PAGED);
            let few = std::mem::replace(&mut self.tree, large);
            few.into_iter().for_each(|(value, times)| self.count(value, times));
        }
        self.count(value, times);
    }

    fn count(&mut self, value: u64, times: u64) {
        let page = (value / PAGE) as usize;
        if self.pages.len() <= page {
            self.pages.resize(page + 1, None);
        }
        let counts = self.pages[page].get_or_insert_with(|| Box::new([0; PAGE as usize]));
        counts[(value % PAGE) as usize] += times;
    }

    /// Takes all counts of `other` in.
    pub fn merge(&mut self, other: &Histogram) {
        for (value, times) in other.counts() {
            self.add(value, times);
        }
    }

    /// Every value that occurs, ascending, with how often it does.
    pub fn counts(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let pages = self.pages.iter().zip(0u64..).filter_map(|(page, number)| Some((page.as_deref()?, number * PAGE)));
        let paged = pages.flat_map(|(page, first)| page.iter().zip(first..).map(|(&times, value)| (value, times)));
        let in_tree = self.tree.iter().map(|(&value, &times)| (value, times));
        paged.filter(|&(_, times)| times > 0).chain(in_tree)
    }

    /// Number of values.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Arithmetic mean.
    #[must_use]
    pub fn mean(&self) -> Option<f64> {
        (self.total > 0).then(|| self.sum as f64 / self.total as f64)
    }

    /// Smallest value.
    #[must_use]
    pub fn min(&self) -> Option<u64> {
        self.counts().next().map(|(value, _)| value)
    }

    /// Largest value.
    #[must_use]
    pub fn max(&self) -> Option<u64> {
        self.counts().last().map(|(value, _)| value)
    }

    /// Nearest-rank percentile: the smallest value that at least `percent` % of all values do not exceed.
    #[must_use]
    pub fn percentile(&self, percent: f64) -> Option<u64> {
        self.percentiles(&[percent]).first().copied()
    }

    /// Several percentiles, given in ascending order, in one pass; empty without values.
    #[must_use]
    pub fn percentiles(&self, ascending: &[f64]) -> Vec<u64> {
        let rank = |percent: f64| ((percent / 100.0 * self.total as f64).ceil() as u64).max(1);
        let mut ranks = ascending.iter().map(|&percent| rank(percent)).peekable();
        let mut found = Vec::with_capacity(ascending.len());
        let mut seen = 0;
        for (value, times) in self.counts() {
            seen += times;
            while ranks.next_if(|&rank| seen >= rank).is_some() {
                found.push(value);
            }
        }
        found
    }
}

impl PartialEq for Histogram {
    /// By what was counted: the order in which it came decides where it is kept.
    fn eq(&self, other: &Histogram) -> bool {
        self.counts().eq(other.counts())
    }
}

impl Eq for Histogram {}

impl FromIterator<u64> for Histogram {
    fn from_iter<I: IntoIterator<Item = u64>>(values: I) -> Histogram {
        let mut histogram = Histogram::default();
        values.into_iter().for_each(|value| histogram.add(value, 1));
        histogram
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_nearest_rank() {
        let histogram: Histogram = (1..=100).collect();
        assert_eq!(histogram.percentile(50.0), Some(50));
        assert_eq!(histogram.percentile(95.0), Some(95));
        assert_eq!(histogram.percentile(99.0), Some(99));
        assert_eq!(histogram.percentile(100.0), Some(100));
        assert_eq!(histogram.percentile(0.0), Some(1));
        assert_eq!(histogram.mean(), Some(50.5));
        assert_eq!((histogram.min(), histogram.max()), (Some(1), Some(100)));
        // Of 5 values the median is the third, and 90 % reach to the fifth.
        let five: Histogram = [15, 20, 35, 40, 50].into_iter().collect();
        assert_eq!(five.percentiles(&[5.0, 30.0, 40.0, 50.0, 90.0, 100.0]), [15, 20, 20, 35, 50, 50]);
    }

    #[test]
    fn a_histogram_counts_repeats_and_merges() {
        let mut histogram = Histogram::default();
        histogram.add(10, 3);
        let mut other = Histogram::default();
        other.add(20, 1);
        histogram.merge(&other);
        assert_eq!((histogram.total(), histogram.mean()), (4, Some(12.5)));
        assert_eq!((histogram.percentile(75.0), histogram.percentile(76.0)), (Some(10), Some(20)));
        assert_eq!(Histogram::default().percentile(50.0), None);
        assert_eq!(Histogram::default().mean(), None);
    }

    #[test]
    fn few_values_and_many_are_counted_alike_whatever_their_order() {
        for distinct in [1, FEW as u64 - 1, FEW as u64, FEW as u64 + 1, 3 * FEW as u64] {
            let values: Vec<u64> =
                (0..distinct).flat_map(|n| vec![n * 37 + 5; n as usize % 3 + 1]).chain([PAGED, PAGED + 7]).collect();
            let [upwards, downwards]: [Histogram; 2] =
                [values.iter().copied().collect(), values.iter().rev().copied().collect()];
            assert_eq!(upwards, downwards);
            let mut sorted = values.clone();
            sorted.sort_unstable();
            let counted: Vec<u64> = upwards.counts().flat_map(|(value, times)| vec![value; times as usize]).collect();
            assert_eq!((counted, upwards.total()), (sorted, values.len() as u64));
            let mut merged = upwards.clone();
            merged.merge(&downwards);
            assert!(merged != upwards && merged.percentile(50.0) == upwards.percentile(50.0));
        }
    }

    #[test]
    fn values_of_every_size_keep_their_order() {
        let values = [u64::from(u32::MAX), 0, PAGED, PAGED - 1, PAGE, PAGE - 1, 7];
        let histogram: Histogram = values.into_iter().collect();
        let seen: Vec<u64> = histogram.counts().map(|(value, _)| value).collect();
        assert_eq!(seen, [0, 7, PAGE - 1, PAGE, PAGED - 1, PAGED, u64::from(u32::MAX)]);
        assert_eq!((histogram.min(), histogram.max()), (Some(0), Some(u64::from(u32::MAX))));
        assert_eq!(histogram.percentile(100.0), Some(u64::from(u32::MAX)));
    }
}
