//! What RED, exponential RED, REM, PIE and a policer have in common: one first-in-first-out queue, and a decision on arrival.

use super::{Next, Queue};
use crate::Nanos;
use crate::buffer::{Buffer, Line};
use crate::packet::{DropReason, Waiting};
use rand::rngs::StdRng;

/// A packet that arrives, and what it finds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Arrival {
    pub now: Nanos,
    pub size_bytes: u32,
    /// Waiting or in transmission, without the packet itself.
    pub queued_bytes: u64,
    /// Waiting or in transmission, without the packet itself.
    pub queued_packets: u64,
    /// There is room for it; if not it is dropped, whatever the verdict.
    pub fits: bool,
    pub ecn_capable: bool,
    /// Rate of the link in bit/s.
    pub rate_bps: u64,
}

/// The transmitter was free, and what is there now.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Departure {
    pub now: Nanos,
    /// Queueing delay of the packet that begins to leave; `None` when nothing waited and the link is idle.
    pub sojourn: Option<Nanos>,
    /// Waiting or in transmission, the packet that begins to leave included.
    pub queued_packets: u64,
}

/// What is to become of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    Keep,
    /// Only ECN-capable packets.
    Mark,
    Drop,
}

impl Arrival {
    /// The sender is to know: by a mark if that is allowed and understood, or else by the loss.
    pub fn signal(&self, ecn: bool) -> Verdict {
        if ecn && self.ecn_capable { Verdict::Mark } else { Verdict::Drop }
    }

    /// With this verdict the packet enters the queue.
    pub fn enters(&self, verdict: Verdict) -> bool {
        self.fits && verdict != Verdict::Drop
    }
}

/// Decides about packets that arrive.
pub(crate) trait Judge: Send {
    fn judge(&mut self, arrival: &Arrival, rng: &mut StdRng) -> Verdict;

    /// Called whenever the transmitter was free.
    fn departed(&mut self, departure: &Departure);
}

/// A first-in-first-out queue whose arrivals are judged.
pub(crate) struct Judged<J> {
    packets: Line,
    judge: J,
}

impl<J: Judge> Judged<J> {
    pub fn by(judge: J) -> Self {
        Judged { packets: Line::default(), judge }
    }
}

impl<P, J: Judge> Queue<P> for Judged<J> {
    fn enqueue(&mut self, now: Nanos, mut packet: Waiting<P>, buffer: &mut Buffer<P>) {
        let fits = buffer.has_room(packet.item.size_bytes);
        let arrival = Arrival {
            now,
            size_bytes: packet.item.size_bytes,
            queued_bytes: buffer.occupied_bytes(),
            queued_packets: buffer.occupied_packets(),
            fits,
            ecn_capable: packet.item.ecn.is_capable(),
            rate_bps: buffer.rate_bps,
        };
        match self.judge.judge(&arrival, &mut buffer.rng) {
            _ if !fits => buffer.drop_packet(now, packet, DropReason::Full),
            Verdict::Drop => buffer.drop_packet(now, packet, DropReason::Early),
            verdict => {
                packet.marked |= verdict == Verdict::Mark;
                buffer.push_back(&mut self.packets, packet);
            }
        }
    }

    fn dequeue(&mut self, now: Nanos, buffer: &mut Buffer<P>) -> Next<P> {
        let packet = buffer.pop_front(&mut self.packets);
        let sojourn = packet.as_ref().map(|packet| now - packet.since);
        let queued_packets = self.packets.packets() + u64::from(packet.is_some());
        self.judge.departed(&Departure { now, sojourn, queued_packets });
        packet.into()
    }
}
