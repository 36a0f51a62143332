//! Weighted fair queueing, which is packet-by-packet generalised processor sharing (`sharing.rs` has the sources). Parekh and
//! Gallager, theorem 1: a packet has left at most L / C after GPS would have been done with it, where L is the largest packet
//! and C the rate. A queue with weight share g of the link, whose arrivals keep a token bucket (σ, ρ ≤ g), therefore waits
//! at most σ / g + L / C. Over n such links, with one g for all: σ / g + (n − 1) l / g + n L / C, where l is the flow's own
//! largest packet ("… the multiple node case", IEEE/ACM ToN 2(2), 1994). In the papers nothing is dropped; here it is the tail of
//! the queue that is the longest in proportion to its weight.

use super::sharing::Sharing;
use super::{Next, Queue};
use crate::Nanos;
use crate::buffer::Buffer;
use crate::packet::Waiting;

/// Parameters of WFQ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wfq {
    /// Number of queues; flow n uses queue n modulo this, so that fewer flows than queues never share one.
    pub queues: u32,
    /// Weight by class of the packet that begins a backlog in GPS; classes beyond the last have 1. Not 0.
    pub weights: Vec<u32>,
}

impl Default for Wfq {
    fn default() -> Self {
        Wfq { queues: 1024, weights: Vec::new() }
    }
}

/// WFQ at work.
pub(crate) struct WfqQueue {
    weights: Vec<u32>,
    queues: u32,
    sharing: Sharing,
}

impl WfqQueue {
    pub fn new(config: Wfq) -> Self {
        let Wfq { queues, weights } = config;
        assert!(queues > 0, "WFQ has queues");
        assert!(!weights.contains(&0), "no weight of WFQ is 0");
        WfqQueue { weights, queues, sharing: Sharing::new(queues as usize) }
    }
}

impl<P> Queue<P> for WfqQueue {
    fn enqueue(&mut self, now: Nanos, packet: Waiting<P>, buffer: &mut Buffer<P>) {
        let number = (packet.item.flow % self.queues) as usize;
        let weight = self.weights.get(usize::from(packet.item.class)).copied().unwrap_or(1);
        self.sharing.enqueue(now, (number, weight), packet, buffer);
    }

    fn dequeue(&mut self, now: Nanos, buffer: &mut Buffer<P>) -> Next<P> {
        self.sharing.dequeue(now, buffer)
    }
}
