//! Whether packets really came out of the bottleneck at its rate: what its plan gave them, in virtual time, and how much of that
//! time really passed.

use ccactl_link::Nanos;

/// Rate of a transmitter in virtual time while something waited for it.
#[derive(Debug, Clone, Copy, Default)]
pub struct PlannedRate {
    last_at: Nanos,
    bytes: u64,
    time_ns: Nanos,
}

impl PlannedRate {
    /// The last bit of a packet left at `at`.
    pub fn add(&mut self, at: Nanos, wire_bytes: u32, back_to_back: bool) {
        if back_to_back {
            self.bytes += u64::from(wire_bytes);
            self.time_ns += at.saturating_sub(self.last_at);
        }
        self.last_at = at;
    }

    /// In bit/s; `None` when nothing ever waited.
    #[must_use]
    pub fn bps(&self) -> Option<f64> {
        (self.time_ns > 0).then(|| self.bytes as f64 * 8e9 / self.time_ns as f64)
    }
}

/// Scheduled against actual time between packets that left the bottleneck back to back.
#[derive(Debug, Clone, Copy, Default)]
pub struct Pace {
    /// Scheduled and actual time of the last packet.
    last: Option<(Nanos, Nanos)>,
    scheduled_ns: i128,
    actual_ns: Nanos,
}

impl Pace {
    /// Adds a packet that was due at `due` and given out at `at`.
    pub fn add(&mut self, due: Nanos, at: Nanos, back_to_back: bool) {
        if let Some((last_due, last_at)) = self.last
            && back_to_back
        {
            // Jitter may reorder: a packet may be due before the one given out before it.
            self.scheduled_ns += i128::from(due) - i128::from(last_due);
            self.actual_ns += at.saturating_sub(last_at);
        }
        self.last = Some((due, at));
    }

    /// Time over which it was measured, in s.
    #[must_use]
    pub fn secs(&self) -> f64 {
        self.actual_ns as f64 / 1e9
    }

    /// How much faster than planned packets came, as a share; `None` when nothing ever waited.
    #[must_use]
    pub fn error(&self) -> Option<f64> {
        (self.actual_ns > 0).then(|| self.scheduled_ns as f64 / self.actual_ns as f64 - 1.0)
    }
}

/// Whether the bottleneck was busy from one packet that arrives to the next. Where one that was lost in between ended an idle
/// time, it was not.
#[derive(Debug, Clone, Copy, Default)]
pub struct BusySince {
    idle_before_lost: bool,
}

impl BusySince {
    /// A packet left and was lost.
    pub fn lost(&mut self, back_to_back: bool) {
        self.idle_before_lost |= !back_to_back;
    }

    /// A packet left and will be given out: whether the transmitter was busy since the last one that was.
    pub fn passed(&mut self, back_to_back: bool) -> bool {
        back_to_back & !std::mem::take(&mut self.idle_before_lost)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Nanos = 1_000_000;

    #[test]
    fn an_idle_time_before_a_lost_packet_is_no_backlog() {
        let mut since = BusySince::default();
        assert!(since.passed(true));
        since.lost(true);
        assert!(since.passed(true));
        since.lost(false);
        since.lost(true);
        assert!(!since.passed(true), "the transmitter was idle before the lost one");
        assert!(since.passed(true) && !since.passed(false));
    }

    #[test]
    fn only_time_with_a_backlog_counts() {
        let (mut pace, mut planned) = (Pace::default(), PlannedRate::default());
        assert_eq!((pace.error(), planned.bps()), (None, None));
        for (at, back_to_back) in [(0, false), (MS, true), (900 * MS, false), (901 * MS, true)] {
            pace.add(at, at, back_to_back);
            planned.add(at, 1000, back_to_back);
        }
        assert_eq!((pace.error(), pace.secs(), planned.bps()), (Some(0.0), 0.002, Some(8_000_000.0)));
    }

    #[test]
    fn the_error_is_that_against_the_schedule_even_when_the_rate_changes() {
        let mut pace = Pace::default();
        for at in [0, MS, 5 * MS] {
            pace.add(at, at, at > 0);
        }
        assert_eq!(pace.error(), Some(0.0));
        // 1 ms late at the end of 9 ms.
        pace.add(9 * MS, 10 * MS, true);
        assert!((pace.error().unwrap() + 0.1).abs() < 1e-12);
    }
}
