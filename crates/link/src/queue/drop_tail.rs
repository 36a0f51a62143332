//! First in, first out, with the two plain answers to a full buffer.

use super::{Next, Queue};
use crate::Nanos;
use crate::buffer::{Buffer, Line};
use crate::packet::{DropReason, Waiting};

/// Refuses the packet that finds no room.
#[derive(Default)]
pub(crate) struct DropTail {
    packets: Line,
}

impl<P> Queue<P> for DropTail {
    fn enqueue(&mut self, now: Nanos, packet: Waiting<P>, buffer: &mut Buffer<P>) {
        if buffer.has_room(packet.item.size_bytes) {
            buffer.push_back(&mut self.packets, packet);
        } else {
            buffer.drop_packet(now, packet, DropReason::Full);
        }
    }

    fn dequeue(&mut self, _now: Nanos, buffer: &mut Buffer<P>) -> Next<P> {
        buffer.pop_front(&mut self.packets).into()
    }
}

/// Drops the oldest packets until the new one has room, so that a loss is seen a whole queue earlier. Source: Lakshman, Neidhardt,
/// Ott: "The drop from front strategy in TCP and in TCP over ATM", INFOCOM 1996. What is in transmission cannot be dropped.
#[derive(Default)]
pub(crate) struct DropHead {
    packets: Line,
}

impl<P> Queue<P> for DropHead {
    fn enqueue(&mut self, now: Nanos, packet: Waiting<P>, buffer: &mut Buffer<P>) {
        while !buffer.has_room(packet.item.size_bytes) {
            let Some(oldest) = buffer.pop_front(&mut self.packets) else {
                return buffer.drop_packet(now, packet, DropReason::Full);
            };
            buffer.drop_packet(now, oldest, DropReason::Full);
        }
        buffer.push_back(&mut self.packets, packet);
    }

    fn dequeue(&mut self, _now: Nanos, buffer: &mut Buffer<P>) -> Next<P> {
        buffer.pop_front(&mut self.packets).into()
    }
}
