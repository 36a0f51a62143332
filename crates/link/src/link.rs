//! The transmitter: takes packets from the queue, sends them at the rate of the plan, hands them to the wire.

use crate::Nanos;
use crate::buffer::Buffer;
use crate::buffer::Capacity;
use crate::config::LinkConfig;
use crate::packet::{Departure, Item, LossReason, Output, Waiting};
use crate::queue::{Next, Queue};
use crate::rate::Schedule;
use crate::wire::{Wire, Wireless};
use rand::SeedableRng;
use rand::rngs::StdRng;
use std::collections::VecDeque;

/// A link: one transmitter with a queue in front of it and a wire behind it.
pub struct Link<P> {
    schedule: Schedule,
    queue: Box<dyn Queue<P>>,
    buffer: Buffer<P>,
    /// Ahead of the queue, beside the buffer.
    urgent: VecDeque<Waiting<P>>,
    /// Theirs, with that of the one in transmission.
    urgent_bytes: u64,
    mark_above: Option<Capacity>,
    transmitter: Transmitter<P>,
    wireless: Option<(Wireless, StdRng)>,
    wire: Wire,
    /// Forgotten when the discipline let the transmitter pause.
    last_departure: Option<Nanos>,
}

enum Transmitter<P> {
    /// Nothing to send.
    Idle,
    /// Something waits, and nothing may leave before this time.
    Until(Nanos),
    Sending(Transmission<P>),
}

struct Transmission<P> {
    packet: Waiting<P>,
    start: Nanos,
    end: Nanos,
    back_to_back: bool,
    received: bool,
    urgent: bool,
}

/// Random decisions that do not disturb one another: each has a generator of its own.
#[derive(Clone, Copy)]
enum Stream {
    Loss,
    Queue,
    Jitter,
    Wireless,
}

fn rng(seed: u64, stream: Stream) -> StdRng {
    // Far apart, so that neighbouring seeds of a user share no stream.
    StdRng::seed_from_u64(seed.wrapping_add((stream as u64) << 32))
}

impl<P> Link<P> {
    /// An idle link.
    ///
    /// # Panics
    /// When the configuration contradicts the documentation of its fields.
    #[must_use]
    pub fn new(config: LinkConfig) -> Self {
        let seed = config.seed;
        let mut queue_rng = rng(seed, Stream::Queue);
        if let Some(wireless) = config.wire.wireless {
            assert!((0.0..=1.0).contains(&wireless.error), "an error of a wireless link is a probability");
        }
        Link {
            schedule: Schedule::new(config.rate),
            queue: config.queue.queue(&mut queue_rng),
            buffer: Buffer::new(config.capacity, queue_rng),
            urgent: VecDeque::new(),
            urgent_bytes: 0,
            mark_above: config.mark_above,
            transmitter: Transmitter::Idle,
            wireless: config.wire.wireless.map(|wireless| (wireless, rng(seed, Stream::Wireless))),
            wire: Wire::new(&config.wire, rng(seed, Stream::Loss), rng(seed, Stream::Jitter)),
            last_departure: None,
        }
    }

    /// Makes room for `packets` so that no later call allocates: those waiting, and those dropped that were not popped yet.
    pub fn reserve(&mut self, packets: usize) {
        self.buffer.reserve(packets);
    }

    /// The same for `packets` of [`Link::enqueue_first`].
    pub fn reserve_first(&mut self, packets: usize) {
        self.urgent.reserve(packets.saturating_sub(self.urgent.len()));
    }

    /// The time from which on rate plan, trace and steps of the delay count; 0 unless told. To be called before the first packet.
    pub fn set_origin(&mut self, t0: Nanos) {
        self.schedule.set_origin(t0);
        self.wire.set_origin(t0);
    }

    /// Offers a packet that arrives at `now`. The caller first pops everything up to `now`, as what has left no longer occupies
    /// the buffer. If it is dropped, or another one for it, that comes out of [`Link::pop`].
    pub fn enqueue(&mut self, now: Nanos, item: Item<P>) {
        debug_assert!(self.next_event().is_none_or(|at| at > now), "pop what has happened first");
        debug_assert!(item.size_bytes > 0, "a packet has a size");
        let above = self.mark_above.is_some_and(|threshold| self.buffer.is_above(threshold));
        let marked = above && item.ecn.is_capable();
        self.buffer.rate_bps = self.schedule.rate_bps(now);
        self.queue.enqueue(now, Waiting { item, since: now, marked, finish: 0 }, &mut self.buffer);
        if !matches!(self.transmitter, Transmitter::Sending(_)) {
            self.send_next(now, false);
        }
    }

    /// Offers a packet that leaves before all that waits, behind others of its kind; what is in transmission is not interrupted. It has
    /// a room of its own: neither buffer nor discipline see it, and it is not dropped. As for [`Link::enqueue`], the caller pops first.
    pub fn enqueue_first(&mut self, now: Nanos, item: Item<P>) {
        debug_assert!(self.next_event().is_none_or(|at| at > now), "pop what has happened first");
        debug_assert!(item.size_bytes > 0, "a packet has a size");
        self.urgent_bytes += u64::from(item.size_bytes);
        self.urgent.push_back(Waiting { item, since: now, marked: false, finish: 0 });
        if !matches!(self.transmitter, Transmitter::Sending(_)) {
            self.send_next(now, false);
        }
    }

    /// When [`Link::pop`] has something next, or something changes inside that it has to see. `None` when nothing happens unless
    /// a packet arrives.
    #[must_use]
    pub fn next_event(&self) -> Option<Nanos> {
        if let Some(dropped) = self.buffer.first_dropped() {
            return Some(dropped.at);
        }
        match &self.transmitter {
            Transmitter::Idle => None,
            Transmitter::Until(at) => Some(*at),
            Transmitter::Sending(transmission) => Some(transmission.end),
        }
    }

    /// The next thing that has happened by `now`, in the order of time; to be called until it gives nothing.
    pub fn pop(&mut self, now: Nanos) -> Option<Output<P>> {
        loop {
            if let Some(dropped) = self.buffer.take_dropped() {
                return Some(Output::Dropped { packet: dropped.packet, at: dropped.at, reason: dropped.reason });
            }
            if self.next_event()? > now {
                return None;
            }
            match std::mem::replace(&mut self.transmitter, Transmitter::Idle) {
                Transmitter::Idle => return None,
                Transmitter::Until(at) => self.send_next(at, true),
                Transmitter::Sending(transmission) => return Some(Output::Sent(self.complete(transmission))),
            }
        }
    }

    /// Bytes waiting or in transmission.
    #[must_use]
    pub fn queued_bytes(&self) -> u64 {
        self.buffer.occupied_bytes() + self.urgent_bytes
    }

    /// Packets waiting or in transmission.
    #[must_use]
    pub fn queued_packets(&self) -> usize {
        let urgent = matches!(&self.transmitter, Transmitter::Sending(transmission) if transmission.urgent);
        self.buffer.occupied_packets() as usize + self.urgent.len() + usize::from(urgent)
    }

    /// The last bit has left: the wire takes over, and the next packet begins to leave.
    fn complete(&mut self, sent: Transmission<P>) -> Departure<P> {
        let Transmission { packet, start, end, back_to_back, received, urgent } = sent;
        if urgent {
            self.urgent_bytes -= u64::from(packet.item.size_bytes);
        }
        self.buffer.set_transmitting(0);
        self.last_departure = Some(end);
        let carried = self.wire.carry(end);
        self.send_next(end, true);
        Departure {
            packet: packet.item.packet,
            at: end,
            due: carried.due,
            transmission: end - start,
            sojourn: start - packet.since,
            back_to_back,
            marked: packet.marked,
            lost: if received { carried.lost } else { Some(LossReason::RetriesExhausted) },
        }
    }

    /// The transmitter is free at `now`: `after_work` when it was busy or something waited until then.
    fn send_next(&mut self, now: Nanos, after_work: bool) {
        let start = self.schedule.earliest_start(now, !after_work);
        if start > now && self.waits() {
            self.transmitter = Transmitter::Until(start);
            return;
        }
        if let Some(packet) = self.urgent.pop_front() {
            self.transmitter = Transmitter::Sending(self.transmit(packet, now, true));
            return;
        }
        // With nothing waiting the discipline learns that the link is idle from now on.
        self.buffer.rate_bps = self.schedule.rate_bps(now);
        self.transmitter = match self.queue.dequeue(now, &mut self.buffer) {
            Next::Packet(packet) => Transmitter::Sending(self.transmit(packet, now, false)),
            Next::Later(at) => {
                self.last_departure = None;
                Transmitter::Until(at)
            }
            Next::Nothing => Transmitter::Idle,
        };
    }

    fn waits(&self) -> bool {
        self.buffer.waiting_packets() > 0 || !self.urgent.is_empty()
    }

    fn transmit(&mut self, packet: Waiting<P>, start: Nanos, urgent: bool) -> Transmission<P> {
        let bytes = packet.item.size_bytes;
        if !urgent {
            self.buffer.set_transmitting(u64::from(bytes));
        }
        let (end, received) = match &mut self.wireless {
            None => (self.schedule.finish(start, bytes), true),
            Some((wireless, rng)) => wireless.transmit(&mut self.schedule, start, bytes, rng),
        };
        // The wire was busy right before it; between the opportunities of a trace it is busy while something waits.
        let back_to_back = self.last_departure.is_some_and(|last| last >= packet.since);
        Transmission { packet, start, end, back_to_back, received, urgent }
    }
}
