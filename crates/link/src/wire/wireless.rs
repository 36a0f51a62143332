//! Retransmission on a wireless link.

use crate::Nanos;
use crate::rate::Schedule;
use rand::Rng;
use rand::rngs::StdRng;

/// A link that repeats what was not received, as 802.11 and LTE do: in order, while everything else waits.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Wireless {
    /// Probability that one attempt fails.
    pub error: f64,
    /// Attempts after the first; when all have failed the packet is lost.
    pub retries: u32,
    /// From the end of a failed attempt to the start of the next one; the transmitter is occupied.
    pub retry_delay: Nanos,
}

impl Wireless {
    /// When the last attempt ends, and whether it was received.
    pub(crate) fn transmit(
        &self,
        schedule: &mut Schedule,
        start: Nanos,
        bytes: u32,
        rng: &mut StdRng,
    ) -> (Nanos, bool) {
        let mut end = schedule.finish(start, bytes);
        for _ in 0..self.retries {
            if !rng.random_bool(self.error) {
                return (end, true);
            }
            end = schedule.finish(end + self.retry_delay, bytes);
        }
        (end, !rng.random_bool(self.error))
    }
}
