//! Controlled delay: RFC 8289, section 5. Where a packet is to be dropped and understands a mark it is marked, if ECN is
//! on, and leaves (RFC 8289 has no ECN; this is Linux's way).

use super::{Next, Queue};
use crate::Nanos;
use crate::buffer::{Buffer, Line};
use crate::packet::{DropReason, Waiting};

/// Parameters of CoDel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CoDel {
    /// Standing queueing delay that is tolerated, TARGET.
    pub target: Nanos,
    /// Time for which the delay has to be above the target, about a worst-case RTT, INTERVAL.
    pub interval: Nanos,
    /// Bytes that may always wait, MAXPACKET.
    pub mtu_bytes: u32,
    /// Mark ECN-capable packets instead of dropping them.
    pub ecn: bool,
}

impl Default for CoDel {
    fn default() -> Self {
        CoDel { target: 5_000_000, interval: 100_000_000, mtu_bytes: 1514, ecn: false }
    }
}

/// What CoDel remembers of one queue.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct State {
    /// When the delay will have been above the target for an interval; `None` while it is below.
    first_above: Option<Nanos>,
    dropping: bool,
    drop_next: Nanos,
    /// Drops since dropping began.
    count: u32,
    /// `count` at the beginning of the latest dropping.
    last_count: u32,
}

/// Section 5.5: intervals since the last drop after which the drop rate is not taken up again.
const FORGET_AFTER_INTERVALS: u64 = 16;

impl State {
    /// The packet that leaves next; others may be dropped before it (section 5.5).
    pub fn dequeue<P>(
        &mut self,
        config: &CoDel,
        now: Nanos,
        line: &mut Line,
        buffer: &mut Buffer<P>,
    ) -> Option<Waiting<P>> {
        let (mut packet, mut may_drop) = self.take(config, now, line, buffer)?;
        if !self.dropping {
            if may_drop {
                self.begin_dropping(config, now);
                return self.signal(config, now, packet, line, buffer);
            }
            return Some(packet);
        }
        self.dropping = may_drop;
        while self.dropping && now >= self.drop_next {
            self.count = self.count.saturating_add(1);
            if config.ecn && packet.mark() {
                self.drop_next += gap(config.interval, self.count);
                return Some(packet);
            }
            buffer.drop_packet(now, packet, DropReason::Early);
            (packet, may_drop) = self.take(config, now, line, buffer)?;
            if may_drop {
                self.drop_next += gap(config.interval, self.count);
            }
            self.dropping = may_drop;
        }
        Some(packet)
    }

    /// The first signal of a dropping: afterwards the state stays, whatever the next packet says (section 5.5).
    fn signal<P>(
        &mut self,
        config: &CoDel,
        now: Nanos,
        mut packet: Waiting<P>,
        line: &mut Line,
        buffer: &mut Buffer<P>,
    ) -> Option<Waiting<P>> {
        if config.ecn && packet.mark() {
            return Some(packet);
        }
        buffer.drop_packet(now, packet, DropReason::Early);
        self.take(config, now, line, buffer).map(|(packet, _)| packet)
    }

    /// Takes up the rate of the last dropping if that was not long ago.
    fn begin_dropping(&mut self, config: &CoDel, now: Nanos) {
        self.dropping = true;
        let gained = self.count.wrapping_sub(self.last_count);
        // `drop_next` of a dropping that ended early may still lie ahead.
        let recent = now.saturating_sub(self.drop_next) < FORGET_AFTER_INTERVALS * config.interval;
        self.count = if gained > 1 && recent { gained } else { 1 };
        self.drop_next = now + gap(config.interval, self.count);
        self.last_count = self.count;
    }

    /// Section 5.6: the next packet, and whether the delay has been above the target for an interval.
    fn take<P>(
        &mut self,
        config: &CoDel,
        now: Nanos,
        line: &mut Line,
        buffer: &mut Buffer<P>,
    ) -> Option<(Waiting<P>, bool)> {
        let Some(packet) = buffer.pop_front(line) else {
            self.first_above = None;
            self.dropping = false;
            return None;
        };
        if now - packet.since < config.target || line.bytes() <= u64::from(config.mtu_bytes) {
            self.first_above = None;
            return Some((packet, false));
        }
        let first_above = *self.first_above.get_or_insert(now + config.interval);
        Some((packet, now >= first_above))
    }
}

/// The control law, interval / √count, exact to the nanosecond.
fn gap(interval: Nanos, count: u32) -> Nanos {
    (u128::from(interval).pow(2) / u128::from(count.max(1))).isqrt() as Nanos
}

/// A first-in-first-out queue with CoDel; a full buffer refuses what arrives.
pub(crate) struct CoDelQueue {
    config: CoDel,
    state: State,
    packets: Line,
}

impl CoDelQueue {
    pub fn new(config: CoDel) -> Self {
        CoDelQueue { config, state: State::default(), packets: Line::default() }
    }
}

impl<P> Queue<P> for CoDelQueue {
    fn enqueue(&mut self, now: Nanos, packet: Waiting<P>, buffer: &mut Buffer<P>) {
        if buffer.has_room(packet.item.size_bytes) {
            buffer.push_back(&mut self.packets, packet);
        } else {
            buffer.drop_packet(now, packet, DropReason::Full);
        }
    }

    fn dequeue(&mut self, now: Nanos, buffer: &mut Buffer<P>) -> Next<P> {
        self.state.dequeue(&self.config, now, &mut self.packets, buffer).into()
    }
}
