//! Connection-level bandwidth allocation (CBA), the scheme that Kalampoukas, Varma, Ramakrishnan, "Improving TCP throughput over
//! two-way asymmetric links: analysis and solutions", SIGMETRICS 1998, prefer. ACKs and data have a queue each, and each queue
//! has a share of the link as long as it has something to send. Neither ACKs nor data starve.
//!
//! Own reading, after the abstract: what shares the link is WFQ with two queues, and all connections have one share in
//! common. The buffer is one for both, and the tail of the queue that is the longest in proportion to its share makes room. Data
//! that fill the buffer therefore do not keep ACKs out.

use super::sharing::Sharing;
use super::{Next, Queue};
use crate::Nanos;
use crate::buffer::Buffer;
use crate::packet::Waiting;

/// Parameters of CBA.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cba {
    /// Share of pure ACKs in the rate of the link, in thousandths: 1 to 999. The rest is that of the data.
    pub ack_share_permille: u32,
}

impl Default for Cba {
    /// Halves. The source gives no one value: it depends on both rates.
    fn default() -> Self {
        Cba { ack_share_permille: 500 }
    }
}

const WHOLE_PERMILLE: u32 = 1000;

/// CBA at work.
pub(crate) struct CbaQueue {
    config: Cba,
    sharing: Sharing,
}

impl CbaQueue {
    pub fn new(config: Cba) -> Self {
        let shares = 1..WHOLE_PERMILLE;
        assert!(shares.contains(&config.ack_share_permille), "ACKs and data have a share of CBA each");
        CbaQueue { config, sharing: Sharing::new(2) }
    }
}

impl<P> Queue<P> for CbaQueue {
    fn enqueue(&mut self, now: Nanos, packet: Waiting<P>, buffer: &mut Buffer<P>) {
        let acks = self.config.ack_share_permille;
        let queue = if packet.item.is_ack { (0, acks) } else { (1, WHOLE_PERMILLE - acks) };
        self.sharing.enqueue(now, queue, packet, buffer);
    }

    fn dequeue(&mut self, now: Nanos, buffer: &mut Buffer<P>) -> Next<P> {
        self.sharing.dequeue(now, buffer)
    }
}
