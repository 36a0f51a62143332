//! Queue disciplines: who waits, who leaves next, who is dropped or marked. One file each.

mod drop_tail;

use crate::Nanos;
use crate::buffer::Buffer;
use crate::packet::Waiting;

/// Which discipline a link has.
#[derive(Debug, Clone, PartialEq)]
pub enum Discipline {
    /// First in, first out; what finds no room is refused.
    DropTail,
    /// First in, first out; the oldest packet makes room for the newest.
    DropHead,
}

/// What a discipline answers when the transmitter is free.
pub(crate) enum Next<P> {
    /// This one leaves.
    Packet(Waiting<P>),
    /// Nothing before this time, unless a packet arrives. Only disciplines that limit a class answer so.
    Later(Nanos),
    /// Nothing waits.
    Nothing,
}

impl<P> From<Option<Waiting<P>>> for Next<P> {
    fn from(packet: Option<Waiting<P>>) -> Self {
        packet.map_or(Next::Nothing, Next::Packet)
    }
}

/// A discipline at work. It keeps its packets in lists of the buffer and hands what it drops to
/// [`Buffer::drop_packet`]. Times do not descend.
pub(crate) trait Queue<P>: Send {
    /// Makes room for `packets` in all.
    fn reserve(&mut self, _packets: usize) {}

    /// A packet arrives at `now`.
    fn enqueue(&mut self, now: Nanos, packet: Waiting<P>, buffer: &mut Buffer<P>);

    /// The transmitter is free at `now`.
    fn dequeue(&mut self, now: Nanos, buffer: &mut Buffer<P>) -> Next<P>;
}

impl Discipline {
    pub(crate) fn queue<P>(self) -> Box<dyn Queue<P>> {
        match self {
            Discipline::DropTail => Box::new(drop_tail::DropTail::default()),
            Discipline::DropHead => Box::new(drop_tail::DropHead::default()),
        }
    }
}
