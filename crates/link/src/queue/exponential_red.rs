//! Exponential RED: Liu, Başar, Srikant, "Exponential-RED: a stabilizing AQM scheme for low- and high-speed TCP protocols",
//! IEEE/ACM ToN 13(5), 2005. The probability of a signal is exponential in the length of a virtual queue that is served slightly
//! slower than the real one:
//!
//! ```text
//!   v    virtual queue in bytes: what arrives, served at virtual_capacity × rate
//!   p(v) = 0                                                   v < min
//!        = p_min · (p_max / p_min)^((v − min) / (max − min))   v ≥ min, at most 1
//! ```
//!
//! The shape is the paper's; the parametrisation by two points of the curve, and their values, are ours.

use super::early::{Arrival, Departure, Judge, Verdict};
use crate::Nanos;
use rand::Rng;
use rand::rngs::StdRng;

/// Parameters of exponential RED.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ExponentialRed {
    /// Virtual queue in bytes from which on packets are signalled.
    pub min_threshold_bytes: u64,
    /// Virtual queue in bytes at which the probability is `max_probability`.
    pub max_threshold_bytes: u64,
    /// Probability at the lower threshold; not 0.
    pub min_probability: f64,
    /// Probability at the upper threshold; beyond it the curve goes on to 1.
    pub max_probability: f64,
    /// Rate at which the virtual queue is served, as a share of the link's.
    pub virtual_capacity: f64,
    /// Mark ECN-capable packets instead of dropping them.
    pub ecn: bool,
}

impl Default for ExponentialRed {
    /// Thresholds and upper probability of RED's defaults, with packets of 1000 bytes.
    fn default() -> Self {
        ExponentialRed {
            min_threshold_bytes: 5000,
            max_threshold_bytes: 15_000,
            min_probability: 0.001,
            max_probability: 0.1,
            virtual_capacity: 0.98,
            ecn: false,
        }
    }
}

/// Exponential RED at work.
pub(crate) struct VirtualQueue {
    config: ExponentialRed,
    bytes: f64,
    since: Nanos,
}

impl VirtualQueue {
    pub fn new(config: ExponentialRed) -> Self {
        assert!(config.min_threshold_bytes < config.max_threshold_bytes, "the lower threshold is below the upper one");
        let ascending = 0.0 < config.min_probability && config.min_probability <= config.max_probability;
        assert!(ascending && config.max_probability <= 1.0, "probabilities ascend from above 0 to at most 1");
        assert!((0.0..=1.0).contains(&config.virtual_capacity), "the virtual capacity is a share");
        VirtualQueue { config, bytes: 0.0, since: 0 }
    }

    /// Serves the virtual queue until `now`; at a step of the rate, at the new one since the arrival before.
    fn serve(&mut self, now: Nanos, rate_bps: u64) {
        let bytes_per_ns = self.config.virtual_capacity * rate_bps as f64 / 8e9;
        self.bytes = (self.bytes - (now - self.since) as f64 * bytes_per_ns).max(0.0);
        self.since = now;
    }

    fn probability(&self) -> f64 {
        let (min, max) = (self.config.min_threshold_bytes as f64, self.config.max_threshold_bytes as f64);
        if self.bytes < min {
            return 0.0;
        }
        let ratio = self.config.max_probability / self.config.min_probability;
        (self.config.min_probability * ratio.powf((self.bytes - min) / (max - min))).min(1.0)
    }
}

impl Judge for VirtualQueue {
    fn judge(&mut self, arrival: &Arrival, rng: &mut StdRng) -> Verdict {
        self.serve(arrival.now, arrival.rate_bps);
        let signals = rng.random_bool(self.probability());
        let verdict = if signals { arrival.signal(self.config.ecn) } else { Verdict::Keep };
        // What does not enter the real queue does not enter the virtual one.
        if arrival.enters(verdict) {
            self.bytes += f64::from(arrival.size_bytes);
        }
        verdict
    }

    fn departed(&mut self, _departure: &Departure) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;

    fn probability(bytes: f64) -> f64 {
        let mut queue = VirtualQueue::new(ExponentialRed::default());
        queue.bytes = bytes;
        queue.probability()
    }

    #[test]
    fn the_probability_grows_by_a_factor_per_distance() {
        // 0.001 at 5000 bytes, 0.1 at 15000: a factor of 10 for 5000 bytes.
        assert_eq!(probability(4999.0), 0.0);
        for (bytes, expected) in [(5000.0, 0.001), (10_000.0, 0.01), (15_000.0, 0.1), (20_000.0, 1.0), (1e6, 1.0)] {
            assert!((probability(bytes) / expected - 1.0).abs() < 1e-9, "{bytes}");
        }
    }

    #[test]
    fn the_virtual_queue_grows_at_a_load_that_the_link_can_carry() {
        // 8 Mbit/s, 1000 bytes per ms: the link's own queue never holds a packet, the virtual one gains 20 bytes with each.
        let mut queue = VirtualQueue::new(ExponentialRed { ecn: true, ..ExponentialRed::default() });
        let mut rng = StdRng::seed_from_u64(1);
        let arrival = |n: u64| Arrival {
            now: n * 1_000_000,
            size_bytes: 1000,
            queued_bytes: 0,
            queued_packets: 0,
            fits: true,
            ecn_capable: true,
            rate_bps: 8_000_000,
        };
        assert!((0..=200).all(|n| queue.judge(&arrival(n), &mut rng) == Verdict::Keep));
        assert!((queue.bytes - 5000.0).abs() < 1e-6, "{}", queue.bytes);
    }
}
