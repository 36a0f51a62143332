//! ACKs first (AF): strict priority of pure ACKs. On an asymmetric path, ACKs of a download do not wait behind the data of an
//! upload. Sources: Kalampoukas, Varma, Ramakrishnan, "Improving TCP throughput over two-way asymmetric links: analysis
//! and solutions", SIGMETRICS 1998. Balakrishnan, Padmanabhan, Katz, "The effects of asymmetry on TCP performance",
//! MOBICOM 1997. The former show that ACKs may starve the data, which CBA
//! (`cba.rs`) avoids. A transmission that has begun is not interrupted. ACKs and data share the buffer; what finds no room
//! is refused, whichever it is.

use super::{Next, Queue};
use crate::Nanos;
use crate::buffer::{Buffer, Line};
use crate::packet::{DropReason, Waiting};

/// ACKs before data.
#[derive(Default)]
pub(crate) struct AckFirst {
    acks: Line,
    others: Line,
}

impl<P> Queue<P> for AckFirst {
    fn enqueue(&mut self, now: Nanos, packet: Waiting<P>, buffer: &mut Buffer<P>) {
        if !buffer.has_room(packet.item.size_bytes) {
            return buffer.drop_packet(now, packet, DropReason::Full);
        }
        let line = if packet.item.is_ack { &mut self.acks } else { &mut self.others };
        buffer.push_back(line, packet);
    }

    fn dequeue(&mut self, _now: Nanos, buffer: &mut Buffer<P>) -> Next<P> {
        let line = if self.acks.is_empty() { &mut self.others } else { &mut self.acks };
        buffer.pop_front(line).into()
    }
}
