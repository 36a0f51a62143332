//! Hosts, links and delays between them, in virtual time: what happens to a packet between the device that it comes from and
//! the one that it goes to. No clock, no device; nothing allocates once packets flow.
//!
//! ```text
//!   inject ──▶ stage ──▶ stage ──▶ … ──▶ step: Arrived        a stage is a transmitter (link model) or a delay
//!                └──────────────────────▶ step: Gone          dropped by a queue or lost on a wire
//! ```
//!
//! Everything happens at its own time: a packet enters its second link when it was due there, however late the caller asks.

use super::counters::{LinkTally, PathCounters};
use super::histogram::Histogram;
use super::rate_meter::{Backlog, LostBefore};
use super::route::{Route, Stage, Way};
use super::series::{Sent, Series};
use ccactl_link::{DelayLine, Departure, DropReason, Item, Link, LinkConfig, Nanos, Output};

/// One transmitter of the network.
#[derive(Debug, Clone)]
pub struct Transmitter {
    /// Rate, queue and wire.
    pub config: LinkConfig,
    /// Bytes that its wire adds to a packet.
    pub overhead_bytes: u32,
    /// Whether it is the bottleneck, whose rate is measured.
    pub is_bottleneck: bool,
}

/// Both ways between a host and the server.
#[derive(Debug, Clone, PartialEq)]
pub struct Path {
    /// From the host to the server.
    pub up: Route,
    /// From the server to the host.
    pub down: Route,
    /// Which way the data of its flow go.
    pub data: Way,
}

/// A packet on its way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transit<P> {
    /// The caller's.
    pub packet: P,
    /// Index of its path.
    pub path: u32,
    /// Which way it goes.
    pub way: Way,
    /// Length of the IP packet.
    pub bytes: u32,
    /// See [`Item::flow`].
    pub flow: u32,
    /// See [`Item::is_ack`].
    pub is_ack: bool,
    /// See [`Item::ecn_capable`].
    pub ecn_capable: bool,
}

/// What [`Network::step`] gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event<P> {
    /// A packet has reached the device at the end of its way.
    Arrived {
        /// As it was injected.
        transit: Transit<P>,
        /// When it was due.
        due: Nanos,
        /// It is to carry the mark "congestion experienced".
        marked: bool,
        /// What the bottleneck had sent right before it; none when it did not pass the bottleneck.
        backlog: Option<Backlog>,
    },
    /// A packet was dropped or lost.
    Gone(P),
}

/// A packet inside the network.
#[derive(Debug, Clone, Copy)]
struct Moving<P> {
    transit: Transit<P>,
    /// Index of the stage that comes next; the device after the last one.
    next_stage: u16,
    marked: bool,
    /// In queues so far.
    sojourn: Nanos,
    backlog: Option<Backlog>,
    /// Size on the wire of the bottleneck that `backlog` is of.
    way_of_backlog: u8,
}

struct Node<P> {
    link: Link<Moving<P>>,
    overhead_bytes: u32,
    /// Index of its meter if it is a bottleneck.
    lost_before: Option<LostBefore>,
    tally: LinkTally,
    /// Least time from a departure to the arrival at a device.
    least_way_ns: Nanos,
}

/// One direction of a path.
struct Lane {
    stages: Vec<Stage>,
    counters: PathCounters,
    sojourn: Histogram,
}

/// The network.
pub struct Network<P> {
    nodes: Vec<Node<P>>,
    /// Two per path: up, down.
    lanes: Vec<Lane>,
    /// Due at the next stage or at a device.
    on_the_way: DelayLine<Moving<P>>,
    origin: Nanos,
    /// Bytes that the bottleneck's wire adds.
    overhead_bytes: u32,
    pub(super) series: Series,
}
