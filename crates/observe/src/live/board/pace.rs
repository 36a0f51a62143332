//! How time is cut: slots that rates are summed over, and the window of the figures that are shown.

use ccactl_collector::Every;
use std::ops::Range;
use std::time::Duration;

/// A window is so many slots.
const SLOTS_PER_WINDOW: u64 = 10;
/// The recorder hands rows on 50 ms after the kernel at the latest; the rest is for a busy machine.
const DELIVERY: Duration = Duration::from_millis(100);
/// With a row per RTT, how long that is taken to be.
const LONG_RTT: Duration = Duration::from_millis(400);

/// Window of the figures and its slots, on the monotonic clock.
///
/// The window ends before now, when whatever happened in it has been reported: a socket is sampled at the first ACK after
/// its interval. A window up to now would miss that last part of every flow, 10 % of a second at `--every 100ms`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pace {
    slot_ns: u64,
    lag_ns: u64,
}

impl Pace {
    /// Figures over `interval` of sockets that are sampled `every` so often.
    #[must_use]
    pub fn new(interval: Duration, every: Every) -> Pace {
        let until_sampled = match every {
            Every::Ack => Duration::ZERO,
            Every::Rtt => LONG_RTT,
            Every::Interval(interval) => interval,
        };
        Pace { slot_ns: (nanos(interval) / SLOTS_PER_WINDOW).max(1), lag_ns: nanos(until_sampled + DELIVERY) }
    }

    /// Length of the window in seconds.
    #[must_use]
    pub fn window_s(&self) -> f64 {
        self.seconds(SLOTS_PER_WINDOW)
    }

    /// How long after the fact figures are complete.
    #[must_use]
    pub fn lag(&self) -> Duration {
        Duration::from_nanos(self.lag_ns + self.slot_ns)
    }

    /// Time between two points of a history: two per window.
    #[must_use]
    pub fn point_ns(&self) -> u64 {
        self.slot_ns * SLOTS_PER_WINDOW / 2
    }

    /// Length of so many slots in seconds.
    pub(crate) fn seconds(&self, slots: u64) -> f64 {
        (self.slot_ns * slots) as f64 / 1e9
    }

    pub(crate) fn slot_ns(&self) -> u64 {
        self.slot_ns
    }

    pub(crate) fn slot_of(&self, time_ns: u64) -> u64 {
        time_ns / self.slot_ns
    }

    /// The slots that are shown at this moment.
    pub(crate) fn window(&self, now_ns: u64) -> Range<u64> {
        let end = self.slot_of(now_ns.saturating_sub(self.lag_ns));
        end.saturating_sub(SLOTS_PER_WINDOW)..end
    }

    /// How many slots must be remembered so that a window is still there when it is asked for.
    pub(crate) fn kept_slots(&self) -> usize {
        // One slot is under way, and one is for the time between feeding and looking.
        (SLOTS_PER_WINDOW + self.lag_ns.div_ceil(self.slot_ns) + 2) as usize
    }
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_window_ends_where_everything_has_been_reported() {
        let pace = Pace::new(Duration::from_secs(1), Every::Interval(Duration::from_millis(100)));
        // 10.23 s less 0.2 s lies in slot 100 of 100 ms, which is not complete yet.
        assert_eq!(pace.window(10_230_000_000), 90..100);
        assert_eq!(pace.window(0), 0..0);
        assert!((pace.window_s() - 1.0).abs() < 1e-12);
        assert_eq!(pace.lag(), Duration::from_millis(300));
        assert!(pace.kept_slots() >= 13);
    }
}
