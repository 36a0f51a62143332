//! The rate of a transmitter in virtual time, and whether it was busy from one packet to the next.

use crate::Nanos;

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
        let mut planned = PlannedRate::default();
        assert_eq!(planned.bps(), None);
        for (at, back_to_back) in [(0, false), (MS, true), (900 * MS, false), (901 * MS, true)] {
            planned.add(at, 1000, back_to_back);
        }
        assert_eq!(planned.bps(), Some(8_000_000.0));
    }
}
