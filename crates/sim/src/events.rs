//! What happens next at the ends of flows: a heap of moments.

use crate::Nanos;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Whose turn it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Turn {
    /// A flow opens its connection, or tries again.
    Open(u32),
    /// The application of a flow writes.
    Write(u32),
    /// A timer of a sender.
    Sender(u32),
    /// A timer of a receiver.
    Receiver(u32),
    /// A source sends a packet.
    Source(u32),
}

/// Moments in order; those of the same nanosecond in the order in which they were planned.
pub struct Events {
    heap: BinaryHeap<Reverse<(Nanos, u64, Turn)>>,
    planned: u64,
}

impl Events {
    pub fn new() -> Events {
        Events { heap: BinaryHeap::new(), planned: 0 }
    }

    pub fn plan(&mut self, at_ns: Nanos, turn: Turn) {
        self.heap.push(Reverse((at_ns, self.planned, turn)));
        self.planned += 1;
    }

    /// When the next one is.
    pub fn next_ns(&self) -> Option<Nanos> {
        self.heap.peek().map(|Reverse((at_ns, ..))| *at_ns)
    }

    /// The next one, of which [`Events::next_ns`] has said that it is there.
    pub fn take(&mut self) -> Turn {
        let Reverse((_, _, turn)) = self.heap.pop().expect("asked before");
        turn
    }
}
