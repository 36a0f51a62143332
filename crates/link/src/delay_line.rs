//! What is on the wire.

use crate::Nanos;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Packets on their way, in the order in which they arrive; those that arrive at one time in the order in which they were put in.
pub struct DelayLine<P> {
    /// Time, number and place of each: what is moved while it is put in order is short, and packets stay where they are.
    heap: BinaryHeap<Reverse<(Nanos, u64, u32)>>,
    places: Vec<Option<P>>,
    free: Vec<u32>,
    /// Number of packets ever put in.
    sequence: u64,
}

impl<P> DelayLine<P> {
    /// An empty one with room for `packets` before it allocates.
    #[must_use]
    pub fn with_capacity(packets: usize) -> Self {
        DelayLine {
            heap: BinaryHeap::with_capacity(packets),
            places: Vec::with_capacity(packets),
            free: Vec::with_capacity(packets),
            sequence: 0,
        }
    }

    /// Puts a packet in that arrives at `due`.
    pub fn push(&mut self, due: Nanos, packet: P) {
        let place = match self.free.pop() {
            Some(place) => {
                self.places[place as usize] = Some(packet);
                place
            }
            None => {
                self.places.push(Some(packet));
                self.places.len() as u32 - 1
            }
        };
        self.heap.push(Reverse((due, self.sequence, place)));
        self.sequence += 1;
    }

    /// When the next packet arrives.
    #[must_use]
    pub fn next_due(&self) -> Option<Nanos> {
        self.heap.peek().map(|Reverse((due, ..))| *due)
    }

    /// The next packet that has arrived by `now`, with the time at which it did.
    pub fn pop(&mut self, now: Nanos) -> Option<(Nanos, P)> {
        if self.next_due()? > now {
            return None;
        }
        let Reverse((due, _, place)) = self.heap.pop()?;
        self.free.push(place);
        Some((due, self.places[place as usize].take()?))
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
