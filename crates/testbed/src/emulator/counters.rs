//! What the emulator counts.

use ccactl_link::Nanos;
use serde::Serialize;

/// Counters of one path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct FlowCounters {
    /// Data packets that came from the sender.
    pub offered_packets: u64,
    /// Data packets given to the receiver.
    pub delivered_packets: u64,
    /// The same in bytes on the wire.
    pub delivered_wire_bytes: u64,
    /// Refused by the full buffer.
    pub dropped_full_packets: u64,
    /// Given the mark "congestion experienced" because the queue was above the threshold.
    pub marked_packets: u64,
    /// Lost at random on the wire.
    pub lost_packets: u64,
    /// Packets of the opposite direction given to the sender.
    pub returned_packets: u64,
}

/// Counters of all paths and of the emulator itself.
#[derive(Debug, Clone)]
pub struct Counters {
    /// By index of the sender.
    pub flows: Vec<FlowCounters>,
    /// Most bytes ever in the buffer.
    pub queue_max_bytes: u64,
    /// Sum over accepted packets of the bytes in the buffer, for the mean that packets see.
    pub queue_sum_bytes: u128,
    /// Packets for an address that nobody has.
    pub stray: u64,
    /// Packets that a device did not take.
    pub write_failures: u64,
    /// Errors of a device other than "nothing there".
    pub read_failures: u64,
    /// Times at which no memory for a packet was free.
    pub exhausted: u64,
}

impl Counters {
    pub(super) fn new(flows: usize) -> Self {
        Counters {
            flows: vec![FlowCounters::default(); flows],
            queue_max_bytes: 0,
            queue_sum_bytes: 0,
            stray: 0,
            write_failures: 0,
            read_failures: 0,
            exhausted: 0,
        }
    }

    /// Counts; false because the device is to be left alone until the next wake-up.
    pub(super) fn read_failed(&mut self) -> bool {
        self.read_failures += 1;
        false
    }

    /// Counts; false because slots only become free when packets are given out.
    pub(super) fn pool_exhausted(&mut self) -> bool {
        self.exhausted += 1;
        false
    }
}

/// Rate at which packets really came out while the bottleneck was backlogged.
#[derive(Debug, Clone, Copy, Default)]
pub struct RateMeter {
    last: Option<Nanos>,
    bytes: u64,
    time_ns: Nanos,
}

impl RateMeter {
    /// Adds a packet given out at `at`; `back_to_back` when the wire was busy right before it.
    pub fn add(&mut self, at: Nanos, wire_bytes: u64, back_to_back: bool) {
        if let Some(last) = self.last
            && back_to_back
        {
            self.bytes += wire_bytes;
            self.time_ns += at.saturating_sub(last);
        }
        self.last = Some(at);
    }

    /// Time over which the rate was measured, in s.
    #[must_use]
    pub fn secs(&self) -> f64 {
        self.time_ns as f64 / 1e9
    }

    /// The rate in bit/s on the wire, `None` when the link was never backlogged.
    #[must_use]
    pub fn bps(&self) -> Option<f64> {
        (self.time_ns > 0).then(|| self.bytes as f64 * 8.0 / self.secs())
    }
}

/// Packets lost at random since the last one that was given out. They occupied the wire as well, so the rate meter has to
/// count them; and where the first of them ended an idle time, that time is no backlog.
#[derive(Debug, Clone, Copy, Default)]
pub struct LostBefore {
    bytes: u64,
    after_idle: bool,
}

impl LostBefore {
    /// A packet left the bottleneck and was lost.
    pub fn lost(&mut self, wire_bytes: u64, back_to_back: bool) {
        self.bytes += wire_bytes;
        self.after_idle |= !back_to_back;
    }

    /// A packet left and will be given out: bytes on the wire since the last one that was, and whether the wire was busy all the time.
    pub fn passed(&mut self, wire_bytes: u64, back_to_back: bool) -> (u64, bool) {
        let lost = std::mem::take(self);
        (lost.bytes + wire_bytes, back_to_back && !lost.after_idle)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lost_packets_were_on_the_wire() {
        let mut before = LostBefore::default();
        assert_eq!(before.passed(1000, true), (1000, true));
        before.lost(1000, true);
        before.lost(500, true);
        assert_eq!(before.passed(1000, true), (2500, true));
        before.lost(1000, false);
        assert_eq!(before.passed(1000, true), (2000, false), "the wire was idle before the lost one");
        assert_eq!(before.passed(1000, true), (1000, true));
    }

    #[test]
    fn only_time_with_a_backlog_counts() {
        let mut meter = RateMeter::default();
        assert_eq!(meter.bps(), None);
        meter.add(0, 1000, false);
        meter.add(1_000_000, 1000, true);
        meter.add(900_000_000, 1000, false);
        meter.add(901_000_000, 1000, true);
        assert_eq!(meter.bps(), Some(8_000_000.0));
    }
}
