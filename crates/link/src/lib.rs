//! The bottleneck as a pure state machine over virtual time: no clock, no system call.
//!
//! A packet that enters at `t` leaves at `max(t, departure of the one before) + size / rate`. Departures are
//! computed from departures, never from the moment at which somebody got round to asking, so a late caller
//! delays a packet but cannot change the rate.
//!
//! ```text
//!   enqueue ──▶ drop-tail queue ──▶ transmission at `rate` ──▶ pop: arrives or is lost on the wire
//! ```

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use std::collections::VecDeque;

/// Nanoseconds of virtual or real time; only differences matter.
pub type Nanos = u64;

/// How much a drop-tail queue holds. The packet in transmission counts until its last bit has left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Capacity {
    /// Bytes on the wire.
    Bytes(u64),
    /// Packets of any size.
    Packets(u64),
}

/// Parameters of a link.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LinkConfig {
    /// Rate on the wire in bit/s; not zero.
    pub rate_bps: u64,
    /// Size of the drop-tail queue.
    pub capacity: Capacity,
    /// A packet that finds more than this in the queue is to be marked (RFC 8257 section 3.1, a step at one threshold).
    pub mark_above: Option<Capacity>,
    /// Probability that a transmitted packet does not arrive.
    pub loss: f64,
    /// Seed of the random losses: the same arrivals and seed give the same losses.
    pub seed: u64,
}

/// Why a packet was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DropReason {
    /// The queue had no room for it.
    Full,
}

/// Answer of [`Link::enqueue`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Enqueue {
    /// Taken; it will leave at this time.
    Enqueued {
        /// When its last bit leaves.
        departure: Nanos,
        /// It found more in the queue than [`LinkConfig::mark_above`].
        above_threshold: bool,
    },
    /// Refused.
    Dropped(DropReason),
}

/// A packet that has left the link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Departure<P> {
    /// What was given to [`Link::enqueue`].
    pub packet: P,
    /// When its last bit left.
    pub at: Nanos,
    /// Time it took to transmit.
    pub transmission: Nanos,
    /// The wire was busy with another packet right before it.
    pub back_to_back: bool,
    /// It was transmitted but did not arrive (random loss).
    pub lost: bool,
}

struct Queued<P> {
    packet: P,
    size_bytes: u64,
    departure: Nanos,
    transmission: Nanos,
    back_to_back: bool,
    lost: bool,
}

/// A transmitter with a drop-tail queue in front of it.
pub struct Link<P> {
    config: LinkConfig,
    queue: VecDeque<Queued<P>>,
    queued_bytes: u64,
    last_departure: Nanos,
    rng: StdRng,
}

impl<P> Link<P> {
    /// An idle link.
    ///
    /// # Panics
    /// When the rate is zero or the loss is not a probability.
    #[must_use]
    pub fn new(config: LinkConfig) -> Self {
        assert!(config.rate_bps > 0, "a link needs a rate");
        assert!((0.0..=1.0).contains(&config.loss), "loss is a probability");
        Link {
            config,
            queue: VecDeque::new(),
            queued_bytes: 0,
            last_departure: 0,
            rng: StdRng::seed_from_u64(config.seed),
        }
    }

    /// Makes room for `packets` so that no later call allocates.
    pub fn reserve(&mut self, packets: usize) {
        self.queue.reserve(packets);
    }

    /// Time to transmit `size_bytes`, rounded up so that the rate is never exceeded.
    #[must_use]
    pub fn transmission(&self, size_bytes: u64) -> Nanos {
        let bit_ns = u128::from(size_bytes) * 8 * 1_000_000_000;
        u64::try_from(bit_ns.div_ceil(u128::from(self.config.rate_bps))).expect("one packet takes less than centuries")
    }

    /// Offers a packet that arrives at `now`. The caller first pops everything that has left by `now`, as
    /// those packets no longer occupy the queue.
    pub fn enqueue(&mut self, now: Nanos, packet: P, size_bytes: u64) -> Enqueue {
        debug_assert!(self.next_departure().is_none_or(|departure| departure > now), "pop what has left first");
        if !self.has_room(size_bytes) {
            return Enqueue::Dropped(DropReason::Full);
        }
        let above_threshold = self.is_above_threshold();
        let transmission = self.transmission(size_bytes);
        let back_to_back = self.last_departure >= now && self.last_departure > 0;
        let departure = self.last_departure.max(now) + transmission;
        let lost = self.config.loss > 0.0 && self.rng.random_bool(self.config.loss);
        self.queue.push_back(Queued { packet, size_bytes, departure, transmission, back_to_back, lost });
        self.queued_bytes += size_bytes;
        self.last_departure = departure;
        Enqueue::Enqueued { departure, above_threshold }
    }

    /// By the queue that an arriving packet finds, without the packet itself.
    fn is_above_threshold(&self) -> bool {
        match self.config.mark_above {
            None => false,
            Some(Capacity::Bytes(limit)) => self.queued_bytes > limit,
            Some(Capacity::Packets(limit)) => self.queue.len() as u64 > limit,
        }
    }

    fn has_room(&self, size_bytes: u64) -> bool {
        match self.config.capacity {
            Capacity::Bytes(limit) => self.queued_bytes + size_bytes <= limit,
            Capacity::Packets(limit) => (self.queue.len() as u64) < limit,
        }
    }

    /// When the next packet leaves, or `None` when the link is idle.
    #[must_use]
    pub fn next_departure(&self) -> Option<Nanos> {
        self.queue.front().map(|head| head.departure)
    }

    /// The next packet that has left by `now`.
    pub fn pop(&mut self, now: Nanos) -> Option<Departure<P>> {
        if self.next_departure()? > now {
            return None;
        }
        let head = self.queue.pop_front()?;
        self.queued_bytes -= head.size_bytes;
        Some(Departure {
            packet: head.packet,
            at: head.departure,
            transmission: head.transmission,
            back_to_back: head.back_to_back,
            lost: head.lost,
        })
    }

    /// Bytes waiting or in transmission.
    #[must_use]
    pub fn queued_bytes(&self) -> u64 {
        self.queued_bytes
    }

    /// Packets waiting or in transmission.
    #[must_use]
    pub fn queued_packets(&self) -> usize {
        self.queue.len()
    }
}
