//! The Snoop agent: a node ahead of a lossy hop that repairs its losses before the sender takes them for congestion.
//! Balakrishnan, Seshan, Katz, "Improving Reliable Transport and Handoff Performance in Cellular Wireless Networks", Wireless
//! Networks 1(4), 1995.
//!
//! ```text
//!   sender ──data──▶ ┌───────┐ ──▶ hop ──▶ mobile      keeps data until they are acknowledged,
//!                    │ Snoop │                         sends again what the mobile lacks,
//!   sender ◀──ACKs── └───────┘ ◀── hop ◀── mobile      and drops the ACKs that say so
//! ```
//!
//! A pure state machine over virtual time. It sees headers and handles of packets, never their bytes, so it cannot change data. What
//! is to be done comes out of [`Snoop::pop`].
//!
//! `docs/link-model.md` has what differs from the paper.

mod cache;
mod connection;
mod segment;

pub use segment::{Sack, Segment};

use crate::Nanos;
use cache::{LEAST_BYTES, Shared};
use connection::Connection;
use std::collections::HashMap;

/// Lower limit of the timer for a segment that was sent again (section 3: no timer interrupts closer than this).
const ROUND_TRIP_LEAST: Nanos = 40_000_000;
/// Silence of both sides after which the first segment is sent again (section 3, the persist timer).
const PERSIST: Nanos = 200_000_000;
/// Silence after which a segment that only the sender can help with is no longer kept: its connection may have ended without a word.
/// Ours; some retransmissions of a sender that has doubled its timer several times come within it.
const GIVE_UP: Nanos = 60_000_000_000;
/// How often a segment is sent again before its loss is the sender's affair (ns-2, `SNOOP_MAX_RXMIT`).
const MAX_REPEATS: u32 = 10;
/// Connections with state; for one more, the one that has been silent for longest is forgotten.
const MAX_CONNECTIONS: usize = 1024;

/// What the caller has to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action<P> {
    /// The packet that was offered goes on.
    Forward(P),
    /// The ACK that was offered goes on, without its blocks of selective acknowledgement.
    ForwardWithoutSack(P),
    /// The packet that was offered ends here.
    Drop(P),
    /// The agent keeps a packet that was offered, whatever else becomes of it.
    Keep(P),
    /// It keeps the packet no longer.
    Release(P),
    /// A kept segment goes to the mobile once more, ahead of all that waits.
    Retransmit(P),
    /// A kept ACK goes to the sender once more.
    Acknowledge(P),
}

/// What an agent has done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SnoopCounters {
    /// Segments that it kept.
    pub cached_packets: u64,
    /// Segments that it sent again.
    pub retransmitted_packets: u64,
    /// Those among them that no ACK asked for.
    pub timeouts: u64,
    /// ACKs that it dropped.
    pub suppressed_acks: u64,
    /// ACKs that it let go on without their blocks.
    pub stripped_acks: u64,
    /// Segments that the mobile had, and that the agent answered in its place.
    pub answered_packets: u64,
}

/// The agent of one hop in one direction.
pub struct Snoop<P> {
    connections: Vec<Connection<P>>,
    /// Places in `connections`.
    index: HashMap<u64, usize>,
    shared: Shared<P>,
    /// No timer ends before this.
    earliest: Option<Nanos>,
}

impl<P: Copy> Snoop<P> {
    /// One that keeps at most so many bytes of all connections together; a small packet counts as 256. No later call allocates.
    #[must_use]
    pub fn new(cache_bytes: u64) -> Self {
        Snoop {
            connections: Vec::with_capacity(MAX_CONNECTIONS),
            // Twice, so that places of removed keys can be taken again without more memory.
            index: HashMap::with_capacity(2 * MAX_CONNECTIONS),
            shared: Shared::new(cache_bytes, MAX_CONNECTIONS),
            earliest: None,
        }
    }

    /// Most packets that one with such a cache keeps at the same time: segments, and one ACK per connection.
    #[must_use]
    pub fn most_packets(cache_bytes: u64) -> u64 {
        cache_bytes / LEAST_BYTES + MAX_CONNECTIONS as u64
    }

    /// Offers a packet on its way to the mobile: `bytes` long, of the connection with that number, which the caller chooses.
    pub fn data(&mut self, now: Nanos, connection: u64, segment: &Segment, packet: P, bytes: u32) {
        if segment.rst || segment.syn {
            self.forget(connection);
        }
        if segment.rst || (!segment.syn && segment.payload_bytes == 0 && !segment.fin) {
            return self.shared.actions.push_back(Action::Forward(packet));
        }
        let place = self.place(now, connection, segment);
        let state = &mut self.connections[place];
        if segment.syn {
            state.syn(now, segment);
            return self.shared.actions.push_back(Action::Forward(packet));
        }
        state.data(now, segment, packet, bytes, &mut self.shared);
        self.arm(place);
    }

    /// Offers a packet on its way from the mobile, of the connection with that number.
    pub fn ack(&mut self, now: Nanos, connection: u64, segment: &Segment, packet: P) {
        if segment.rst || (segment.syn && segment.ack.is_none()) {
            self.forget(connection);
        }
        let Some(&place) = self.index.get(&connection) else {
            return self.shared.actions.push_back(Action::Forward(packet));
        };
        self.connections[place].ack(now, segment, packet, &mut self.shared);
        self.arm(place);
    }

    /// The hop had no room for a segment that the agent has let go on, or its queue dropped it early. That is congestion, of which the
    /// sender has to learn: the segment is not kept.
    pub fn refused(&mut self, connection: u64, segment: &Segment) {
        if let Some(&place) = self.index.get(&connection) {
            self.connections[place].refused(segment, &mut self.shared);
        }
    }

    /// When [`Snoop::wake`] is to be called; `None` when nothing happens unless a packet comes.
    #[must_use]
    pub fn next_timer(&self) -> Option<Nanos> {
        self.earliest
    }

    /// Lets timers end by `now`.
    pub fn wake(&mut self, now: Nanos) {
        self.earliest = None;
        for place in 0..self.connections.len() {
            let state = &mut self.connections[place];
            if state.deadline(&self.shared).is_some_and(|at| at <= now) {
                state.timeout(now, &mut self.shared);
            }
            self.arm(place);
        }
    }

    /// The next thing to be done, in this order; to be called after every other call until it gives nothing.
    pub fn pop(&mut self) -> Option<Action<P>> {
        self.shared.actions.pop_front()
    }

    /// What it has done so far.
    #[must_use]
    pub fn counters(&self) -> SnoopCounters {
        self.shared.counters
    }

    /// Bytes of the segments that it keeps, small ones counted as 256.
    #[must_use]
    pub fn cached_bytes(&self) -> u64 {
        self.shared.used_bytes()
    }

    fn arm(&mut self, place: usize) {
        let deadline = self.connections[place].deadline(&self.shared);
        self.earliest = self.earliest.into_iter().chain(deadline).min();
    }

    /// Place of a connection, which begins with this segment unless there is one.
    fn place(&mut self, now: Nanos, key: u64, first: &Segment) -> usize {
        if let Some(&place) = self.index.get(&key) {
            return place;
        }
        if self.connections.len() == MAX_CONNECTIONS {
            let silent = self.connections.iter().min_by_key(|state| state.last_activity).map(|state| state.key);
            silent.into_iter().for_each(|key| self.forget(key));
        }
        self.index.insert(key, self.connections.len());
        self.connections.push(Connection::new(key, now, first));
        self.connections.len() - 1
    }

    fn forget(&mut self, key: u64) {
        let Some(place) = self.index.remove(&key) else { return };
        self.connections.swap_remove(place).close(&mut self.shared);
        if let Some(moved) = self.connections.get(place) {
            self.index.insert(moved.key, place);
        }
    }
}
