//! What a group of flows has done during the watch.

use ccactl_host::quantiles::{Classes, Histogram, rank};
use std::ops::{AddAssign, Deref};

/// What adds up over flows. All counts begin with the watch.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Sums {
    /// Flows that sent or had something acknowledged.
    pub flows: u64,
    /// Rows that were counted.
    pub rows: u64,
    /// Payload sent, retransmissions included.
    pub sent_bytes: u64,
    /// Payload retransmitted.
    pub retrans_bytes: u64,
    /// Payload acknowledged.
    pub acked_bytes: u64,
    /// Packets marked lost by the sender.
    pub lost_pkts: u64,
    /// Packets delivered.
    pub delivered_pkts: u64,
    /// Packets delivered with an ECN mark.
    pub delivered_ce_pkts: u64,
    /// Time between the first row of a flow and its last one that shows progress, summed over the flows.
    pub active_ns: u64,
    /// Time between the first and the last row, summed over the flows: what the window is weighted with.
    pub time_ns: u64,
    /// Integral of the congestion window over that time.
    pub cwnd_pkts_ns: f64,
}

impl AddAssign for Sums {
    fn add_assign(&mut self, other: Sums) {
        self.flows += other.flows;
        self.rows += other.rows;
        self.sent_bytes += other.sent_bytes;
        self.retrans_bytes += other.retrans_bytes;
        self.acked_bytes += other.acked_bytes;
        self.lost_pkts += other.lost_pkts;
        self.delivered_pkts += other.delivered_pkts;
        self.delivered_ce_pkts += other.delivered_ce_pkts;
        self.active_ns += other.active_ns;
        self.time_ns += other.time_ns;
        self.cwnd_pkts_ns += other.cwnd_pkts_ns;
    }
}

/// The flows of one group.
#[derive(Debug, Clone, Default)]
pub struct Tally {
    /// What adds up.
    pub sums: Sums,
    /// RTT samples.
    pub rtt: Rtts,
    /// Goodput of each flow.
    pub(crate) rates_bps: Counts,
}

impl Deref for Tally {
    type Target = Sums;

    fn deref(&self) -> &Sums {
        &self.sums
    }
}

impl Tally {
    /// Of the goodputs of its flows, to 1.6 %.
    #[must_use]
    pub fn median_goodput_bps(&self) -> Option<f64> {
        self.rates_bps.class_at(0.5).map(|class| Fine::lowest(class) as f64)
    }
}

/// Values within 1.6 % are one.
type Fine = Classes<6>;

/// How often values of a class occur.
#[derive(Debug, Clone, Default)]
pub(crate) struct Counts {
    by_class: Vec<u32>,
    total: u64,
}

impl Counts {
    pub(crate) fn add(&mut self, value: u64) {
        let class = Fine::of(value);
        if self.by_class.len() <= class {
            self.by_class.resize(class + 1, 0);
        }
        self.by_class[class] += 1;
        self.total += 1;
    }

    /// A value that was added before.
    pub(crate) fn remove(&mut self, value: u64) {
        self.by_class[Fine::of(value)] -= 1;
        self.total -= 1;
    }

    pub(crate) fn total(&self) -> u64 {
        self.total
    }

    /// Class of the value at this quantile, by nearest rank.
    pub(crate) fn class_at(&self, quantile: f64) -> Option<usize> {
        let rank = rank(quantile, self.total);
        let mut seen = 0;
        self.by_class.iter().position(|count| {
            seen += u64::from(*count);
            seen >= rank
        })
    }

    /// How many lie in higher classes.
    pub(crate) fn above(&self, class: usize) -> u64 {
        self.by_class.iter().skip(class + 1).map(|count| u64::from(*count)).sum()
    }
}

impl AddAssign<&Counts> for Counts {
    fn add_assign(&mut self, other: &Counts) {
        if self.by_class.len() < other.by_class.len() {
            self.by_class.resize(other.by_class.len(), 0);
        }
        self.by_class.iter_mut().zip(&other.by_class).for_each(|(own, other)| *own += other);
        self.total += other.total;
    }
}

/// RTT samples: their mean and their percentiles.
#[derive(Debug, Clone, Default)]
pub struct Rtts(Histogram);

impl Rtts {
    /// Adds a sample.
    pub(crate) fn add(&mut self, rtt_us: u32) {
        self.0.add(u64::from(rtt_us), 1);
    }

    /// How many there are.
    #[must_use]
    pub fn samples(&self) -> u64 {
        self.0.total()
    }

    /// Their mean.
    #[must_use]
    pub fn mean_us(&self) -> Option<f64> {
        self.0.mean()
    }

    /// Nearest-rank percentile, `quantile` in 0 … 1.
    #[must_use]
    pub fn quantile_us(&self, quantile: f64) -> Option<f64> {
        self.0.percentile(quantile * 100.0).map(|rtt_us| rtt_us as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_and_the_percentiles_are_exact() {
        let mut rtt = Rtts::default();
        assert_eq!((rtt.samples(), rtt.mean_us(), rtt.quantile_us(0.5)), (0, None, None));
        (1..=1000).for_each(|i| rtt.add(i * 100));
        rtt.add(u32::MAX);
        assert_eq!(rtt.samples(), 1001);
        assert_eq!(
            [0.5, 0.95, 0.99].map(|quantile| rtt.quantile_us(quantile)),
            [50_100.0, 95_100.0, 99_100.0].map(Some)
        );
        assert_eq!(rtt.quantile_us(1.0), Some(f64::from(u32::MAX)));
    }
}
