//! ACKs on their way to the sender: one per packet, or merged into stretch ACKs.

use std::collections::VecDeque;

/// A packet that waits for others to be acknowledged with waits no longer than this (`TCP_DELACK_MIN`).
const HOLD_US: u64 = 40_000;

/// What has arrived, or will, and is not yet known to the sender.
pub(super) struct Acks {
    /// Time in µs at which an ACK of its own would reach the sender, and the serial of the transmission. In order of time.
    arrivals: VecDeque<(u64, u64)>,
    last_serial: Option<u64>,
}

impl Acks {
    pub(super) fn new() -> Acks {
        Acks { arrivals: VecDeque::new(), last_serial: None }
    }

    pub(super) fn push(&mut self, at_us: u64, serial: u64) {
        self.arrivals.push_back((at_us, serial));
    }

    pub(super) fn is_empty(&self) -> bool {
        self.arrivals.is_empty()
    }

    /// When the next ACK reaches the sender, given that there is one for every `every` packets. A gap in what arrives is
    /// acknowledged at once (RFC 5681, section 4.2), everything else after [`HOLD_US`] at the latest.
    pub(super) fn next_us(&self, every: u32) -> Option<u64> {
        self.next(every).map(|(at_us, _)| at_us)
    }

    /// Takes the next ACK: the serials of the transmissions that it reports, in order.
    pub(super) fn take(&mut self, every: u32) -> Vec<u64> {
        let count = self.next(every).map_or(0, |(_, count)| count);
        let serials: Vec<u64> = self.arrivals.drain(..count).map(|(_, serial)| serial).collect();
        self.last_serial = serials.last().copied().or(self.last_serial);
        serials
    }

    fn next(&self, every: u32) -> Option<(u64, usize)> {
        let &(first_us, _) = self.arrivals.front()?;
        let latest_us = first_us + HOLD_US;
        let mut last_serial = self.last_serial;
        let mut count = 0;
        for &(at_us, serial) in self.arrivals.iter().take_while(|&&(at_us, _)| at_us <= latest_us) {
            count += 1;
            let gap = last_serial.is_some_and(|last| serial != last + 1);
            if gap || count >= every.max(1) as usize {
                return Some((at_us, count));
            }
            last_serial = Some(serial);
        }
        Some((latest_us, count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn acks(arrivals: &[(u64, u64)]) -> Acks {
        let mut acks = Acks::new();
        for &(at_us, serial) in arrivals {
            acks.push(at_us, serial);
        }
        acks
    }

    #[test]
    fn one_ack_per_packet_comes_when_the_packet_does() {
        let mut acks = acks(&[(10, 0), (20, 1)]);
        assert_eq!((acks.next_us(1), acks.take(1)), (Some(10), vec![0]));
        assert_eq!((acks.next_us(1), acks.take(1)), (Some(20), vec![1]));
        assert_eq!((acks.next_us(1), acks.is_empty()), (None, true));
    }

    #[test]
    fn a_stretch_ack_comes_with_its_last_packet() {
        let mut acks = acks(&[(10, 0), (20, 1), (30, 2), (40, 3)]);
        assert_eq!((acks.next_us(3), acks.take(3)), (Some(30), vec![0, 1, 2]));
        assert_eq!((acks.next_us(3), acks.take(3)), (Some(40_040), vec![3]), "held for 40 ms");
    }

    #[test]
    fn a_gap_is_acknowledged_at_once() {
        let mut acks = acks(&[(10, 0), (20, 2), (30, 3)]);
        assert_eq!((acks.next_us(3), acks.take(3)), (Some(20), vec![0, 2]));
        assert_eq!(acks.next_us(3), Some(40_030));
    }
}
