//! The longest of many queues, or the first by another key, in O(log n) per change: an indexed binary heap.

use crate::Nanos;
use crate::buffer::Buffer;
use crate::packet::{DropReason, Waiting};
use std::cmp::Reverse;

/// Lengths of queues by number; an empty one has the default.
pub(crate) struct Fattest<K = u64> {
    lengths: Vec<K>,
    /// Numbers of queues, each not longer than the one at half its position.
    heap: Vec<u32>,
    /// Position of every queue in the heap.
    positions: Vec<u32>,
}

/// Queues by a time, of which the earliest is the first; `None` is an empty one.
pub(crate) type Earliest = Fattest<Option<Reverse<u128>>>;

impl Earliest {
    /// Time of a queue.
    pub fn time(&self, queue: usize) -> Option<u128> {
        self.lengths[queue].map(|Reverse(time)| time)
    }

    /// Queue `queue` has this time now.
    pub fn set_time(&mut self, queue: usize, time: Option<u128>) {
        self.set(queue, time.map(Reverse));
    }
}

impl<K: Ord + Copy + Default> Fattest<K> {
    /// `queues` empty ones.
    pub fn new(queues: usize) -> Self {
        let numbers: Vec<u32> = (0..u32::try_from(queues).expect("fewer queues than 2^32")).collect();
        Fattest { lengths: vec![K::default(); queues], positions: numbers.clone(), heap: numbers }
    }

    /// The longest queue, if any is not empty; of equal ones that with the lowest number.
    pub fn first(&self) -> Option<usize> {
        let queue = *self.heap.first()? as usize;
        (self.lengths[queue] > K::default()).then_some(queue)
    }

    /// Queue `queue` has this length now.
    pub fn set(&mut self, queue: usize, length: K) {
        self.lengths[queue] = length;
        let position = self.positions[queue] as usize;
        if !self.rise(position) {
            self.sink(position);
        }
    }

    /// Drops of the longest queue, one packet after the other, until the rest fits. `take` takes a packet out of a queue and gives
    /// it with the length that is left.
    pub fn make_room<P>(
        &mut self,
        now: Nanos,
        buffer: &mut Buffer<P>,
        mut take: impl FnMut(usize, &mut Buffer<P>) -> (Option<Waiting<P>>, K),
    ) {
        while buffer.is_overfull() {
            let Some(longest) = self.first() else { return };
            let (packet, length) = take(longest, buffer);
            if let Some(packet) = packet {
                buffer.drop_packet(now, packet, DropReason::Full);
            }
            self.set(longest, length);
        }
    }

    /// The queue at position `a` belongs above the one at `b`.
    fn above(&self, a: usize, b: usize) -> bool {
        let key = |position: usize| {
            let queue = self.heap[position];
            (self.lengths[queue as usize], Reverse(queue))
        };
        key(a) > key(b)
    }

    fn swap(&mut self, a: usize, b: usize) {
        self.heap.swap(a, b);
        self.positions[self.heap[a] as usize] = a as u32;
        self.positions[self.heap[b] as usize] = b as u32;
    }

    fn rise(&mut self, mut position: usize) -> bool {
        let start = position;
        while position > 0 && self.above(position, (position - 1) / 2) {
            self.swap(position, (position - 1) / 2);
            position = (position - 1) / 2;
        }
        position != start
    }

    fn sink(&mut self, mut position: usize) {
        loop {
            let children = [2 * position + 1, 2 * position + 2].into_iter().filter(|child| *child < self.heap.len());
            let larger = children.reduce(|left, right| if self.above(right, left) { right } else { left });
            match larger {
                Some(child) if self.above(child, position) => self.swap(position, child),
                _ => return,
            }
            position = larger.expect("matched above");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_longest_is_the_one_that_a_search_finds(
            changes in prop::collection::vec((0..7_usize, 0..20_u64), 0..200),
        ) {
            let (mut fattest, mut lengths) = (Fattest::new(7), [0; 7]);
            for (queue, length) in changes {
                fattest.set(queue, length);
                lengths[queue] = length;
                let most = *lengths.iter().max().unwrap();
                let first = lengths.iter().position(|length| *length == most).filter(|_| most > 0);
                prop_assert_eq!(fattest.first(), first);
            }
        }
    }
}
