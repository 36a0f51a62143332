//! What is on the wire.

use crate::Nanos;
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

struct Travelling<P> {
    due: Nanos,
    sequence: u64,
    packet: P,
}

impl<P> Travelling<P> {
    fn key(&self) -> (Nanos, u64) {
        (self.due, self.sequence)
    }
}

impl<P> PartialEq for Travelling<P> {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl<P> Eq for Travelling<P> {}

impl<P> PartialOrd for Travelling<P> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<P> Ord for Travelling<P> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key().cmp(&other.key())
    }
}

/// Packets on their way, in the order in which they arrive; those that arrive at one time in the order in which they were put in.
pub struct DelayLine<P> {
    heap: BinaryHeap<Reverse<Travelling<P>>>,
    /// Number of packets ever put in.
    sequence: u64,
}

impl<P> DelayLine<P> {
    /// An empty one with room for `packets` before it allocates.
    #[must_use]
    pub fn with_capacity(packets: usize) -> Self {
        DelayLine { heap: BinaryHeap::with_capacity(packets), sequence: 0 }
    }

    /// Puts a packet in that arrives at `due`.
    pub fn push(&mut self, due: Nanos, packet: P) {
        self.heap.push(Reverse(Travelling { due, sequence: self.sequence, packet }));
        self.sequence += 1;
    }

    /// When the next packet arrives.
    #[must_use]
    pub fn next_due(&self) -> Option<Nanos> {
        self.heap.peek().map(|Reverse(next)| next.due)
    }

    /// The next packet that has arrived by `now`, with the time at which it did.
    pub fn pop(&mut self, now: Nanos) -> Option<(Nanos, P)> {
        if self.next_due()? > now {
            return None;
        }
        self.heap.pop().map(|Reverse(next)| (next.due, next.packet))
    }

    /// Packets on their way.
    #[must_use]
    pub fn len(&self) -> usize {
        self.heap.len()
    }

    /// Nothing is on its way.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.heap.is_empty()
    }
}
