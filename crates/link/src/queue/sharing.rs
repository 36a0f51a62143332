//! Packet-by-packet generalised processor sharing over numbered queues: what WFQ and CBA have in common.
//!
//! Sources: Demers, Keshav, Shenker, "Analysis and simulation of a fair queueing algorithm", SIGCOMM 1989. Parekh,
//! Gallager, "A generalized processor sharing approach to flow control in integrated services networks: the single-node
//! case", IEEE/ACM ToN 1(3), 1993.
//!
//! GPS serves all backlogged queues at once, each in proportion to its weight. The packet that leaves next is the one
//! with which GPS would be done first if no other came:
//!
//! - V rises by (work done) / (weights of the queues that GPS has not emptied),
//! - F = max(F of the packet before it in its queue, V at its arrival) + size / weight.
//!
//! Both are in [`UNITS_PER_BYTE`]ths of a byte per weight, so that V is exact. GPS does the work that the link does: what
//! has left of the packet in transmission by an arrival, and all of it when the next one is chosen. At a constant rate
//! that is the papers' GPS. On a link whose rate changes, or that repeats, it is GPS with that link's capacity.

use super::Next;
use super::fattest::{Earliest, Fattest};
use crate::Nanos;
use crate::buffer::{Buffer, Line};
use crate::packet::Waiting;
use crate::rate::UNITS_PER_BYTE;

/// Queues that share by weight.
pub(super) struct Sharing {
    gps: Gps,
    lines: Vec<Line>,
    /// Queues by F of their first packet.
    heads: Earliest,
    /// Queues by bytes per weight, which are those of `finish` too.
    fattest: Fattest<u128>,
}

impl Sharing {
    pub fn new(queues: usize) -> Self {
        Sharing {
            gps: Gps::new(queues),
            lines: vec![Line::default(); queues],
            heads: Earliest::new(queues),
            fattest: Fattest::new(queues),
        }
    }

    /// Takes a packet into a queue. The weight counts if GPS has nothing else of that queue. When the buffer is too full,
    /// the last packet of the longest queue in proportion to its weight is dropped.
    pub fn enqueue<P>(
        &mut self,
        now: Nanos,
        (number, weight): (usize, u32),
        mut packet: Waiting<P>,
        buffer: &mut Buffer<P>,
    ) {
        self.gps.advance(now, buffer.rate_bps);
        packet.finish = self.gps.add(number, weight, packet.item.size_bytes);
        let line = &mut self.lines[number];
        if line.is_empty() {
            self.heads.set_time(number, Some(packet.finish));
        }
        buffer.push_back(line, packet);
        self.fattest.set(number, self.gps.virtual_time(number, line.bytes()));
        self.fattest.make_room(now, buffer, |longest, buffer| {
            let line = &mut self.lines[longest];
            let packet = buffer.pop_back(line);
            if let Some(packet) = &packet {
                self.gps.take_back(longest, packet);
            }
            if line.is_empty() {
                self.heads.set_time(longest, None);
            }
            (packet, self.gps.virtual_time(longest, line.bytes()))
        });
    }

    /// The link is done with the packet before: the next one.
    pub fn dequeue<P>(&mut self, now: Nanos, buffer: &mut Buffer<P>) -> Next<P> {
        self.gps.complete();
        let Some(number) = self.heads.first() else { return Next::Nothing };
        let line = &mut self.lines[number];
        let packet = buffer.pop_front(line);
        self.heads.set_time(number, buffer.front(line).map(|head| head.finish));
        self.fattest.set(number, self.gps.virtual_time(number, line.bytes()));
        if let Some(packet) = &packet {
            self.gps.begin(now, packet.item.size_bytes);
        }
        packet.into()
    }
}

/// The packet in transmission.
struct Sending {
    start: Nanos,
    work: u128,
    /// Of that work, what GPS has done.
    done: u128,
}

/// Generalised processor sharing.
struct Gps {
    /// V.
    time: u128,
    /// Work that was too little for one unit of V.
    rest: u128,
    /// By number of the queue.
    weight_of: Vec<u32>,
    /// Queues with a backlog in GPS, by F of their last packet.
    ends: Earliest,
    /// Weights of those queues.
    weights: u128,
    sending: Option<Sending>,
}

impl Gps {
    fn new(queues: usize) -> Self {
        let ends = Earliest::new(queues);
        Gps { time: 0, rest: 0, weight_of: vec![1; queues], ends, weights: 0, sending: None }
    }

    /// Virtual time that this much of a queue takes.
    fn virtual_time(&self, number: usize, bytes: u64) -> u128 {
        u128::from(bytes) * UNITS_PER_BYTE / u128::from(self.weight_of[number])
    }

    /// The link begins to send a packet.
    fn begin(&mut self, start: Nanos, bytes: u32) {
        self.sending = Some(Sending { start, work: u128::from(bytes) * UNITS_PER_BYTE, done: 0 });
    }

    /// Does what the link has done by now, which is at most the packet in transmission.
    fn advance(&mut self, now: Nanos, rate_bps: u64) {
        let Some(sending) = &mut self.sending else { return };
        let by_now = (u128::from(now - sending.start) * u128::from(rate_bps)).clamp(sending.done, sending.work);
        let work = by_now - std::mem::replace(&mut sending.done, by_now);
        self.serve(work);
    }

    /// Does the rest of the packet in transmission.
    fn complete(&mut self) {
        if let Some(sending) = self.sending.take() {
            self.serve(sending.work - sending.done);
        }
    }

    /// Empties queues one after the other; each that is empty leaves more to the others.
    fn serve(&mut self, work: u128) {
        let mut work = work + std::mem::take(&mut self.rest);
        while let Some((first, end)) = self.ends.first().and_then(|first| Some((first, self.ends.time(first)?))) {
            let needed = (end - self.time) * self.weights;
            if work < needed {
                self.time += work / self.weights;
                self.rest = work % self.weights;
                return;
            }
            work -= needed;
            self.time = end;
            self.remove(first);
        }
    }

    /// A packet arrives; its F.
    fn add(&mut self, number: usize, weight: u32, bytes: u32) -> u128 {
        let start = self.ends.time(number).unwrap_or_else(|| {
            self.weight_of[number] = weight;
            self.weights += u128::from(weight);
            self.time
        });
        let finish = start + self.virtual_time(number, u64::from(bytes));
        self.ends.set_time(number, Some(finish));
        finish
    }

    /// The last packet of a queue is dropped. What GPS has done of it is lost.
    fn take_back<P>(&mut self, number: usize, packet: &Waiting<P>) {
        if self.ends.time(number) != Some(packet.finish) {
            return;
        }
        let start = packet.finish - self.virtual_time(number, u64::from(packet.item.size_bytes));
        if start > self.time {
            self.ends.set_time(number, Some(start));
        } else {
            self.remove(number);
        }
    }

    fn remove(&mut self, number: usize) {
        self.ends.set_time(number, None);
        self.weights -= u128::from(self.weight_of[number]);
    }
}
