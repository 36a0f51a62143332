//! Deficit round robin: Shreedhar, Varghese, "Efficient fair queueing using deficit round robin", SIGCOMM 1995. With weights it
//! shares as weighted fair queueing does, with another bound on the delay. When the buffer is too full the last packet of the longest
//! queue is dropped, as the paper proposes after McKenney.

use super::fattest::Fattest;
use super::{Next, Queue};
use crate::Nanos;
use crate::buffer::{Buffer, Line};
use crate::packet::Waiting;
use std::collections::VecDeque;

/// Parameters of DRR.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Drr {
    /// Number of queues; flow n uses queue n modulo this, so that fewer flows than queues never share one.
    pub queues: u32,
    /// Bytes that a queue of weight 1 may send per turn. Below the largest packet a packet may take several turns.
    pub quantum_bytes: u32,
    /// Weight by class of the packet that begins the turn; classes beyond the last have 1. Not 0.
    pub weights: Vec<u32>,
}

impl Default for Drr {
    fn default() -> Self {
        Drr { queues: 1024, quantum_bytes: 1514, weights: Vec::new() }
    }
}

#[derive(Clone, Copy, Default)]
struct FlowQueue {
    packets: Line,
    deficit: u64,
    /// It is in the round, perhaps emptied since.
    listed: bool,
}

/// DRR at work.
pub(crate) struct DrrQueue {
    config: Drr,
    queues: Vec<FlowQueue>,
    fattest: Fattest,
    round: VecDeque<u32>,
    /// The first queue of the round has got its quantum.
    in_turn: bool,
}

impl DrrQueue {
    pub fn new(config: Drr) -> Self {
        assert!(config.queues > 0 && config.quantum_bytes > 0, "DRR has queues and a quantum");
        assert!(!config.weights.contains(&0), "no weight of DRR is 0");
        let queues = config.queues as usize;
        DrrQueue {
            config,
            queues: vec![FlowQueue::default(); queues],
            fattest: Fattest::new(queues),
            round: VecDeque::with_capacity(queues),
            in_turn: false,
        }
    }

    fn quantum(&self, class: u8) -> u64 {
        let weight = self.config.weights.get(usize::from(class)).copied().unwrap_or(1);
        u64::from(self.config.quantum_bytes) * u64::from(weight)
    }
}

impl<P> Queue<P> for DrrQueue {
    fn enqueue(&mut self, now: Nanos, packet: Waiting<P>, buffer: &mut Buffer<P>) {
        let number = packet.item.flow as usize % self.queues.len();
        let queue = &mut self.queues[number];
        buffer.push_back(&mut queue.packets, packet);
        self.fattest.set(number, queue.packets.bytes());
        if !queue.listed {
            queue.listed = true;
            self.round.push_back(number as u32);
        }
        self.fattest.make_room(now, buffer, |longest, buffer| {
            let line = &mut self.queues[longest].packets;
            (buffer.pop_back(line), line.bytes())
        });
    }

    fn dequeue(&mut self, _now: Nanos, buffer: &mut Buffer<P>) -> Next<P> {
        while let Some(number) = self.round.front().map(|number| *number as usize) {
            let Some(head) = buffer.front(&self.queues[number].packets) else {
                // What an emptied queue did not use it loses.
                (self.queues[number].deficit, self.queues[number].listed) = (0, false);
                self.round.pop_front();
                self.in_turn = false;
                continue;
            };
            let (size, class) = (u64::from(head.item.size_bytes), head.item.class);
            let quantum = self.quantum(class);
            let queue = &mut self.queues[number];
            if !self.in_turn {
                queue.deficit += quantum;
                self.in_turn = true;
            }
            if size > queue.deficit {
                self.round.rotate_left(1);
                self.in_turn = false;
                continue;
            }
            queue.deficit -= size;
            let packet = buffer.pop_front(&mut queue.packets);
            self.fattest.set(number, queue.packets.bytes());
            return packet.into();
        }
        Next::Nothing
    }
}
