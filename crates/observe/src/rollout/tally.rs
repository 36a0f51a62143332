//! What a group of flows has done during the watch.

use hdrhistogram::Histogram;

/// Longest RTT that is told apart from longer ones.
const MAX_RTT_US: u64 = 60_000_000;
/// Values are kept to three significant digits: percentiles are right to 0.1 %.
const SIGNIFICANT_DIGITS: u8 = 3;

/// Sums over the flows of one group. All counts begin with the watch.
#[derive(Debug, Clone, Default)]
pub struct Tally {
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
    /// RTT samples.
    pub rtt: Rtts,
}

/// RTT samples: their exact mean, and their percentiles to three digits.
#[derive(Debug, Clone)]
pub struct Rtts {
    sum_us: u64,
    histogram: Histogram<u64>,
}

impl Default for Rtts {
    fn default() -> Self {
        let histogram = Histogram::new_with_max(MAX_RTT_US, SIGNIFICANT_DIGITS).expect("the constants are in range");
        Rtts { sum_us: 0, histogram }
    }
}

impl Rtts {
    /// Adds a sample.
    pub(crate) fn add(&mut self, rtt_us: u32) {
        self.sum_us += u64::from(rtt_us);
        self.histogram.saturating_record(u64::from(rtt_us));
    }

    /// How many there are.
    #[must_use]
    pub fn samples(&self) -> u64 {
        self.histogram.len()
    }

    /// Their mean.
    #[must_use]
    pub fn mean_us(&self) -> Option<f64> {
        (self.samples() > 0).then(|| self.sum_us as f64 / self.samples() as f64)
    }

    /// Nearest-rank percentile, `quantile` in 0 … 1.
    #[must_use]
    pub fn quantile_us(&self, quantile: f64) -> Option<f64> {
        (self.samples() > 0).then(|| self.histogram.value_at_quantile(quantile) as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_right_to_three_digits_and_the_mean_exactly() {
        let mut rtt = Rtts::default();
        assert_eq!((rtt.mean_us(), rtt.quantile_us(0.5)), (None, None));
        (1..=1000).for_each(|i| rtt.add(i * 100));
        assert_eq!(rtt.mean_us(), Some(50_050.0));
        for (quantile, exact_us) in [(0.5, 50_000.0), (0.95, 95_000.0), (0.99, 99_000.0)] {
            let found_us = rtt.quantile_us(quantile).unwrap();
            assert!((found_us / exact_us - 1.0).abs() <= 1e-3, "{quantile}: {found_us}");
        }
    }

    #[test]
    fn an_rtt_beyond_the_scale_is_counted_as_the_longest() {
        let mut rtt = Rtts::default();
        rtt.add(u32::MAX);
        assert_eq!(rtt.samples(), 1);
        assert!(rtt.quantile_us(0.5).unwrap() >= MAX_RTT_US as f64);
    }
}
