//! What was counted in the last moments, per slot of time.

use super::pace::Pace;
use std::ops::Range;

/// Increase of counters. Fractions, as a step that reaches over the edge of a slot is split in proportion to time.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Counts {
    /// Payload sent, retransmissions included.
    pub sent_bytes: f64,
    /// Payload acknowledged.
    pub acked_bytes: f64,
    /// Payload retransmitted.
    pub retrans_bytes: f64,
    /// Packets retransmitted.
    pub retrans_pkts: f64,
    /// Packets delivered.
    pub delivered_pkts: f64,
    /// Packets delivered with an ECN mark.
    pub ce_pkts: f64,
    /// Retransmission timeouts.
    pub rtos: f64,
    /// Connections closed.
    pub closed: f64,
}

impl Counts {
    /// Adds a part of others.
    pub fn add(&mut self, other: &Counts, share: f64) {
        let Counts { sent_bytes, acked_bytes, retrans_bytes, retrans_pkts, delivered_pkts, ce_pkts, rtos, closed } =
            other;
        self.sent_bytes += sent_bytes * share;
        self.acked_bytes += acked_bytes * share;
        self.retrans_bytes += retrans_bytes * share;
        self.retrans_pkts += retrans_pkts * share;
        self.delivered_pkts += delivered_pkts * share;
        self.ce_pkts += ce_pkts * share;
        self.rtos += rtos * share;
        self.closed += closed * share;
    }

    /// Retransmitted of the bytes sent; `None` when nothing was sent.
    #[must_use]
    pub fn retrans_ratio(&self) -> Option<f64> {
        (self.sent_bytes > 0.0).then(|| self.retrans_bytes / self.sent_bytes)
    }

    /// Marked of the packets delivered; `None` when none was.
    #[must_use]
    pub fn ce_ratio(&self) -> Option<f64> {
        (self.delivered_pkts > 0.0).then(|| self.ce_pkts / self.delivered_pkts)
    }
}

/// Counts of the latest slots, in a ring: slot `n` is at `n` modulo the length.
#[derive(Debug, Clone)]
pub(crate) struct Meter {
    slots: Box<[Counts]>,
    newest: u64,
}

impl Meter {
    pub(crate) fn new(pace: &Pace) -> Meter {
        Meter { slots: vec![Counts::default(); pace.kept_slots()].into(), newest: 0 }
    }

    /// Spreads a step evenly over its time. What lies before the oldest slot is forgotten.
    pub(crate) fn add(&mut self, pace: &Pace, from_ns: u64, to_ns: u64, counts: &Counts) {
        self.reach(pace.slot_of(to_ns));
        if to_ns <= from_ns {
            self.slot(pace.slot_of(to_ns)).into_iter().for_each(|slot| slot.add(counts, 1.0));
            return;
        }
        let oldest = (self.newest + 1).saturating_sub(self.slots.len() as u64);
        for n in pace.slot_of(from_ns).max(oldest)..=pace.slot_of(to_ns) {
            let start_ns = (n * pace.slot_ns()).max(from_ns);
            let end_ns = ((n + 1) * pace.slot_ns()).min(to_ns);
            let share = (end_ns - start_ns) as f64 / (to_ns - from_ns) as f64;
            self.slot(n).into_iter().for_each(|slot| slot.add(counts, share));
        }
    }

    /// Sum over slots; those that were never reached count nothing.
    pub(crate) fn sum(&self, slots: Range<u64>) -> Counts {
        let mut sum = Counts::default();
        let oldest = (self.newest + 1).saturating_sub(self.slots.len() as u64);
        for n in slots.start.max(oldest)..slots.end.min(self.newest + 1) {
            sum.add(&self.slots[n as usize % self.slots.len()], 1.0);
        }
        sum
    }

    /// Moves the ring on, and empties the slots that begin.
    fn reach(&mut self, slot: u64) {
        let begun = slot.saturating_sub(self.newest).min(self.slots.len() as u64);
        for n in slot + 1 - begun..=slot {
            self.slots[n as usize % self.slots.len()] = Counts::default();
        }
        self.newest = self.newest.max(slot);
    }

    /// `None` for a slot that was forgotten already.
    fn slot(&mut self, n: u64) -> Option<&mut Counts> {
        let len = self.slots.len();
        (n + len as u64 > self.newest).then(|| &mut self.slots[n as usize % len])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ccactl_collector::Every;
    use std::time::Duration;

    const MS: u64 = 1_000_000;

    /// Slots of 100 ms.
    fn pace() -> Pace {
        Pace::new(Duration::from_secs(1), Every::Ack)
    }

    fn acked(bytes: f64) -> Counts {
        Counts { acked_bytes: bytes, ..Counts::default() }
    }

    #[test]
    fn a_step_is_split_at_the_edges_of_slots() {
        let mut meter = Meter::new(&pace());
        meter.add(&pace(), 1050 * MS, 1250 * MS, &acked(200.0));
        let slots = [9..10, 10..11, 11..12, 12..13, 13..14].map(|slot| meter.sum(slot).acked_bytes);
        assert_eq!(slots, [0.0, 50.0, 100.0, 50.0, 0.0]);
        assert_eq!(meter.sum(0..100).acked_bytes, 200.0);
    }

    #[test]
    fn a_step_without_length_is_in_its_slot_whole() {
        let mut meter = Meter::new(&pace());
        meter.add(&pace(), 1000 * MS, 1000 * MS, &acked(7.0));
        assert_eq!(meter.sum(10..11).acked_bytes, 7.0);
    }

    #[test]
    fn the_ring_forgets_what_is_older_than_it_is_long() {
        let mut meter = Meter::new(&pace());
        let kept = pace().kept_slots() as u64;
        meter.add(&pace(), 0, 100 * MS, &acked(100.0));
        // A silence of an hour: nearly all of its step lies before what is kept.
        let hour = 3_600_000 * MS;
        meter.add(&pace(), 100 * MS, hour, &acked(36_000.0));
        assert_eq!(meter.sum(0..2), Counts::default());
        let newest = pace().slot_of(hour);
        let sum = meter.sum(newest - kept..newest + 1).acked_bytes;
        assert!((sum - (kept as f64 - 1.0)).abs() < 0.01, "{sum}");
    }

    #[test]
    fn a_row_that_comes_late_is_added_to_its_own_time() {
        let mut meter = Meter::new(&pace());
        meter.add(&pace(), 1500 * MS, 1600 * MS, &acked(10.0));
        meter.add(&pace(), 1300 * MS, 1400 * MS, &acked(5.0));
        assert_eq!(meter.sum(13..14).acked_bytes, 5.0);
        assert_eq!(meter.sum(15..16).acked_bytes, 10.0);
        // Long gone: nobody to add it to.
        meter.add(&pace(), 90_000 * MS, 90_000 * MS, &acked(1.0));
        meter.add(&pace(), 1300 * MS, 1300 * MS, &acked(5.0));
        assert_eq!(meter.sum(0..1000).acked_bytes, 1.0);
    }

    #[test]
    fn a_ratio_of_nothing_is_not_known() {
        assert_eq!((Counts::default().retrans_ratio(), Counts::default().ce_ratio()), (None, None));
        let counts =
            Counts { sent_bytes: 200.0, retrans_bytes: 3.0, delivered_pkts: 10.0, ce_pkts: 5.0, ..Counts::default() };
        assert_eq!((counts.retrans_ratio(), counts.ce_ratio()), (Some(0.015), Some(0.5)));
    }
}
