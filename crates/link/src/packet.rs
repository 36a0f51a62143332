//! What goes into a link and what comes out.

use crate::Nanos;

/// A packet on its way into a link, with what disciplines look at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Item<P> {
    /// The caller's.
    pub packet: P,
    /// Bytes on the wire; not zero.
    pub size_bytes: u32,
    /// Flow, as fair queueing tells them apart.
    pub flow: u32,
    /// Class, for sharing by class and for weights.
    pub class: u8,
    /// A TCP segment that acknowledges and carries no data.
    pub is_ack: bool,
    /// What its sender makes of marks.
    pub ecn: Ecn,
}

/// The ECN field of an IP header: RFC 3168 section 5, RFC 9331 section 4.1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Ecn {
    /// The sender understands no mark: 00.
    #[default]
    NotCapable,
    /// A scalable sender, which is to have little delay: 01.
    Ect1,
    /// A classic sender, to which a mark is a loss: 10.
    Ect0,
    /// Marked already: 11.
    Ce,
}

impl Ecn {
    /// Of the two lowest bits of IPv4's type of service or of IPv6's traffic class; the others do not matter.
    #[must_use]
    pub fn of_bits(bits: u8) -> Ecn {
        [Ecn::NotCapable, Ecn::Ect1, Ecn::Ect0, Ecn::Ce][usize::from(bits & 0b11)]
    }

    /// The two bits.
    #[must_use]
    pub fn bits(self) -> u8 {
        self as u8
    }

    /// The sender understands a mark.
    #[must_use]
    pub fn is_capable(self) -> bool {
        self != Ecn::NotCapable
    }

    /// Belongs to the queue with little delay: ECT(1), and CE, of which nobody knows what it was (RFC 9331 section 5.1).
    #[must_use]
    pub fn is_l4s(self) -> bool {
        matches!(self, Ecn::Ect1 | Ecn::Ce)
    }
}

/// What [`Link::pop`](crate::Link::pop) gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Output<P> {
    /// Transmitted.
    Sent(Departure<P>),
    /// Taken out by the discipline before transmission, or never taken in.
    Dropped {
        /// The caller's.
        packet: P,
        /// When.
        at: Nanos,
        /// Why.
        reason: DropReason,
    },
}

/// A packet that has left the link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Departure<P> {
    /// The caller's.
    pub packet: P,
    /// When its last bit left.
    pub at: Nanos,
    /// When it reaches the far end; without reordering never before the one that left before it.
    pub due: Nanos,
    /// Time it took to transmit, retransmissions of a wireless link included.
    pub transmission: Nanos,
    /// From its arrival to the start of its transmission: the queueing delay.
    pub sojourn: Nanos,
    /// The transmitter was busy right before it.
    pub back_to_back: bool,
    /// It is to carry the mark "congestion experienced"; only ECN-capable packets are.
    pub marked: bool,
    /// It was transmitted but does not arrive.
    pub lost: Option<LossReason>,
}

/// Why a packet was dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DropReason {
    /// The buffer had no room: for it, or for one that the discipline preferred to it.
    Full,
    /// Active queue management: to tell the sender, or to shorten the queue, before the buffer is full.
    Early,
}

/// Why a packet that was transmitted does not arrive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LossReason {
    /// Random loss on the wire.
    Random,
    /// All attempts of a wireless link failed.
    RetriesExhausted,
}

/// A packet in a queue.
#[derive(Debug)]
pub(crate) struct Waiting<P> {
    pub item: Item<P>,
    /// When it came.
    pub since: Nanos,
    pub marked: bool,
    /// When generalised processor sharing is done with it, in virtual time; for the disciplines that follow that.
    pub finish: u128,
}

impl<P> Waiting<P> {
    /// Marks it if its sender allows that; false when the signal has to be a drop.
    pub fn mark(&mut self) -> bool {
        let is_capable = self.item.ecn.is_capable();
        self.marked |= is_capable;
        is_capable
    }
}
