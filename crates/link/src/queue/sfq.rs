//! Stochastic fairness queueing: McKenney, "Stochastic fairness queueing", INFOCOM 1990. Flows are hashed to queues, which take turns of
//! one packet; when the buffer is too full the last packet of the longest queue is dropped. The hash changes now and then, so
//! that no two flows collide for long. Packets that wait move to their new queues then, in their order. So no flow is
//! reordered (the paper's would be).

use super::fattest::Fattest;
use super::{Next, Queue, bucket};
use crate::Nanos;
use crate::buffer::{Buffer, Line};
use crate::packet::Waiting;
use rand::Rng;
use rand::rngs::StdRng;
use std::collections::VecDeque;

/// Parameters of SFQ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sfq {
    /// Number of queues that flows are hashed to.
    pub queues: u32,
    /// Time after which the hash changes; `None` is never.
    pub perturbation: Option<Nanos>,
}

impl Default for Sfq {
    /// As many queues as Linux has. The paper asks for a perturbation without a number; 10 s is what `tc-sfq(8)` advises.
    fn default() -> Self {
        Sfq { queues: 1024, perturbation: Some(10_000_000_000) }
    }
}

#[derive(Clone, Copy, Default)]
struct FlowQueue {
    packets: Line,
    /// It is in the round, perhaps emptied since.
    listed: bool,
}

/// SFQ at work.
pub(crate) struct SfqQueue {
    config: Sfq,
    perturbation: u64,
    /// `None` before the first packet, or without perturbation.
    next_perturbation: Option<Nanos>,
    queues: Vec<FlowQueue>,
    /// Empty; the queues of the next hash.
    spare: Vec<FlowQueue>,
    fattest: Fattest,
    round: VecDeque<u32>,
}

impl SfqQueue {
    pub fn new(config: Sfq, rng: &mut StdRng) -> Self {
        assert!(
            config.queues > 0 && config.perturbation != Some(0),
            "SFQ has queues, and a period above 0 if it has one"
        );
        let queues = config.queues as usize;
        SfqQueue {
            config,
            perturbation: rng.random(),
            next_perturbation: None,
            queues: vec![FlowQueue::default(); queues],
            spare: vec![FlowQueue::default(); queues],
            fattest: Fattest::new(queues),
            round: VecDeque::with_capacity(queues),
        }
    }

    fn put<P>(&mut self, packet: Waiting<P>, buffer: &mut Buffer<P>) {
        let number = bucket(packet.item.flow, self.perturbation, self.queues.len());
        let queue = &mut self.queues[number];
        buffer.push_back(&mut queue.packets, packet);
        self.fattest.set(number, queue.packets.bytes());
        if !queue.listed {
            queue.listed = true;
            self.round.push_back(number as u32);
        }
    }

    fn perturb_if_due<P>(&mut self, now: Nanos, buffer: &mut Buffer<P>) {
        let Some(period) = self.config.perturbation else { return };
        let next = *self.next_perturbation.get_or_insert(now + period);
        if now < next {
            return;
        }
        self.next_perturbation = Some(next + ((now - next) / period + 1) * period);
        self.perturbation = buffer.rng.random();
        std::mem::swap(&mut self.queues, &mut self.spare);
        for _ in 0..self.round.len() {
            let Some(number) = self.round.pop_front() else { break };
            self.fattest.set(number as usize, self.queues[number as usize].packets.bytes());
        }
        for number in 0..self.spare.len() {
            let mut old = std::mem::take(&mut self.spare[number]);
            while let Some(packet) = buffer.pop_front(&mut old.packets) {
                self.put(packet, buffer);
            }
        }
    }
}

impl<P> Queue<P> for SfqQueue {
    fn enqueue(&mut self, now: Nanos, packet: Waiting<P>, buffer: &mut Buffer<P>) {
        self.perturb_if_due(now, buffer);
        self.put(packet, buffer);
        self.fattest.make_room(now, buffer, |longest, buffer| {
            let line = &mut self.queues[longest].packets;
            (buffer.pop_back(line), line.bytes())
        });
    }

    fn dequeue(&mut self, now: Nanos, buffer: &mut Buffer<P>) -> Next<P> {
        self.perturb_if_due(now, buffer);
        while let Some(number) = self.round.pop_front() {
            let queue = &mut self.queues[number as usize];
            let packet = buffer.pop_front(&mut queue.packets);
            self.fattest.set(number as usize, queue.packets.bytes());
            queue.listed = !queue.packets.is_empty();
            if queue.listed {
                self.round.push_back(number);
            }
            if let Some(packet) = packet {
                return Next::Packet(packet);
            }
        }
        Next::Nothing
    }
}
