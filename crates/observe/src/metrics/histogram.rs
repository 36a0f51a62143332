//! Counts of whole numbers (µs, segments) in fixed buckets.

use ccactl_abi::exit;
use std::time::Duration;

/// Upper bounds of the buckets of one histogram, the last of which, `+Inf`, is implied.
#[derive(Debug, Clone, PartialEq)]
pub struct Bounds {
    /// Ascending, inclusive as `le` says, in the unit that is observed.
    upper: Vec<u64>,
    /// Observed units in one unit of the metric: 10⁶ for µs that are shown as seconds.
    per_unit: f64,
}

/// Why a list of bounds is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BoundsError {
    /// There is no bound in it.
    #[error("expected at least one bound")]
    Empty,
    /// A bound is not larger than the one before it.
    #[error("expected bounds that grow; number {0} does not")]
    Order(usize),
}

impl BoundsError {
    /// Exit code of the binary for this error.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        exit::USAGE
    }
}

impl Bounds {
    /// Bounds in seconds, observed in µs.
    ///
    /// # Errors
    /// [`BoundsError`].
    pub fn of_times(upper: &[Duration]) -> Result<Bounds, BoundsError> {
        let us = upper.iter().map(|bound| u64::try_from(bound.as_micros()).unwrap_or(u64::MAX));
        Bounds::new(us.collect(), 1e6)
    }

    /// Bounds of a count.
    ///
    /// # Errors
    /// [`BoundsError`].
    pub fn of_counts(upper: &[u64]) -> Result<Bounds, BoundsError> {
        Bounds::new(upper.to_vec(), 1.0)
    }

    fn new(upper: Vec<u64>, per_unit: f64) -> Result<Bounds, BoundsError> {
        if upper.is_empty() {
            return Err(BoundsError::Empty);
        }
        match upper.windows(2).position(|pair| pair[1] <= pair[0]) {
            Some(index) => Err(BoundsError::Order(index + 2)),
            None => Ok(Bounds { upper, per_unit }),
        }
    }

    /// Bounds in the unit of the metric.
    pub(crate) fn shown(&self) -> impl Iterator<Item = f64> + '_ {
        self.upper.iter().map(|&bound| bound as f64 / self.per_unit)
    }

    /// A sum of observations in the unit of the metric.
    pub(crate) fn shown_sum(&self, histogram: &Histogram) -> f64 {
        histogram.sum as f64 / self.per_unit
    }
}

/// The histograms of a label set.
#[derive(Debug, Clone, PartialEq)]
pub struct Buckets {
    /// RTT samples.
    pub rtt: Bounds,
    /// Congestion windows in segments.
    pub cwnd: Bounds,
    /// Flow completion times.
    pub completion: Bounds,
}

impl Default for Buckets {
    /// *RTT*: six bounds per decade up to 0.5 s, each at most 1.67 times the one before. So a quantile interpolated
    /// inside a bucket is off by no more than that. They go from 20 µs (two namespaces of one host) to 5 s (a satellite behind
    /// a full buffer). *cwnd*: doublings, because that is what slow start does and, downwards, a reduction; the kernel's own
    /// first window of 10 lies between 8 and 16. *Completion*: three per decade, as it spreads over seven of them.
    fn default() -> Buckets {
        const RTT_US: [u64; 30] = [
            20, 30, 50, 70, 100, 150, 200, 300, 500, 700, 1_000, 1_500, 2_000, 3_000, 5_000, 7_000, 10_000, 15_000,
            20_000, 30_000, 50_000, 70_000, 100_000, 150_000, 200_000, 300_000, 500_000, 1_000_000, 2_000_000,
            5_000_000,
        ];
        const COMPLETION_US: [u64; 22] = [
            100,
            200,
            500,
            1_000,
            2_000,
            5_000,
            10_000,
            20_000,
            50_000,
            100_000,
            200_000,
            500_000,
            1_000_000,
            2_000_000,
            5_000_000,
            10_000_000,
            20_000_000,
            50_000_000,
            100_000_000,
            200_000_000,
            500_000_000,
            1_000_000_000,
        ];
        let doublings: Vec<u64> = (0..15).map(|power| 1 << power).collect();
        let valid = "the default bounds grow";
        Buckets {
            rtt: Bounds::new(RTT_US.to_vec(), 1e6).expect(valid),
            cwnd: Bounds::new(doublings, 1.0).expect(valid),
            completion: Bounds::new(COMPLETION_US.to_vec(), 1e6).expect(valid),
        }
    }
}

/// What was observed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Histogram {
    /// Per bucket, not cumulated; the last one is `+Inf`.
    counts: Vec<u64>,
    sum: u64,
}

impl Histogram {
    pub(crate) fn new(bounds: &Bounds) -> Histogram {
        Histogram { counts: vec![0; bounds.upper.len() + 1], sum: 0 }
    }

    /// `bounds` are those that it was made with.
    pub(crate) fn observe(&mut self, bounds: &Bounds, value: u64) {
        self.counts[bounds.upper.partition_point(|&bound| bound < value)] += 1;
        self.sum = self.sum.saturating_add(value);
    }

    pub(crate) fn add(&mut self, other: &Histogram) {
        for (count, more) in self.counts.iter_mut().zip(&other.counts) {
            *count += more;
        }
        self.sum = self.sum.saturating_add(other.sum);
    }

    pub(crate) fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Observations up to each bound, without `+Inf`.
    pub(crate) fn cumulated(&self) -> impl Iterator<Item = u64> + '_ {
        let finite = &self.counts[..self.counts.len() - 1];
        finite.iter().scan(0, |sum, count| {
            *sum += count;
            Some(*sum)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_on_a_bound_is_in_its_bucket_and_one_above_is_not() {
        let bounds = Bounds::of_counts(&[10, 20]).unwrap();
        let mut histogram = Histogram::new(&bounds);
        for value in [0, 10, 11, 20, 21, 1_000] {
            histogram.observe(&bounds, value);
        }
        assert_eq!(histogram.cumulated().collect::<Vec<_>>(), [2, 4]);
        assert_eq!(histogram.count(), 6);
        assert_eq!(bounds.shown_sum(&histogram), 1_062.0);
    }

    #[test]
    fn times_are_observed_in_microseconds_and_shown_in_seconds() {
        let bounds = Bounds::of_times(&[Duration::from_micros(50), Duration::from_millis(1)]).unwrap();
        assert_eq!(bounds.shown().collect::<Vec<_>>(), [0.000_05, 0.001]);
        let mut histogram = Histogram::new(&bounds);
        histogram.observe(&bounds, 51);
        assert_eq!(histogram.cumulated().collect::<Vec<_>>(), [0, 1]);
        assert_eq!(bounds.shown_sum(&histogram), 0.000_051);
    }

    #[test]
    fn added_histograms_hold_the_observations_of_both() {
        let bounds = Bounds::of_counts(&[1]).unwrap();
        let (mut a, mut b) = (Histogram::new(&bounds), Histogram::new(&bounds));
        a.observe(&bounds, 1);
        b.observe(&bounds, 2);
        b.add(&a);
        assert_eq!((b.count(), b.cumulated().next(), b.sum), (2, Some(1), 3));
    }

    #[test]
    fn bounds_that_do_not_grow_are_refused() {
        assert_eq!(Bounds::of_counts(&[]), Err(BoundsError::Empty));
        assert_eq!(Bounds::of_counts(&[1, 2, 2]), Err(BoundsError::Order(3)));
        // Below the unit of observation there is no difference.
        let times = [Duration::from_nanos(1_100), Duration::from_nanos(1_900)];
        assert_eq!(Bounds::of_times(&times), Err(BoundsError::Order(2)));
    }

    #[test]
    fn neighbouring_default_bounds_of_the_rtt_are_close_enough_for_quantiles() {
        let rtt = Buckets::default().rtt.upper;
        let below_half_a_second = rtt.iter().take_while(|&&bound| bound <= 500_000).count();
        for pair in rtt[..below_half_a_second].windows(2) {
            assert!(pair[1] as f64 / pair[0] as f64 <= 5.0 / 3.0 + 1e-9, "{pair:?}");
        }
    }
}
