//! What every discipline does, and what several have in common.

use crate::Nanos;
use crate::buffer::Buffer;
use crate::packet::Waiting;

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

/// A discipline at work. It keeps its packets in lines of the buffer and hands what it drops to
/// [`Buffer::drop_packet`]. Times do not descend. Nothing allocates.
pub(crate) trait Queue<P>: Send {
    /// A packet arrives at `now`.
    fn enqueue(&mut self, now: Nanos, packet: Waiting<P>, buffer: &mut Buffer<P>);

    /// The transmitter is free at `now`. With nothing waiting this is the beginning of an idle time.
    fn dequeue(&mut self, now: Nanos, buffer: &mut Buffer<P>) -> Next<P>;
}

/// Which of `queues` a flow belongs to; another perturbation scatters the flows anew. The finalizer of
/// MurmurHash3 (Appleby 2011), of which every bit depends on every bit of the flow.
pub(super) fn bucket(flow: u32, perturbation: u64, queues: usize) -> usize {
    let mut hash = u64::from(flow) ^ perturbation;
    for factor in [0xff51_afd7_ed55_8ccd, 0xc4ce_b9fe_1a85_ec53] {
        hash = (hash ^ hash >> 33).wrapping_mul(factor);
    }
    ((hash ^ hash >> 33) % queues as u64) as usize
}
