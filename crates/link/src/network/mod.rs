//! Hosts, links and delays between them, in virtual time: what happens to a packet between the device that it comes from and
//! the one that it goes to. No clock, no device; nothing allocates once packets flow.
//!
//! ```text
//!   inject ──▶ stage ──▶ stage ──▶ … ──▶ step: Arrived        a stage is a transmitter (link model) or a delay
//!                └──────────────────────▶ step: Gone          dropped by a queue or lost on a wire
//!              agent ────────────────────▶ step: Kept          a Snoop agent ahead of a transmitter, see `snoop`
//! ```
//!
//! Everything happens at its own time: a packet enters its second link when it was due there, however late the caller asks.

mod busy;
mod counters;
mod filter;
mod histogram;
mod parts;
mod report;
mod route;
mod series;
mod snoop;

pub use counters::{EcnFigures, FlowCounters, LinkCounters, QueueFigures, SnoopFigures};
pub use histogram::{Histogram, Lateness, QueueingDelay};
pub use parts::{Path, Transmitter};
pub use report::{FlowTally, LinkReport, NetworkReport};
pub use route::{Delay, Route, Stage, Way};
pub use series::{INTERVAL, Interval};
pub use snoop::Tcp;

use crate::snoop::Snoop;
use crate::{DelayLine, Departure, DropReason, Ecn, Item, Link, Nanos, Output};
use busy::{BusySince, PlannedRate};
use counters::{LinkTally, PathCounters};
use filter::AckFilter;
use parts::{least_way, transmitters_of};
use series::{Sent, Series};
use std::collections::VecDeque;

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
    /// See [`Item::ecn`].
    pub ecn: Ecn,
    /// What Snoop agents see of it; none where it is no TCP, or [`Network::reads_tcp`] says that nobody looks.
    pub tcp: Option<Tcp>,
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
        /// Whether the bottleneck was busy since the packet that arrived before it; none when it did not pass the bottleneck.
        back_to_back: Option<bool>,
    },
    /// A packet was dropped or lost, or an agent keeps it no longer. It is not needed any more, unless it was kept more often.
    Gone(P),
    /// An agent keeps a packet, which will be [`Event::Arrived`] or [`Event::Gone`] once more.
    Kept(P),
    /// An ACK is to go on without its blocks of selective acknowledgement.
    Stripped(P),
}

/// A packet inside the network.
#[derive(Debug, Clone, Copy)]
struct Moving<P> {
    transit: Transit<P>,
    /// Index of the stage that comes next; beyond the last one it is the device.
    next_stage: u16,
    marked: bool,
    /// In queues so far.
    sojourn: Nanos,
    back_to_back: Option<bool>,
    /// It is an ACK that goes on only if no later one comes with it.
    in_filter: bool,
}

impl<P> Moving<P> {
    /// An ACK whose loss takes nothing away that a later one does not say: without blocks of selective acknowledgement.
    fn is_filtered(&self) -> bool {
        self.transit.is_ack && self.transit.tcp.is_some_and(|tcp| tcp.segment.sack.is_empty())
    }

    /// The field as it is by now: an earlier link may have marked the packet.
    fn ecn(&self) -> Ecn {
        if self.marked { Ecn::Ce } else { self.transit.ecn }
    }
}

struct Node<P> {
    link: Link<Moving<P>>,
    /// Ahead of the link.
    snoop: Option<Snoop<Moving<P>>>,
    overhead_bytes: u32,
    /// Only of a bottleneck.
    busy: Option<BusySince>,
    planned: PlannedRate,
    tally: LinkTally,
    hides_marks: bool,
    /// Least time from a departure to the arrival at a device.
    least_way: Nanos,
}

/// One direction of a path.
struct Lane {
    stages: Vec<Stage>,
    /// Transmitter among its stages whose rate is measured.
    bottleneck: Option<usize>,
    class: u8,
    counters: PathCounters,
    /// Of data; what comes back is not asked for.
    sojourn: Option<Histogram>,
    /// Only where some stage of it leaves ACKs out.
    filter: Option<AckFilter>,
}

/// No time.
const NEVER: Nanos = Nanos::MAX;

/// The network.
pub struct Network<P> {
    nodes: Vec<Node<P>>,
    /// By transmitter, when it has something next, and when the timer of its agent ends; else [`NEVER`]. Side by side, so that the next
    /// one of many is found quickly.
    next_events: Vec<Nanos>,
    next_timers: Vec<Nanos>,
    /// Two per path: up, down.
    lanes: Vec<Lane>,
    data: Vec<Way>,
    /// Due at a stage or at a device.
    on_the_way: DelayLine<Moving<P>>,
    origin: Nanos,
    /// Bytes that the bottleneck's wire adds.
    overhead_bytes: u32,
    series: Series,
    /// What agents have done and the caller does not know yet.
    events: VecDeque<Event<P>>,
}

/// What happens next.
#[derive(Clone, Copy)]
enum Change {
    /// At the transmitter with that index.
    Transmitter(usize),
    /// A packet comes to its next stage.
    Arrival,
    /// The timer of the agent ahead of the transmitter with that index ends.
    Timer(usize),
}

impl<P: Copy> Network<P> {
    /// Allocates everything for `packets` inside at the same time and a series of a run of this length.
    #[must_use]
    pub fn new(transmitters: Vec<Transmitter>, paths: Vec<Path>, packets: usize, duration: Nanos) -> Self {
        let least_ways: Vec<Nanos> = (0..transmitters.len()).map(|i| least_way(i, &transmitters, &paths)).collect();
        let series = Series::new(transmitters.len(), duration);
        let overhead_bytes = transmitters.iter().find(|t| t.is_bottleneck).map_or(0, |t| t.overhead_bytes);
        let is_bottleneck: Vec<bool> = transmitters.iter().map(|transmitter| transmitter.is_bottleneck).collect();
        let node = |(transmitter, least_way): (Transmitter, Nanos)| {
            let most = transmitter.most_packets();
            let mut link = Link::new(transmitter.config);
            link.reserve(packets.min(most));
            if transmitter.snoop_bytes.is_some() {
                link.reserve_first(packets);
            }
            Node {
                link,
                snoop: transmitter.snoop_bytes.map(Snoop::new),
                overhead_bytes: transmitter.overhead_bytes,
                busy: transmitter.is_bottleneck.then(BusySince::default),
                planned: PlannedRate::default(),
                tally: LinkTally::new(),
                hides_marks: transmitter.hides_marks,
                least_way,
            }
        };
        let data = paths.iter().map(|path| path.data).collect();
        let has_agent = transmitters.iter().any(|transmitter| transmitter.snoop_bytes.is_some());
        // One call of an agent gives back at most all that it keeps, and does little besides.
        let events = VecDeque::with_capacity(if has_agent { 2 * packets } else { 0 });
        let lane = |(route, class, has_data): (Route, u8, bool)| {
            let bottleneck = transmitters_of(&route).find(|i| is_bottleneck[*i]);
            let (counters, sojourn) = (PathCounters::default(), has_data.then(Histogram::new));
            let filters = route.stages.iter().any(|stage| matches!(stage, Stage::Delay(delay) if delay.filters()));
            Lane { stages: route.stages, bottleneck, class, counters, sojourn, filter: filters.then(AckFilter::new) }
        };
        let both_ways =
            |path: Path| [(path.up, path.class, path.data == Way::Up), (path.down, path.class, path.data == Way::Down)];
        let never = vec![NEVER; transmitters.len()];
        Network {
            nodes: transmitters.into_iter().zip(least_ways).map(node).collect(),
            next_events: never.clone(),
            next_timers: never,
            lanes: paths.into_iter().flat_map(both_ways).map(lane).collect(),
            data,
            on_the_way: DelayLine::with_capacity(packets),
            origin: 0,
            overhead_bytes,
            series,
            events,
        }
    }

    /// The run begins at `t0`: from then on plans, traces, steps and the series count. To be called before the first packet.
    pub fn set_origin(&mut self, t0: Nanos) {
        self.origin = t0;
        for index in 0..self.nodes.len() {
            self.nodes[index].link.set_origin(t0);
            self.note_next(index);
        }
        self.series.begin(t0);
    }

    /// A packet comes from a device at `now`. The caller has called [`Network::step`] until it gave nothing.
    pub fn inject(&mut self, now: Nanos, transit: Transit<P>) {
        self.lane(&transit).counters.offered_packets += 1;
        let moving = Moving { transit, next_stage: 0, marked: false, sojourn: 0, back_to_back: None, in_filter: false };
        self.enter(now, moving);
    }

    /// The next thing that the caller has to know of and that has happened by `now`, in the order of time.
    pub fn step(&mut self, now: Nanos) -> Option<Event<P>> {
        loop {
            if let Some(event) = self.events.pop_front() {
                return Some(event);
            }
            let Some((at, change)) = self.next_change().filter(|(at, _)| *at <= now) else {
                self.close_intervals(now);
                return None;
            };
            self.close_intervals(at);
            let event = match change {
                Change::Transmitter(node) => self.leave(node, at),
                Change::Arrival => self.arrive(),
                Change::Timer(node) => self.wake(node, at),
            };
            if event.is_some() {
                return event;
            }
        }
    }

    /// When the next packet may be due at a device. What is still in a queue matters only once its propagation is over too,
    /// which spares a wake-up per packet.
    #[must_use]
    pub fn next_due(&self) -> Option<Nanos> {
        let of_nodes = self.nodes.iter().zip(self.next_events.iter().zip(&self.next_timers));
        let nodes = of_nodes.map(|(node, (event, timer))| event.min(timer).saturating_add(node.least_way));
        let next = nodes.chain(self.on_the_way.next_due()).min()?;
        (next != NEVER).then_some(next)
    }

    /// Time and place of the next change. A transmitter goes first, as a packet that arrives must find what has left to be gone; a timer
    /// goes last, as what arrives may stop it.
    fn next_change(&self) -> Option<(Nanos, Change)> {
        let first = |times: &[Nanos]| times.iter().copied().min().unwrap_or(NEVER);
        let place = |times: &[Nanos], time| times.iter().position(|at| *at == time).expect("it is one of them");
        let (event, timer) = (first(&self.next_events), first(&self.next_timers));
        let arrival = self.on_the_way.next_due().unwrap_or(NEVER);
        match event.min(arrival).min(timer) {
            NEVER => None,
            next if next == event => Some((next, Change::Transmitter(place(&self.next_events, next)))),
            next if next == arrival => Some((next, Change::Arrival)),
            next => Some((next, Change::Timer(place(&self.next_timers, next)))),
        }
    }

    /// To be called whenever a transmitter or its agent was touched.
    fn note_next(&mut self, index: usize) {
        let node = &self.nodes[index];
        self.next_events[index] = node.link.next_event().unwrap_or(NEVER);
        self.next_timers[index] = node.snoop.as_ref().and_then(Snoop::next_timer).unwrap_or(NEVER);
    }

    fn close_intervals(&mut self, now: Nanos) {
        while self.series.is_over(now) {
            let nodes = &self.nodes;
            self.series.close(|i| (nodes[i].link.queued_packets(), nodes[i].link.queued_bytes()));
        }
    }

    /// The first packet on its way has come to its next stage or to its device.
    fn arrive(&mut self) -> Option<Event<P>> {
        let (due, mut moving) = self.on_the_way.pop(Nanos::MAX)?;
        let wire_bytes = u64::from(moving.transit.bytes + self.overhead_bytes);
        let lane = self.lane(&moving.transit);
        if std::mem::take(&mut moving.in_filter)
            && lane.filter.as_mut().is_some_and(|filter| !filter.is_latest(moving.transit.flow, due))
        {
            lane.counters.dropped(DropReason::Early);
            return Some(Event::Gone(moving.transit.packet));
        }
        if usize::from(moving.next_stage) < lane.stages.len() {
            self.enter(due, moving);
            return None;
        }
        lane.counters.delivered_packets += 1;
        lane.counters.delivered_wire_bytes += wire_bytes;
        if let Some(sojourn) = &mut lane.sojourn {
            sojourn.add(moving.sojourn);
        }
        Some(Event::Arrived { transit: moving.transit, due, marked: moving.marked, back_to_back: moving.back_to_back })
    }

    /// A packet comes to its next stage at `at`: delays are passed at once, a transmitter takes it, or the end of its way is ahead.
    fn enter(&mut self, at: Nanos, mut moving: Moving<P>) {
        let origin = self.origin;
        let lane = &mut self.lanes[lane_index(&moving.transit)];
        let mut due = at;
        while let Some(stage) = lane.stages.get_mut(usize::from(moving.next_stage)) {
            match stage {
                Stage::Delay(delay) => {
                    due = delay.pass(due, origin);
                    moving.in_filter |= delay.filters() && moving.is_filtered();
                }
                Stage::Transmitter(node) if due == at => {
                    let node = *node;
                    return self.offer(at, node, moving);
                }
                Stage::Snoop(node) if due == at => {
                    let node = *node;
                    moving.next_stage += 1;
                    return self.look_at_ack(at, node, moving);
                }
                // It is not there yet.
                Stage::Transmitter(_) | Stage::Snoop(_) => break,
            }
            moving.next_stage += 1;
        }
        if moving.in_filter
            && let Some(filter) = &mut lane.filter
        {
            filter.comes(moving.transit.flow, due);
        }
        self.on_the_way.push(due, moving);
    }

    fn queue(&mut self, now: Nanos, index: usize, moving: Moving<P>) {
        let item = self.item(index, moving);
        let node = &mut self.nodes[index];
        node.link.enqueue(now, item);
        node.tally.arrived(item.ecn, node.link.queued_bytes());
        self.note_next(index);
    }

    /// The same ahead of all that waits.
    fn queue_first(&mut self, now: Nanos, index: usize, moving: Moving<P>) {
        let item = self.item(index, moving);
        let node = &mut self.nodes[index];
        node.link.enqueue_first(now, item);
        node.tally.arrived(item.ecn, node.link.queued_bytes());
        self.note_next(index);
    }

    /// A packet as a transmitter takes it.
    fn item(&self, index: usize, mut moving: Moving<P>) -> Item<Moving<P>> {
        moving.next_stage += 1;
        let transit = moving.transit;
        Item {
            packet: moving,
            size_bytes: transit.bytes + self.nodes[index].overhead_bytes,
            flow: transit.flow,
            class: self.lanes[lane_index(&transit)].class,
            is_ack: transit.is_ack,
            ecn: moving.ecn(),
        }
    }

    /// What a transmitter has next, if anything: a packet goes on, or is gone.
    fn leave(&mut self, index: usize, now: Nanos) -> Option<Event<P>> {
        let output = self.nodes[index].link.pop(now);
        self.note_next(index);
        match output? {
            Output::Sent(departure) => self.sent(index, departure),
            Output::Dropped { packet, reason, .. } => {
                self.refused(now, index, &packet);
                Some(self.dropped(index, packet, reason))
            }
        }
    }

    fn sent(&mut self, index: usize, departure: Departure<Moving<P>>) -> Option<Event<P>> {
        let Departure { packet: mut moving, at, due, sojourn, back_to_back, marked, lost, .. } = departure;
        let node = &mut self.nodes[index];
        let wire_bytes = moving.transit.bytes + node.overhead_bytes;
        let sent = Sent { wire_bytes, sojourn, marked, lost: lost.is_some() };
        node.tally.sent(moving.ecn(), sent, lost);
        self.series.sent(index, sent);
        let counters = &mut self.lanes[lane_index(&moving.transit)].counters;
        counters.marked_packets += u64::from(marked && !moving.marked);
        counters.lost(lost);
        moving.marked |= marked && !node.hides_marks;
        moving.sojourn += sojourn;
        node.planned.add(at, wire_bytes, back_to_back);
        match &mut node.busy {
            Some(busy) if lost.is_some() => busy.lost(back_to_back),
            Some(busy) => moving.back_to_back = Some(busy.passed(back_to_back)),
            None if lost.is_some() => self.lost_behind_bottleneck(&moving),
            None => {}
        }
        if lost.is_some() {
            return Some(Event::Gone(moving.transit.packet));
        }
        // At the end of a route the wire may be followed by delays: they are passed when the packet has come to them.
        self.on_the_way.push(due, moving);
        None
    }

    fn dropped(&mut self, index: usize, moving: Moving<P>, reason: DropReason) -> Event<P> {
        self.nodes[index].tally.dropped(moving.ecn(), reason);
        self.series.dropped(index, reason);
        self.lane(&moving.transit).counters.dropped(reason);
        self.lost_behind_bottleneck(&moving);
        Event::Gone(moving.transit.packet)
    }

    /// What left the bottleneck and does not arrive counts with the next packet that does.
    fn lost_behind_bottleneck(&mut self, moving: &Moving<P>) {
        let bottleneck = self.lane(&moving.transit).bottleneck;
        if let Some(back_to_back) = moving.back_to_back
            && let Some(busy) = bottleneck.and_then(|i| self.nodes[i].busy.as_mut())
        {
            busy.lost(back_to_back);
        }
    }

    fn lane(&mut self, transit: &Transit<P>) -> &mut Lane {
        &mut self.lanes[lane_index(transit)]
    }
}

fn lane_index<P>(transit: &Transit<P>) -> usize {
    transit.path as usize * 2 + usize::from(transit.way == Way::Down)
}
