//! Fair queueing by flow with CoDel on each: RFC 8290. Two things differ. When the buffer is too full, as many packets as
//! needed are dropped from the head of the longest queue, one after the other: a heap finds it in O(log n). The RFC's
//! implementation drops a batch because it has to search. And "hash" collisions are those of our hash.

use super::fattest::Fattest;
use super::{CoDel, Next, Queue, bucket, codel};
use crate::Nanos;
use crate::buffer::{Buffer, Line};
use crate::packet::Waiting;
use rand::Rng;
use rand::rngs::StdRng;
use std::collections::VecDeque;

/// Parameters of FQ-CoDel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FqCoDel {
    /// CoDel of every queue.
    pub codel: CoDel,
    /// Number of queues that flows are hashed to.
    pub queues: u32,
    /// Bytes that a queue may send per turn.
    pub quantum_bytes: u32,
}

impl Default for FqCoDel {
    /// Section 5.2; ECN is on, as in Linux.
    fn default() -> Self {
        FqCoDel { codel: CoDel { ecn: true, ..CoDel::default() }, queues: 1024, quantum_bytes: 1514 }
    }
}

#[derive(Clone, Copy, Default)]
struct FlowQueue {
    packets: Line,
    codel: codel::State,
    /// Bytes that it may still send in this turn; may be below 0.
    credits: i64,
    /// In one of the two lists.
    listed: bool,
}

/// FQ-CoDel at work.
pub(crate) struct FqCoDelQueue {
    config: FqCoDel,
    perturbation: u64,
    queues: Vec<FlowQueue>,
    fattest: Fattest,
    new: VecDeque<u32>,
    old: VecDeque<u32>,
}

impl FqCoDelQueue {
    pub fn new(config: FqCoDel, rng: &mut StdRng) -> Self {
        assert!(config.queues > 0 && config.quantum_bytes > 0, "FQ-CoDel has queues and a quantum");
        let queues = config.queues as usize;
        FqCoDelQueue {
            config,
            perturbation: rng.random(),
            queues: vec![FlowQueue::default(); queues],
            fattest: Fattest::new(queues),
            new: VecDeque::with_capacity(queues),
            old: VecDeque::with_capacity(queues),
        }
    }
}

impl<P> Queue<P> for FqCoDelQueue {
    /// Section 4.1.
    fn enqueue(&mut self, now: Nanos, packet: Waiting<P>, buffer: &mut Buffer<P>) {
        let number = bucket(packet.item.flow, self.perturbation, self.queues.len());
        let queue = &mut self.queues[number];
        buffer.push_back(&mut queue.packets, packet);
        self.fattest.set(number, queue.packets.bytes());
        if !queue.listed {
            queue.listed = true;
            queue.credits = i64::from(self.config.quantum_bytes);
            self.new.push_back(number as u32);
        }
        self.fattest.make_room(now, buffer, |longest, buffer| {
            let line = &mut self.queues[longest].packets;
            (buffer.pop_front(line), line.bytes())
        });
    }

    /// Section 4.2.
    fn dequeue(&mut self, now: Nanos, buffer: &mut Buffer<P>) -> Next<P> {
        loop {
            let is_new = !self.new.is_empty();
            let list = if is_new { &mut self.new } else { &mut self.old };
            let Some(number) = list.front().copied() else { return Next::Nothing };
            let queue = &mut self.queues[number as usize];
            if queue.credits <= 0 {
                queue.credits += i64::from(self.config.quantum_bytes);
                list.pop_front();
                self.old.push_back(number);
                continue;
            }
            let packet = queue.codel.dequeue(&self.config.codel, now, &mut queue.packets, buffer);
            self.fattest.set(number as usize, queue.packets.bytes());
            if let Some(packet) = packet {
                queue.credits -= i64::from(packet.item.size_bytes);
                return Next::Packet(packet);
            }
            list.pop_front();
            // A new queue that has sent everything waits among the old ones first, so that it cannot be new again at once.
            if is_new {
                self.old.push_back(number);
            } else {
                queue.listed = false;
            }
        }
    }
}
