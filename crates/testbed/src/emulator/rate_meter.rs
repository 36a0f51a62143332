//! Whether packets really came out of the bottleneck at its rate.

use ccactl_link::Nanos;

/// What the bottleneck's transmitter sent right before a packet left it, the packet included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backlog {
    /// Bytes on the wire since the last packet that was not lost.
    pub wire_bytes: u32,
    /// The transmitter was busy all the time since then.
    pub back_to_back: bool,
}

/// Rate at which packets really came out while the bottleneck was backlogged.
#[derive(Debug, Clone, Copy, Default)]
pub struct RateMeter {
    /// Scheduled and actual time of the last packet.
    last: Option<(Nanos, Nanos)>,
    bytes: u64,
    scheduled_ns: i128,
    actual_ns: Nanos,
}

impl RateMeter {
    /// Adds a packet that was due at `due` and given out at `at`.
    pub fn add(&mut self, due: Nanos, at: Nanos, backlog: Backlog) {
        if let Some((last_due, last_at)) = self.last
            && backlog.back_to_back
        {
            self.bytes += u64::from(backlog.wire_bytes);
            // Jitter may reorder: a packet may be due before the one given out before it.
            self.scheduled_ns += i128::from(due) - i128::from(last_due);
            self.actual_ns += at.saturating_sub(last_at);
        }
        self.last = Some((due, at));
    }

    /// Time over which the rate was measured, in s.
    #[must_use]
    pub fn secs(&self) -> f64 {
        self.actual_ns as f64 / 1e9
    }

    /// The rate in bit/s on the wire, `None` when the link was never backlogged.
    #[must_use]
    pub fn bps(&self) -> Option<f64> {
        (self.actual_ns > 0).then(|| self.bytes as f64 * 8.0 / self.secs())
    }

    /// The same against the plan of the link, whatever its rate was at each time, as a share.
    #[must_use]
    pub fn error(&self) -> Option<f64> {
        (self.actual_ns > 0).then(|| self.scheduled_ns as f64 / self.actual_ns as f64 - 1.0)
    }
}

/// Packets lost since the last one that was given out. They occupied the wire as well, so the rate meter has to
/// count them; and where the first of them ended an idle time, that time is no backlog.
#[derive(Debug, Clone, Copy, Default)]
pub struct LostBefore {
    bytes: u32,
    after_idle: bool,
}

impl LostBefore {
    /// A packet left the bottleneck and was lost.
    pub fn lost(&mut self, wire_bytes: u32, back_to_back: bool) {
        self.bytes += wire_bytes;
        self.after_idle |= !back_to_back;
    }

    /// A packet left and will be given out.
    pub fn passed(&mut self, wire_bytes: u32, back_to_back: bool) -> Backlog {
        let lost = std::mem::take(self);
        Backlog { wire_bytes: lost.bytes + wire_bytes, back_to_back: back_to_back && !lost.after_idle }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn backlog(wire_bytes: u32, back_to_back: bool) -> Backlog {
        Backlog { wire_bytes, back_to_back }
    }

    #[test]
    fn lost_packets_were_on_the_wire() {
        let mut before = LostBefore::default();
        assert_eq!(before.passed(1000, true), backlog(1000, true));
        before.lost(1000, true);
        before.lost(500, true);
        assert_eq!(before.passed(1000, true), backlog(2500, true));
        before.lost(1000, false);
        assert_eq!(before.passed(1000, true), backlog(2000, false), "the wire was idle before the lost one");
        assert_eq!(before.passed(1000, true), backlog(1000, true));
    }

    #[test]
    fn only_time_with_a_backlog_counts() {
        let mut meter = RateMeter::default();
        assert_eq!((meter.bps(), meter.error()), (None, None));
        meter.add(0, 0, backlog(1000, false));
        meter.add(1_000_000, 1_000_000, backlog(1000, true));
        meter.add(900_000_000, 900_000_000, backlog(1000, false));
        meter.add(901_000_000, 901_000_000, backlog(1000, true));
        assert_eq!((meter.bps(), meter.error()), (Some(8_000_000.0), Some(0.0)));
    }

    #[test]
    fn the_error_is_that_against_the_schedule_even_when_the_rate_changes() {
        let mut meter = RateMeter::default();
        meter.add(0, 0, backlog(1000, false));
        meter.add(1_000_000, 1_000_000, backlog(1000, true));
        meter.add(5_000_000, 5_000_000, backlog(1000, true));
        assert_eq!(meter.error(), Some(0.0));
        // 1 ms late at the end of 9 ms.
        meter.add(9_000_000, 10_000_000, backlog(1000, true));
        assert!((meter.error().unwrap() + 0.1).abs() < 1e-12);
    }
}
