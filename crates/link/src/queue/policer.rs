//! A token-bucket policer: what comes faster than the contract allows is dropped at once, and nothing is delayed for it. Behind
//! it is a first-in-first-out queue, which on a fast link stays empty (Flach et al., SIGCOMM 2016, section 2.1; RFC 2697's
//! committed rate and burst).

use super::early::{Arrival, Departure, Judge, Verdict};
use crate::Nanos;
use rand::rngs::StdRng;

/// Parameters of a policer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policer {
    /// Rate at which tokens come, in bit/s on the wire.
    pub rate_bps: u64,
    /// Tokens that the bucket holds, and holds in the beginning.
    pub burst_bytes: u64,
}

impl Default for Policer {
    /// 10 Mbit/s, and what comes in 100 ms at that rate.
    fn default() -> Self {
        Policer { rate_bps: 10_000_000, burst_bytes: 125_000 }
    }
}

/// Bits × 10⁹: a nanosecond adds as many as the rate has bit/s, so nothing is rounded.
const PER_BYTE: u128 = 8 * 1_000_000_000;

/// The bucket.
pub(crate) struct Bucket {
    config: Policer,
    tokens: u128,
    /// When they were counted.
    counted: Nanos,
}

impl Bucket {
    pub fn new(config: Policer) -> Self {
        assert!(config.rate_bps > 0, "the rate of a policer is above 0");
        Bucket { config, tokens: u128::from(config.burst_bytes) * PER_BYTE, counted: 0 }
    }

    fn fill(&mut self, now: Nanos) {
        let come = u128::from(now - self.counted) * u128::from(self.config.rate_bps);
        self.tokens = (self.tokens + come).min(u128::from(self.config.burst_bytes) * PER_BYTE);
        self.counted = now;
    }
}

impl Judge for Bucket {
    fn judge(&mut self, arrival: &Arrival, _: &mut StdRng) -> Verdict {
        self.fill(arrival.now);
        let cost = u128::from(arrival.size_bytes) * PER_BYTE;
        if self.tokens < cost {
            return Verdict::Drop;
        }
        self.tokens -= cost;
        Verdict::Keep
    }

    fn departed(&mut self, _: &Departure) {}
}
