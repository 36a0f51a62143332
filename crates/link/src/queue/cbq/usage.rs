//! CBQ's estimator. Between the ends of two packets of a class lie s / b if it sends at its rate b. What lies between them beyond
//! that is idle time:
//!
//! - idle = time since the end of the last packet − s / b
//! - avg ← (1 − w) avg + w · idle, at most maxidle
//!
//! A class is over its share while avg ≤ 0, until a packet of the same size would bring avg back to 0. That is
//! s / b − s / C + (1 / w − 1) · (−avg) after the end of the last one, where C is the rate of the link. maxidle is what n packets in
//! a row use up: (s / b − s / C) · ((1 − w)^−n − 1). Both are in ns-2 (`cbq.cc`) and follow from the average.
//!
//! Times are in nanoseconds. The end of a packet is taken to be s / C after its beginning, at the rate of the link then. As
//! in the paper a class that has borrowed has a debt, of at most (1 / w − 1) packets at its rate; ALTQ limits it further.

use crate::Nanos;
use crate::rate::UNITS_PER_BYTE;

/// An average below this is 0: times are whole nanoseconds.
const LEAST_IDLE_NS: f64 = 1.0;
const WHOLE_PERMILLE: f64 = 1000.0;

/// What all averages have in common.
pub(super) struct Estimator {
    weight: f64,
    /// maxidle in units of s / b − s / C.
    most_idle: f64,
}

impl Estimator {
    pub fn new(weight: f64, burst_packets: u32) -> Self {
        Estimator { weight, most_idle: (1.0 - weight).powf(-f64::from(burst_packets)) - 1.0 }
    }
}

/// How much of its share a class or a group uses.
pub(super) struct Usage {
    share_permille: u32,
    /// In nanoseconds.
    average_idle: f64,
    /// End of its last packet.
    last: Option<Nanos>,
    /// 0 while it is not over its share.
    within_share_from: Nanos,
}

impl Usage {
    pub fn of(share_permille: u32) -> Self {
        Usage { share_permille, average_idle: 0.0, last: None, within_share_from: 0 }
    }

    pub fn is_within_share(&self, now: Nanos) -> bool {
        self.within_share_from <= now
    }

    pub fn within_share_from(&self) -> Nanos {
        self.within_share_from
    }

    /// A packet begins to leave.
    pub fn count(&mut self, estimator: &Estimator, bytes: u32, now: Nanos, rate_bps: u64) {
        let on_link = (u128::from(bytes) * UNITS_PER_BYTE).div_ceil(u128::from(rate_bps)) as Nanos;
        let at_share = on_link as f64 * WHOLE_PERMILLE / f64::from(self.share_permille);
        let gap = at_share - on_link as f64;
        let most = gap * estimator.most_idle;
        let end = now + on_link;
        // Before its first packet it was idle for as long as counts.
        let average = self.last.map_or(most, |last| {
            let idle = end.saturating_sub(last) as f64 - at_share;
            self.average_idle + estimator.weight * (idle - self.average_idle)
        });
        self.average_idle = average.min(most);
        self.last = Some(end);
        self.within_share_from = if self.average_idle >= LEAST_IDLE_NS {
            0
        } else {
            let pause = gap + (1.0 / estimator.weight - 1.0) * (-self.average_idle).max(0.0);
            end.saturating_add(pause.ceil() as Nanos)
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Nanos = 1_000_000;

    /// A quarter of 8 Mbit/s, with w = 1/4: 1000 bytes take 1 ms, and 4 ms at its rate.
    fn quarter(burst_packets: u32) -> (Estimator, Usage) {
        (Estimator::new(0.25, burst_packets), Usage::of(250))
    }

    #[test]
    fn after_a_pause_there_is_a_burst_and_then_a_packet_at_a_time() {
        let (estimator, mut usage) = quarter(3);
        let mut now = 10_000 * MS;
        let mut starts = Vec::new();
        for _ in 0..8 {
            now = now.max(usage.within_share_from());
            starts.push((now - 10_000 * MS + MS / 2) / MS);
            usage.count(&estimator, 1000, now, 8_000_000);
            now += MS;
        }
        // The first one gives the average its most, three more use that up, the rest come at 4 ms.
        assert_eq!(starts, [0, 1, 2, 3, 7, 11, 15, 19]);
    }

    #[test]
    fn what_was_borrowed_is_a_debt_until_a_packet_would_bring_the_average_to_0() {
        let (estimator, mut usage) = quarter(0);
        // At once: maxidle is 0, so the average is 0 and the next packet may begin 3 ms after the end of this one.
        usage.count(&estimator, 1000, 0, 8_000_000);
        assert_eq!(usage.within_share_from(), 4 * MS);
        // Borrowed, right behind it: idle is 1 − 4 = −3 ms, the average −0.75 ms, the pause 3 + 3 · 0.75 ms.
        usage.count(&estimator, 1000, MS, 8_000_000);
        assert_eq!(usage.within_share_from(), 2 * MS + 5_250_000);
        // Then: idle is 8.25 − 2 − 4 = 2.25 ms, the average 0.
        usage.count(&estimator, 1000, usage.within_share_from(), 8_000_000);
        assert!(usage.average_idle.abs() < 1e-6);
        assert!(!usage.is_within_share(11_250_000 - 1) && usage.is_within_share(11_250_000));
    }
}
