//! What a group of flows has done during the watch.

use ccactl_host::quantiles::Histogram;

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
