//! What happens next: a heap of moments.

use crate::Nanos;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Whose turn it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Turn {
    /// A link has something to hand over.
    Link(u32),
    /// Something reaches the far end of a link's wire.
    Wire(u32),
    /// An ACK reaches its sender without a link.
    Return(u32),
    /// A timer of a sender.
    Sender(u32),
    /// A timer of a receiver.
    Receiver(u32),
    /// The application of a flow writes.
    Application(u32),
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

    /// The next one up to `until_ns`.
    pub fn take(&mut self, until_ns: Nanos) -> Option<(Nanos, Turn)> {
        let &Reverse((at_ns, _, turn)) = self.heap.peek()?;
        (at_ns <= until_ns).then(|| {
            self.heap.pop();
            (at_ns, turn)
        })
    }
}
