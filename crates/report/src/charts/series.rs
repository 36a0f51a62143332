//! Values by buckets of time, and the line through the smallest and the largest value of each, in the order in which they occurred.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{US_PER_S, round};

/// A silence of this many buckets, and of this many times the flow's median distance between samples, is a gap. The mean of a flow
/// that sends in bursts is that of its silences.
const GAP_BUCKETS: u64 = 40;
const GAP_DISTANCES: u64 = 8;

/// Points of a line; a value of `None` is a gap.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Series {
    /// Seconds since the start of the recording.
    pub t: Vec<f64>,
    /// Values.
    pub v: Vec<Option<f64>>,
}

/// One value per bucket in which something was seen; bucket `k` is `[k·width, (k+1)·width)` since the start of the
/// recording. Rows of a flow come nearly in order, so the bucket at hand is kept apart: finding it in a tree would take
/// longer than all else that is done with a row.
pub struct Buckets<T> {
    width_us: u64,
    at_hand: Option<(u64, T)>,
    others: BTreeMap<u64, T>,
}

impl<T: Default> Buckets<T> {
    /// None yet, of `width_us` > 0.
    pub fn new(width_us: u64) -> Buckets<T> {
        Buckets { width_us, at_hand: None, others: BTreeMap::new() }
    }

    /// The value of the bucket that holds this time, a new one when there is none.
    pub fn at(&mut self, t_us: u64) -> &mut T {
        let bucket = t_us / self.width_us;
        if self.at_hand.as_ref().is_none_or(|(at_hand, _)| *at_hand != bucket) {
            self.others.extend(self.at_hand.take());
        }
        let others = &mut self.others;
        &mut self.at_hand.get_or_insert_with(|| (bucket, others.remove(&bucket).unwrap_or_default())).1
    }

    /// All of them, by the number of the bucket.
    pub fn finish(mut self) -> BTreeMap<u64, T> {
        self.others.extend(self.at_hand);
        self.others
    }
}

/// Smallest and largest value of a bucket, each with its time: the first of the smallest, the last of the largest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extremes {
    least: (i64, u64),
    most: (i64, u64),
}

impl Default for Extremes {
    fn default() -> Extremes {
        Extremes { least: (i64::MAX, u64::MAX), most: (i64::MIN, 0) }
    }
}

impl Extremes {
    /// Takes a value in.
    pub fn add(&mut self, t_us: u64, value: i64) {
        self.least = self.least.min((value, t_us));
        self.most = self.most.max((value, t_us));
    }

    fn in_order(&self) -> [i64; 2] {
        let mut both = [self.least, self.most].map(|(value, t_us)| (t_us, value));
        both.sort_unstable();
        both.map(|(_, value)| value)
    }
}

/// The line through the extremes; `unit` of the values make one of the chart's.
pub fn line(buckets: Buckets<Extremes>, width_us: u64, unit: f64) -> Series {
    let buckets = buckets.finish();
    let mut series = Series::default();
    let mut previous: Option<u64> = None;
    let mut distances: Vec<u64> = buckets.keys().zip(buckets.keys().skip(1)).map(|(one, next)| next - one).collect();
    distances.sort_unstable();
    let median = distances.get(distances.len() / 2).copied().unwrap_or_default();
    let gap = GAP_BUCKETS.max(GAP_DISTANCES * median);
    for (bucket, extremes) in buckets {
        // Points sit at two fixed places of their bucket, so that the flows share their x values.
        let at = |quarter: u64| (bucket * width_us + quarter * width_us / 4) as f64 / US_PER_S;
        if previous.is_some_and(|previous| bucket - previous > gap) {
            series.t.push(at(0));
            series.v.push(None);
        }
        previous = Some(bucket);
        let [first, second] = extremes.in_order();
        series.t.push(at(1));
        series.v.push(Some(round(first as f64 / unit)));
        if first != second {
            series.t.push(at(3));
            series.v.push(Some(round(second as f64 / unit)));
        }
    }
    series
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series_of(samples: impl IntoIterator<Item = (u64, i64)>) -> Series {
        let mut buckets = Buckets::<Extremes>::new(1000);
        samples.into_iter().for_each(|(t_us, value)| buckets.at(t_us).add(t_us, value));
        line(buckets, 1000, 1.0)
    }

    #[test]
    fn a_bucket_shows_its_extremes_in_the_order_of_time() {
        let falling = series_of([(0, 6), (10, 9), (20, 7), (30, 5), (40, 6)]);
        assert_eq!((falling.v, falling.t), (vec![Some(9.0), Some(5.0)], vec![0.000_25, 0.000_75]));
        // Rows that changed places in time are put back, and equal values are one point.
        assert_eq!(series_of([(30, 5), (10, 9), (20, 7)]).v, [Some(9.0), Some(5.0)]);
        assert_eq!(series_of([(10, 3), (20, 3)]).v, [Some(3.0)]);
    }

    #[test]
    fn a_long_silence_is_a_gap() {
        let two = |bucket: u64| [(bucket * 1000, 5), (bucket * 1000 + 10, 9)];
        let series = series_of((0..20).chain(100..120).flat_map(two));
        let gaps: Vec<f64> = series.t.iter().zip(&series.v).filter(|(_, v)| v.is_none()).map(|(t, _)| *t).collect();
        assert_eq!(gaps, [0.1]);
        assert_eq!(series.v[..2], [Some(5.0), Some(9.0)]);
    }

    #[test]
    fn a_line_does_not_bridge_the_silence_between_bursts() {
        // Bursts of four samples, 400 buckets apart: the mean distance is above 100.
        let bursts = (0..5).flat_map(|burst| (0..4).map(move |i| ((burst * 400 + i) * 1000, 5)));
        assert_eq!(series_of(bursts).v.iter().filter(|v| v.is_none()).count(), 4);
    }

    #[test]
    fn samples_that_are_all_far_apart_are_one_line() {
        assert_eq!(series_of((0..20).map(|i| (i * 100_000, 5))).v, vec![Some(5.0); 20]);
    }

    #[test]
    fn a_bucket_that_was_left_is_found_again() {
        let mut buckets = Buckets::<Vec<u64>>::new(10);
        for t_us in [1, 9, 10, 35, 5, 12, 39] {
            buckets.at(t_us).push(t_us);
        }
        let found: Vec<_> = buckets.finish().into_iter().collect();
        assert_eq!(found, [(0, vec![1, 9, 5]), (1, vec![10, 12]), (3, vec![35, 39])]);
    }
}
