//! What the emulator counts.

use super::histogram::{Histogram, QueueingDelay};
use super::series::Sent;
use crate::snoop::SnoopCounters;
use crate::{DropReason, Ecn, LossReason};
use serde::{Deserialize, Serialize};
use std::ops::Add;

/// Packets of one path in one direction, over all its links.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PathCounters {
    /// Came from the sending host.
    pub offered_packets: u64,
    /// Given to the receiving host.
    pub delivered_packets: u64,
    /// The same in bytes on the wire of the bottleneck.
    pub delivered_wire_bytes: u64,
    /// Dropped for want of room in a buffer.
    pub dropped_full_packets: u64,
    /// Dropped by active queue management before the buffer was full.
    pub dropped_early_packets: u64,
    /// Given the mark "congestion experienced".
    pub marked_packets: u64,
    /// Lost at random on a wire.
    pub lost_packets: u64,
    /// Lost on a wireless link after all its retries.
    pub lost_wireless_packets: u64,
}

impl PathCounters {
    pub(super) fn lost(&mut self, reason: Option<LossReason>) {
        match reason {
            None => {}
            Some(LossReason::Random) => self.lost_packets += 1,
            Some(LossReason::RetriesExhausted) => self.lost_wireless_packets += 1,
        }
    }

    pub(super) fn dropped(&mut self, reason: DropReason) {
        match reason {
            DropReason::Full => self.dropped_full_packets += 1,
            DropReason::Early => self.dropped_early_packets += 1,
        }
    }
}

/// Counters of the flow of one path: of its data, and of what comes back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct FlowCounters {
    /// Data packets that came from the sender.
    pub offered_packets: u64,
    /// Data packets given to the receiver.
    pub delivered_packets: u64,
    /// The same in bytes on the wire of the bottleneck.
    pub delivered_wire_bytes: u64,
    /// Data packets dropped for want of room in a buffer.
    pub dropped_full_packets: u64,
    /// Data packets dropped by active queue management before the buffer was full.
    pub dropped_early_packets: u64,
    /// Data packets given the mark "congestion experienced".
    pub marked_packets: u64,
    /// Data packets lost at random on a wire.
    pub lost_packets: u64,
    /// Data packets lost on a wireless link after all its retries.
    pub lost_wireless_packets: u64,
    /// Packets of the opposite direction that came from the receiver.
    pub return_offered_packets: u64,
    /// Packets of the opposite direction given to the sender.
    pub returned_packets: u64,
    /// Packets of the opposite direction dropped by a queue, for whatever reason.
    pub return_dropped_packets: u64,
    /// Packets of the opposite direction lost after transmission.
    pub return_lost_packets: u64,
}

impl FlowCounters {
    /// From the two directions of a path.
    pub(super) fn new(data: &PathCounters, back: &PathCounters) -> Self {
        FlowCounters {
            offered_packets: data.offered_packets,
            delivered_packets: data.delivered_packets,
            delivered_wire_bytes: data.delivered_wire_bytes,
            dropped_full_packets: data.dropped_full_packets,
            dropped_early_packets: data.dropped_early_packets,
            marked_packets: data.marked_packets,
            lost_packets: data.lost_packets,
            lost_wireless_packets: data.lost_wireless_packets,
            return_offered_packets: back.offered_packets,
            returned_packets: back.delivered_packets,
            return_dropped_packets: back.dropped_full_packets + back.dropped_early_packets,
            return_lost_packets: back.lost_packets + back.lost_wireless_packets,
        }
    }

    /// Data packets that a queue dropped, for whatever reason.
    #[must_use]
    pub fn dropped_packets(&self) -> u64 {
        self.dropped_full_packets + self.dropped_early_packets
    }
}

impl Add for FlowCounters {
    type Output = FlowCounters;

    fn add(self, other: FlowCounters) -> FlowCounters {
        FlowCounters {
            offered_packets: self.offered_packets + other.offered_packets,
            delivered_packets: self.delivered_packets + other.delivered_packets,
            delivered_wire_bytes: self.delivered_wire_bytes + other.delivered_wire_bytes,
            dropped_full_packets: self.dropped_full_packets + other.dropped_full_packets,
            dropped_early_packets: self.dropped_early_packets + other.dropped_early_packets,
            marked_packets: self.marked_packets + other.marked_packets,
            lost_packets: self.lost_packets + other.lost_packets,
            lost_wireless_packets: self.lost_wireless_packets + other.lost_wireless_packets,
            return_offered_packets: self.return_offered_packets + other.return_offered_packets,
            returned_packets: self.returned_packets + other.returned_packets,
            return_dropped_packets: self.return_dropped_packets + other.return_dropped_packets,
            return_lost_packets: self.return_lost_packets + other.return_lost_packets,
        }
    }
}

/// Counters of one transmitter. What was offered was delivered, dropped or lost, or is still in its queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct LinkCounters {
    /// Packets that arrived at its queue.
    pub offered_packets: u64,
    /// Packets that arrived, or are to arrive, at the far end of its wire.
    pub delivered_packets: u64,
    /// Bytes that it transmitted, those of lost packets included.
    pub sent_wire_bytes: u64,
    /// Dropped for want of room in the buffer.
    pub dropped_full_packets: u64,
    /// Dropped by active queue management before the buffer was full.
    pub dropped_early_packets: u64,
    /// Given the mark "congestion experienced".
    pub marked_packets: u64,
    /// Lost at random on the wire.
    pub lost_packets: u64,
    /// Lost after all retries of a wireless link.
    pub lost_wireless_packets: u64,
    /// Waiting or in transmission at the end.
    pub queued_packets: u64,
}

/// What a transmitter's queue was like, packet by packet.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct QueueFigures {
    /// Most bytes in the queue.
    pub queue_max_bytes: u64,
    /// Mean that packets found, themselves included where there was room.
    pub queue_mean_bytes: f64,
    /// Time that packets waited: what the sender's RTT says of it, without the sender.
    pub queueing: QueueingDelay,
}

/// What became of the packets of one codepoint of the ECN field at a transmitter: the field is as they came to it.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct EcnFigures {
    /// Packets that arrived at its queue.
    pub offered_packets: u64,
    /// Given the mark "congestion experienced" here.
    pub marked_packets: u64,
    /// Dropped, for whatever reason.
    pub dropped_packets: u64,
    /// Time that they waited.
    pub queueing: QueueingDelay,
}

/// What a Snoop agent has done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct SnoopFigures {
    /// Segments that it kept.
    pub cached_packets: u64,
    /// Segments that it sent again; those of `timeouts` are among them.
    pub retransmitted_packets: u64,
    /// Segments that it sent again though no ACK asked for it.
    pub timeouts: u64,
    /// ACKs that it did not let go on to the sender.
    pub suppressed_acks: u64,
    /// ACKs that went on to the sender without their blocks of selective acknowledgement.
    pub stripped_acks: u64,
    /// Segments that the mobile had already, and that the agent answered in its place.
    pub answered_packets: u64,
}

impl From<SnoopCounters> for SnoopFigures {
    fn from(counters: SnoopCounters) -> Self {
        SnoopFigures {
            cached_packets: counters.cached_packets,
            retransmitted_packets: counters.retransmitted_packets,
            timeouts: counters.timeouts,
            suppressed_acks: counters.suppressed_acks,
            stripped_acks: counters.stripped_acks,
            answered_packets: counters.answered_packets,
        }
    }
}

/// As [`EcnFigures`].
struct EcnTally {
    offered_packets: u64,
    marked_packets: u64,
    dropped_packets: u64,
    sojourn: Histogram,
}

/// What a transmitter has done, with the delays of its queue.
pub(super) struct LinkTally {
    pub counters: LinkCounters,
    /// By the bits of the codepoint.
    by_ecn: [EcnTally; 4],
    queue_max_bytes: u64,
    /// Sum over arriving packets of the bytes in the queue.
    queue_sum_bytes: u128,
}

impl LinkTally {
    pub fn new() -> Self {
        LinkTally {
            counters: LinkCounters::default(),
            by_ecn: std::array::from_fn(|_| EcnTally {
                offered_packets: 0,
                marked_packets: 0,
                dropped_packets: 0,
                sojourn: Histogram::new(),
            }),
            queue_max_bytes: 0,
            queue_sum_bytes: 0,
        }
    }

    /// A packet has arrived and found room, or not; `queued_bytes` are those of the queue then.
    pub fn arrived(&mut self, ecn: Ecn, queued_bytes: u64) {
        self.counters.offered_packets += 1;
        self.of(ecn).offered_packets += 1;
        self.queue_max_bytes = self.queue_max_bytes.max(queued_bytes);
        self.queue_sum_bytes += u128::from(queued_bytes);
    }

    /// A packet was transmitted.
    pub fn sent(&mut self, ecn: Ecn, sent: Sent, lost: Option<LossReason>) {
        let Sent { wire_bytes, sojourn, marked, lost: _ } = sent;
        let of_codepoint = self.of(ecn);
        of_codepoint.marked_packets += u64::from(marked);
        of_codepoint.sojourn.add(sojourn);
        self.counters.sent_wire_bytes += u64::from(wire_bytes);
        self.counters.marked_packets += u64::from(marked);
        match lost {
            None => self.counters.delivered_packets += 1,
            Some(LossReason::Random) => self.counters.lost_packets += 1,
            Some(LossReason::RetriesExhausted) => self.counters.lost_wireless_packets += 1,
        }
    }

    /// A packet was dropped.
    pub fn dropped(&mut self, ecn: Ecn, reason: DropReason) {
        self.of(ecn).dropped_packets += 1;
        match reason {
            DropReason::Full => self.counters.dropped_full_packets += 1,
            DropReason::Early => self.counters.dropped_early_packets += 1,
        }
    }

    /// What became of each codepoint, by its bits.
    pub fn by_ecn(&self) -> [EcnFigures; 4] {
        self.by_ecn.each_ref().map(|of| EcnFigures {
            offered_packets: of.offered_packets,
            marked_packets: of.marked_packets,
            dropped_packets: of.dropped_packets,
            queueing: of.sojourn.queueing(),
        })
    }

    fn of(&mut self, ecn: Ecn) -> &mut EcnTally {
        &mut self.by_ecn[usize::from(ecn.bits())]
    }

    /// What the queue was like so far; times are from arrival to the start of transmission.
    pub fn queue(&self) -> QueueFigures {
        let mut sojourn = Histogram::new();
        self.by_ecn.iter().for_each(|of| sojourn.merge(&of.sojourn));
        QueueFigures {
            queue_max_bytes: self.queue_max_bytes,
            queue_mean_bytes: self.queue_sum_bytes as f64 / self.counters.offered_packets.max(1) as f64,
            queueing: sojourn.queueing(),
        }
    }
}
