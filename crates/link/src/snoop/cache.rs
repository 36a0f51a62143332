//! Segments that the agent keeps until the mobile has acknowledged them: one memory for all connections.

use super::segment::before;
use super::{Action, SnoopCounters};
use crate::list::{Arena, List};
use std::collections::VecDeque;

/// A packet counts as at least so many bytes, so that a bound in bytes bounds the number of packets too. Ours.
pub(super) const LEAST_BYTES: u64 = 256;

/// A segment that may have to be sent once more.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cached<P> {
    pub packet: P,
    pub seq: u32,
    /// The number behind its last byte.
    pub end: u32,
    /// What it counts in the cache.
    pub bytes: u64,
    /// Position of its last transmission among all of its connection.
    pub order: u64,
    /// The mobile has it, though something before it is missing.
    pub sacked: bool,
    /// The sender has sent it again, or for the first time after later ones: it was lost before the agent.
    pub by_sender: bool,
    /// How often the agent has sent it again.
    pub repeats: u32,
}

/// What all connections of an agent share.
pub(super) struct Shared<P> {
    arena: Arena<Cached<P>>,
    used_bytes: u64,
    capacity_bytes: u64,
    pub actions: VecDeque<Action<P>>,
    pub counters: SnoopCounters,
}

impl<P: Copy> Shared<P> {
    /// Allocates everything; `others` are packets that are kept beside the cache.
    pub fn new(capacity_bytes: u64, others: usize) -> Self {
        let packets = (capacity_bytes / LEAST_BYTES) as usize;
        let mut arena = Arena::new();
        arena.reserve(packets);
        // In one call the whole cache can be given back, and every hole of it be sent again.
        let actions = VecDeque::with_capacity(2 * packets + others + 4);
        Shared { arena, used_bytes: 0, capacity_bytes, actions, counters: SnoopCounters::default() }
    }

    pub fn used_bytes(&self) -> u64 {
        self.used_bytes
    }

    /// Keeps a segment in the order of sequence numbers, where there is room.
    pub fn keep(&mut self, list: &mut List, mut cached: Cached<P>) {
        cached.bytes = cached.bytes.max(LEAST_BYTES);
        if self.used_bytes + cached.bytes > self.capacity_bytes {
            return;
        }
        let mut previous = self.arena.last(list);
        while let Some(node) = previous.filter(|node| before(cached.seq, self.arena.value(*node).seq)) {
            previous = self.arena.previous(node);
        }
        self.used_bytes += cached.bytes;
        self.counters.cached_packets += 1;
        self.actions.push_back(Action::Keep(cached.packet));
        self.arena.insert_after(list, previous, cached);
    }

    /// The segment with the lowest number.
    pub fn front(&self, list: &List) -> Option<&Cached<P>> {
        self.arena.front(list)
    }

    /// The place of the segment with the lowest number.
    pub fn first(&self, list: &List) -> Option<u32> {
        self.arena.first(list)
    }

    /// The place of the segment behind one.
    pub fn next(&self, place: u32) -> Option<u32> {
        self.arena.next(place)
    }

    /// The segment at a place.
    pub fn at(&mut self, place: u32) -> &mut Cached<P> {
        self.arena.value_mut(place)
    }

    /// Sends a segment again; `order` is that of a transmission now.
    pub fn repeat(&mut self, place: u32, order: u64) {
        let cached = self.arena.value_mut(place);
        cached.order = order;
        cached.repeats += 1;
        self.counters.retransmitted_packets += 1;
        self.actions.push_back(Action::Retransmit(cached.packet));
    }

    /// Gives back the first segments that end at or before `ack`.
    pub fn free_to(&mut self, list: &mut List, ack: u32) {
        while self.front(list).is_some_and(|front| !before(ack, front.end)) {
            self.free_front(list);
        }
    }

    /// Gives back all.
    pub fn free_all(&mut self, list: &mut List) {
        while self.free_front(list) {}
    }

    /// Gives back the segment with these numbers.
    pub fn free(&mut self, list: &mut List, seq: u32, end: u32) {
        let mut next = self.arena.first(list);
        while let Some(node) = next {
            let cached = *self.arena.value(node);
            if cached.seq == seq && cached.end == end {
                self.arena.remove(list, node);
                return self.freed(cached);
            }
            next = self.arena.next(node);
        }
    }

    fn free_front(&mut self, list: &mut List) -> bool {
        let front = self.arena.pop_front(list);
        if let Some(cached) = front {
            self.freed(cached);
        }
        front.is_some()
    }

    fn freed(&mut self, cached: Cached<P>) {
        self.used_bytes -= cached.bytes;
        self.actions.push_back(Action::Release(cached.packet));
    }
}
