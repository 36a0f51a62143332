//! Times of packets as a histogram of fixed memory: how late they were given out, how long they waited in queues.

use crate::Nanos;
use ccactl_host::quantiles::{Classes, rank};
use serde::{Deserialize, Serialize};

/// Percentiles are exact to 1/64. Memory is fixed and touched before the first packet: the path of a packet allocates nothing,
/// which a histogram of exact values would.
type Close = Classes<6>;

/// Longer times, of more than a minute, share the last class: no packet waits for so long, and an idle path has five histograms.
const LONGEST_NS: Nanos = (1 << 36) - 1;

/// Class of a time.
fn class(time_ns: Nanos) -> usize {
    Close::of(time_ns.min(LONGEST_NS))
}

/// Histogram of times.
pub struct Histogram {
    counts: Vec<u64>,
    count: u64,
    sum_ns: u128,
    max_ns: Nanos,
}

/// How late packets were given out: scheduled against actual time.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Lateness {
    /// Number of packets.
    pub packets: u64,
    /// Median.
    pub p50_us: f64,
    /// 99th percentile.
    pub p99_us: f64,
    /// 99.9th percentile.
    pub p999_us: f64,
    /// Largest.
    pub max_us: f64,
}

/// Time that packets waited in queues, from their arrival to the start of their transmission.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct QueueingDelay {
    /// Number of packets; those that were dropped are not among them.
    pub packets: u64,
    /// Mean.
    pub mean_us: f64,
    /// Median.
    pub p50_us: f64,
    /// 99th percentile.
    pub p99_us: f64,
    /// Largest.
    pub max_us: f64,
}

impl Default for Histogram {
    fn default() -> Self {
        Histogram::new()
    }
}

impl Histogram {
    /// An empty one; its memory is touched.
    #[must_use]
    pub fn new() -> Self {
        let mut counts = vec![1; class(LONGEST_NS) + 1];
        counts.fill(0);
        Histogram { counts, count: 0, sum_ns: 0, max_ns: 0 }
    }

    /// One whose [`Classes<6>`] somebody else has counted.
    #[must_use]
    pub fn of_counts(counts: &[u64], sum_ns: u64, max_ns: Nanos) -> Self {
        let mut of_them = Histogram::new();
        let last = of_them.counts.len() - 1;
        counts.iter().enumerate().for_each(|(class, count)| of_them.counts[class.min(last)] += count);
        Histogram { count: counts.iter().sum(), sum_ns: u128::from(sum_ns), max_ns, ..of_them }
    }

    /// Adds one packet.
    pub fn add(&mut self, time_ns: Nanos) {
        self.counts[class(time_ns)] += 1;
        self.count += 1;
        self.sum_ns += u128::from(time_ns);
        self.max_ns = self.max_ns.max(time_ns);
    }

    /// Adds the packets of another.
    pub fn merge(&mut self, other: &Histogram) {
        self.counts.iter_mut().zip(&other.counts).for_each(|(count, more)| *count += more);
        self.count += other.count;
        self.sum_ns += other.sum_ns;
        self.max_ns = self.max_ns.max(other.max_ns);
    }

    /// As lateness.
    pub fn lateness(&self) -> Lateness {
        Lateness {
            packets: self.count,
            p50_us: us(self.quantile(0.5)),
            p99_us: us(self.quantile(0.99)),
            p999_us: us(self.quantile(0.999)),
            max_us: us(self.max_ns),
        }
    }

    /// As a queueing delay.
    pub fn queueing(&self) -> QueueingDelay {
        QueueingDelay {
            packets: self.count,
            mean_us: self.sum_ns as f64 / self.count.max(1) as f64 / 1000.0,
            p50_us: us(self.quantile(0.5)),
            p99_us: us(self.quantile(0.99)),
            max_us: us(self.max_ns),
        }
    }

    /// Upper edge of the class in which the quantile lies.
    fn quantile(&self, q: f64) -> Nanos {
        let rank = rank(q, self.count);
        let mut seen = 0;
        for (class, count) in self.counts.iter().enumerate() {
            seen += count;
            if seen >= rank {
                return Close::highest(class).min(self.max_ns);
            }
        }
        0
    }
}

fn us(ns: Nanos) -> f64 {
    ns as f64 / 1000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_those_of_the_values() {
        let mut histogram = Histogram::new();
        (1..=1000u64).for_each(|i| histogram.add(i * 1000));
        let summary = histogram.lateness();
        assert_eq!((summary.packets, summary.max_us), (1000, 1000.0));
        for (got, want) in [(summary.p50_us, 500.0), (summary.p99_us, 990.0), (summary.p999_us, 999.0)] {
            assert!((got - want).abs() <= want / 32.0, "{got} for {want}");
        }
        let waited = histogram.queueing();
        assert_eq!((waited.packets, waited.mean_us, waited.p50_us), (1000, 500.5, summary.p50_us));
        assert_eq!(Histogram::new().queueing(), QueueingDelay::default());
        assert_eq!(Histogram::new().lateness(), Lateness::default());
    }

    #[test]
    fn the_longest_times_share_a_class_and_the_largest_stays_exact() {
        let mut histogram = Histogram::new();
        [1, LONGEST_NS, LONGEST_NS + 1, Nanos::MAX].into_iter().for_each(|time_ns| histogram.add(time_ns));
        let late = histogram.lateness();
        assert_eq!((late.packets, late.max_us), (4, us(Nanos::MAX)));
        assert!(late.p50_us >= us(LONGEST_NS) * 0.98, "{late:?}");
    }

    #[test]
    fn what_somebody_else_counted_is_what_was_added() {
        let mut added = Histogram::new();
        let mut counts = vec![0; Close::COUNT];
        for time_ns in [5, 70, 70, 1_000_000, 1 << 45] {
            added.add(time_ns);
            counts[Close::of(time_ns)] += 1;
        }
        let counted = Histogram::of_counts(&counts, 1_000_145 + (1 << 45), 1 << 45);
        assert_eq!((counted.lateness(), counted.queueing()), (added.lateness(), added.queueing()));
    }
}
