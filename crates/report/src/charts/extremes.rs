//! Smallest and largest value of each bucket, in the order in which they occurred.

use super::{Buckets, Series, US_PER_S, round};

/// A silence of this many buckets, and of this many times the flow's mean distance between samples, is a gap.
const GAP_BUCKETS: u64 = 40;
const GAP_DISTANCES: u64 = 8;

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
pub fn series(buckets: Buckets<Extremes>, width_us: u64, unit: f64) -> Series {
    let buckets = buckets.finish();
    let mut series = Series::default();
    let mut previous: Option<u64> = None;
    let span = buckets.keys().next_back().zip(buckets.keys().next()).map_or(0, |(last, first)| last - first);
    let mean_distance = span / (buckets.len() as u64).saturating_sub(1).max(1);
    let gap = GAP_BUCKETS.max(GAP_DISTANCES * mean_distance);
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
        series(buckets, 1000, 1.0)
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
    fn samples_that_are_all_far_apart_are_one_line() {
        assert_eq!(series_of((0..20).map(|i| (i * 100_000, 5))).v, vec![Some(5.0); 20]);
    }
}
