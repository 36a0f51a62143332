//! A Snoop agent with a caller that checks the handles of packets.

#![allow(dead_code, reason = "every test file uses its part")]

use ccactl_link::Nanos;
use ccactl_link::snoop::{Action, Sack, Segment, Snoop};
use std::collections::HashMap;

pub const MS: Nanos = 1_000_000;
/// Bytes of a full segment, and of its packet.
pub const FULL: u32 = 1000;
pub const PACKET: u32 = 1040;
/// Room for everything.
pub const ROOMY: u64 = 1 << 20;
/// The only connection of most tests.
pub const ONE: u64 = 1;

/// Full segment number `n` from `base`.
pub fn segment(base: u32, n: u32) -> Segment {
    bytes(base.wrapping_add(n.wrapping_mul(FULL)), FULL)
}

/// So many bytes from `seq` on.
pub fn bytes(seq: u32, payload_bytes: u32) -> Segment {
    Segment { seq, payload_bytes, ack: Some(1), window: 100, ..Segment::default() }
}

/// An ACK without data.
pub fn ack(number: u32) -> Segment {
    Segment { seq: 1, ack: Some(number), window: 500, ..Segment::default() }
}

/// An ACK with blocks.
pub fn sacked(number: u32, blocks: &[(u32, u32)]) -> Segment {
    let mut sack = Sack::default();
    blocks.iter().for_each(|(left, right)| sack.push(*left, *right));
    Segment { sack, ..ack(number) }
}

/// An agent, with what it keeps.
pub struct Agent {
    pub snoop: Snoop<u32>,
    kept: HashMap<u32, i32>,
    cache_bytes: u64,
}

impl Agent {
    pub fn new(cache_bytes: u64) -> Self {
        Agent { snoop: Snoop::new(cache_bytes), kept: HashMap::new(), cache_bytes }
    }

    /// Offers a packet to the mobile and gives what is done, without what is kept and released.
    pub fn data(&mut self, now: Nanos, segment: Segment, packet: u32) -> Vec<Action<u32>> {
        self.snoop.data(now, ONE, &segment, packet, segment.payload_bytes + PACKET - FULL);
        self.actions()
    }

    /// Offers a packet from the mobile.
    pub fn ack(&mut self, now: Nanos, segment: Segment, packet: u32) -> Vec<Action<u32>> {
        self.snoop.ack(now, ONE, &segment, packet);
        self.actions()
    }

    /// Lets timers end.
    pub fn wake(&mut self, now: Nanos) -> Vec<Action<u32>> {
        self.snoop.wake(now);
        self.actions()
    }

    /// The segments `numbers` as packets of the same numbers, all of them new.
    pub fn send(&mut self, now: Nanos, base: u32, numbers: std::ops::Range<u32>) {
        for n in numbers {
            assert_eq!(self.data(now, segment(base, n), n), [Action::Forward(n)]);
        }
    }

    /// Segments and ACKs that it keeps.
    pub fn kept(&self) -> Vec<u32> {
        let mut kept: Vec<u32> = self.kept.keys().copied().collect();
        kept.sort_unstable();
        kept
    }

    fn actions(&mut self) -> Vec<Action<u32>> {
        let mut rest = Vec::new();
        while let Some(action) = self.snoop.pop() {
            match action {
                Action::Keep(packet) => *self.kept.entry(packet).or_default() += 1,
                Action::Release(packet) => {
                    let count = self.kept.get_mut(&packet).expect("only what is kept is released");
                    *count -= 1;
                    if *count == 0 {
                        self.kept.remove(&packet);
                    }
                }
                Action::Retransmit(packet) | Action::Acknowledge(packet) => {
                    assert!(self.kept.contains_key(&packet), "packet {packet} is not kept");
                    rest.push(action);
                }
                Action::Forward(_) | Action::ForwardWithoutSack(_) | Action::Drop(_) => rest.push(action),
            }
        }
        assert!(self.snoop.cached_bytes() <= self.cache_bytes);
        rest
    }
}
