//! The memory that all disciplines work on: packets in lines, how much there is, what was dropped.

use crate::Nanos;
use crate::list::{Arena, List};
use crate::packet::{DropReason, Waiting};
use rand::rngs::StdRng;
use std::collections::VecDeque;

/// How much a queue holds. The packet in transmission counts until its last bit has left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Capacity {
    /// Bytes on the wire.
    Bytes(u64),
    /// Packets of any size.
    Packets(u64),
}

/// Packets in a row, in the memory of a [`Buffer`].
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Line {
    packets: List,
    count: u64,
    bytes: u64,
}

impl Line {
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    pub fn packets(&self) -> u64 {
        self.count
    }

    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}

/// A packet that was dropped and not yet handed back.
pub(crate) struct Dropped<P> {
    pub packet: P,
    pub at: Nanos,
    pub reason: DropReason,
}

/// Buffer of one link.
pub(crate) struct Buffer<P> {
    arena: Arena<Waiting<P>>,
    dropped: VecDeque<Dropped<P>>,
    capacity: Capacity,
    bytes: u64,
    packets: u64,
    /// Size of the packet in transmission; 0 when there is none.
    transmitting_bytes: u64,
    /// Rate of the link now, in bit/s; during an outage the one before it. Never 0.
    pub rate_bps: u64,
    /// Randomness of the discipline; that of the wire is another.
    pub rng: StdRng,
}

impl<P> Buffer<P> {
    pub fn new(capacity: Capacity, rng: StdRng) -> Self {
        Buffer {
            arena: Arena::new(),
            dropped: VecDeque::new(),
            capacity,
            bytes: 0,
            packets: 0,
            transmitting_bytes: 0,
            rate_bps: 1,
            rng,
        }
    }

    pub fn reserve(&mut self, packets: usize) {
        self.arena.reserve(packets);
        self.dropped.reserve(packets.saturating_sub(self.dropped.len()));
    }

    /// Packets waiting.
    pub fn waiting_packets(&self) -> u64 {
        self.packets
    }

    /// Bytes waiting or in transmission.
    pub fn occupied_bytes(&self) -> u64 {
        self.bytes + self.transmitting_bytes
    }

    /// Packets waiting or in transmission.
    pub fn occupied_packets(&self) -> u64 {
        self.packets + u64::from(self.transmitting_bytes > 0)
    }

    /// What is in transmission from now on: 0 for nothing.
    pub fn set_transmitting(&mut self, bytes: u64) {
        self.transmitting_bytes = bytes;
    }

    /// There is more than this.
    pub fn is_above(&self, threshold: Capacity) -> bool {
        match threshold {
            Capacity::Bytes(limit) => self.occupied_bytes() > limit,
            Capacity::Packets(limit) => self.occupied_packets() > limit,
        }
    }

    /// One more packet of that size fits.
    pub fn has_room(&self, size_bytes: u32) -> bool {
        match self.capacity {
            Capacity::Bytes(limit) => self.occupied_bytes() + u64::from(size_bytes) <= limit,
            Capacity::Packets(limit) => self.occupied_packets() < limit,
        }
    }

    /// There is more in it than fits: a discipline that takes a packet in first has to drop one.
    pub fn is_overfull(&self) -> bool {
        self.is_above(self.capacity)
    }

    pub fn push_back(&mut self, line: &mut Line, packet: Waiting<P>) {
        let bytes = u64::from(packet.item.size_bytes);
        (self.bytes, self.packets) = (self.bytes + bytes, self.packets + 1);
        (line.bytes, line.count) = (line.bytes + bytes, line.count + 1);
        self.arena.push_back(&mut line.packets, packet);
    }

    pub fn pop_front(&mut self, line: &mut Line) -> Option<Waiting<P>> {
        let packet = self.arena.pop_front(&mut line.packets)?;
        self.forget(line, &packet);
        Some(packet)
    }

    pub fn pop_back(&mut self, line: &mut Line) -> Option<Waiting<P>> {
        let packet = self.arena.pop_back(&mut line.packets)?;
        self.forget(line, &packet);
        Some(packet)
    }

    pub fn front(&self, line: &Line) -> Option<&Waiting<P>> {
        self.arena.front(&line.packets)
    }

    fn forget(&mut self, line: &mut Line, packet: &Waiting<P>) {
        let bytes = u64::from(packet.item.size_bytes);
        (self.bytes, self.packets) = (self.bytes - bytes, self.packets - 1);
        (line.bytes, line.count) = (line.bytes - bytes, line.count - 1);
    }

    /// Takes note of a packet that is in no line any more.
    pub fn drop_packet(&mut self, at: Nanos, packet: Waiting<P>, reason: DropReason) {
        self.dropped.push_back(Dropped { packet: packet.item.packet, at, reason });
    }

    pub fn first_dropped(&self) -> Option<&Dropped<P>> {
        self.dropped.front()
    }

    pub fn take_dropped(&mut self) -> Option<Dropped<P>> {
        self.dropped.pop_front()
    }
}
