//! Snoop agents ahead of transmitters: which packets they see, and what becomes of what they decide.
//!
//! ```text
//!   data ──▶ offer ──▶ agent ──▶ queue of the transmitter        repeats go ahead of the queue
//!   ACKs ◀── enter ◀── agent ◀── look_at_ack ◀── way back
//! ```

use super::route::Stage;
use super::{Event, Moving, Network};
use crate::Nanos;
use crate::snoop::{Action, Segment};

/// What an agent sees of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tcp {
    /// Port of the flow's host.
    pub host_port: u16,
    /// Port of the server.
    pub server_port: u16,
    /// The rest of its header.
    pub segment: Segment,
}

impl<P: Copy> Network<P> {
    /// Some transmitter has an agent, or some way back leaves ACKs out: either has to see [`Transit::tcp`](super::Transit::tcp).
    #[must_use]
    pub fn reads_tcp(&self) -> bool {
        self.nodes.iter().any(|node| node.snoop.is_some()) || self.lanes.iter().any(|lane| lane.filter.is_some())
    }

    /// A packet comes to a transmitter: through the agent ahead of it, if there is one.
    pub(super) fn offer(&mut self, now: Nanos, index: usize, moving: Moving<P>) {
        let wire_bytes = moving.transit.bytes + self.nodes[index].overhead_bytes;
        let Some((snoop, tcp)) = self.nodes[index].snoop.as_mut().zip(moving.transit.tcp) else {
            return self.queue(now, index, moving);
        };
        snoop.data(now, connection(&moving, &tcp), &tcp.segment, moving, wire_bytes);
        self.carry_out(now, index);
    }

    /// A packet comes past the agent ahead of a transmitter, on its way back from that hop.
    pub(super) fn look_at_ack(&mut self, now: Nanos, index: usize, moving: Moving<P>) {
        let Some((snoop, tcp)) = self.nodes[index].snoop.as_mut().zip(moving.transit.tcp) else {
            return self.enter(now, moving);
        };
        snoop.ack(now, connection(&moving, &tcp), &tcp.segment, moving);
        self.carry_out(now, index);
    }

    /// A timer of an agent ends.
    pub(super) fn wake(&mut self, index: usize, now: Nanos) -> Option<Event<P>> {
        self.nodes[index].snoop.as_mut()?.wake(now);
        self.carry_out(now, index);
        None
    }

    /// The queue of a transmitter has dropped a packet.
    pub(super) fn refused(&mut self, now: Nanos, index: usize, moving: &Moving<P>) {
        if let Some((snoop, tcp)) = self.nodes[index].snoop.as_mut().zip(moving.transit.tcp) {
            snoop.refused(connection(moving, &tcp), &tcp.segment);
            self.carry_out(now, index);
        }
    }

    fn carry_out(&mut self, now: Nanos, index: usize) {
        while let Some(action) = self.nodes[index].snoop.as_mut().and_then(|snoop| snoop.pop()) {
            match action {
                Action::Forward(moving) => self.go_on(now, index, moving),
                Action::ForwardWithoutSack(moving) => {
                    self.events.push_back(Event::Stripped(moving.transit.packet));
                    self.enter(now, moving);
                }
                Action::Keep(moving) => self.events.push_back(Event::Kept(moving.transit.packet)),
                Action::Drop(moving) | Action::Release(moving) => {
                    self.events.push_back(Event::Gone(moving.transit.packet));
                }
                Action::Retransmit(moving) => {
                    let moving = self.again(moving);
                    self.queue_first(now, index, moving);
                }
                Action::Acknowledge(moving) => {
                    let moving = self.again(moving);
                    self.enter(now, moving);
                }
            }
        }
        self.note_next(index);
    }

    /// Data are at the agent's own transmitter, and ACKs past the agent.
    fn go_on(&mut self, now: Nanos, index: usize, moving: Moving<P>) {
        let stage = self.lane(&moving.transit).stages.get(usize::from(moving.next_stage));
        if stage == Some(&Stage::Transmitter(index)) { self.queue(now, index, moving) } else { self.enter(now, moving) }
    }

    /// One more of a packet that is kept; what its first way said about the bottleneck has been said.
    fn again(&mut self, moving: Moving<P>) -> Moving<P> {
        self.events.push_back(Event::Kept(moving.transit.packet));
        Moving { back_to_back: None, ..moving }
    }
}

/// One number for both directions of a connection: a path has hosts of its own.
fn connection<P>(moving: &Moving<P>, tcp: &Tcp) -> u64 {
    u64::from(moving.transit.path) << 32 | u64::from(tcp.host_port) << 16 | u64::from(tcp.server_port)
}
