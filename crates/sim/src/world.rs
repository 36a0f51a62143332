//! Flows over a network, and the order in which things happen to them.

use crate::Nanos;
use crate::application::{Application, Data};
use crate::events::{Events, Turn};
use crate::receiver::{Receiver, ReceiverConfig};
use crate::segment::{Ack, HEADER_BYTES, Segment};
use crate::slab::Slab;
use crate::tcp::{Sender, SenderConfig};
use ccactl_link::Ecn;
use ccactl_link::network::{Event, Network, Path, Tcp, Transit, Transmitter, Way};
use ccactl_link::snoop;
use ccactl_native::Socket;
use std::collections::VecDeque;

/// Number of a flow, from 0 in the order in which they were added.
pub type FlowId = usize;

/// A SYN with its options: maximum segment, SACK, time stamps, window scale.
const SYN_BYTES: u32 = 60;
/// `TCP_TIMEOUT_INIT`: when a SYN is sent again first.
const SYN_TIMEOUT_NS: Nanos = 1_000_000_000;
/// Packets for which a network has room at the beginning; it grows.
const COMMON_PACKETS: usize = 1024;

/// Who opens a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Opening {
    /// Nobody: it is established when it begins.
    #[default]
    Established,
    /// The end that sends, as an upload's.
    BySender,
    /// The end that receives, as a download's.
    ByReceiver,
}

/// One connection.
pub struct FlowConfig {
    /// The algorithm, its tunables set and not initialised.
    pub socket: Socket,
    /// See there; what the handshake measures takes the place of its RTT.
    pub sender: SenderConfig,
    /// See there.
    pub receiver: ReceiverConfig,
    /// Number of its path in the network.
    pub path: usize,
    /// See there.
    pub opening: Opening,
    /// When it begins.
    pub start_ns: Nanos,
    /// What its application sends.
    pub data: Data,
}

/// Packets of a size at given times, which do not respond to anything.
pub struct SourceConfig {
    /// Number of its path in the network; they go up.
    pub path: usize,
    /// Size of the IP packets.
    pub packet_bytes: u32,
    /// When they leave, ascending.
    pub times_ns: Box<dyn Iterator<Item = Nanos> + Send>,
}

/// What a source has sent, and what of it has arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SourceCount {
    /// Packets that left.
    pub sent_pkts: u64,
    /// Packets at the far end.
    pub received_pkts: u64,
}

/// What has happened to a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// Its connection is established at the sender.
    Opened,
    /// An ACK has come to the sender, and nothing of it is processed yet.
    AckComes,
    /// The sender has processed an ACK, and sent what it allows.
    AckDone,
    /// A timer of the sender was due.
    Timer,
    /// The receiver has got everything that the application had to send.
    Complete,
}

/// A flow at a moment.
pub struct Observed<'a> {
    /// When.
    pub at_ns: Nanos,
    /// Whose.
    pub flow: FlowId,
    /// What has happened.
    pub moment: Moment,
    /// Its sender.
    pub sender: &'a Sender,
    /// Its receiver.
    pub receiver: &'a Receiver,
}

/// What travels.
#[derive(Debug, Clone, Copy)]
enum Load {
    Data(Segment),
    Ack(Ack),
    /// When it left.
    Syn(Nanos),
    /// When it left, and the SYN before it.
    SynAck {
        sent_ns: Nanos,
        syn_ns: Nanos,
    },
    /// The end of a handshake: when it left, and the SYN-ACK before it.
    Established {
        sent_ns: Nanos,
        syn_ack_ns: Nanos,
    },
    /// Of the source with that number.
    Noise(u32),
}

/// Both ends of an established connection.
struct Connection {
    sender: Sender,
    receiver: Receiver,
}

struct Flow {
    /// Until it is established.
    waiting: Option<(Socket, SenderConfig)>,
    connection: Option<Connection>,
    receiver: ReceiverConfig,
    path: u32,
    /// The way of its data.
    way: Way,
    opening: Opening,
    application: Application,
    /// When the end that opened the connection had it.
    connected_ns: Option<Nanos>,
    /// SYNs so far.
    syns: u32,
    is_complete: bool,
    has_ended: bool,
    /// The next moment at which its timers are looked at: no later than they are due, so that one which moves away, as with
    /// each ACK, needs no new moment.
    sender_look_ns: Option<Nanos>,
    receiver_look_ns: Option<Nanos>,
}

impl Flow {
    fn ends(&self) -> &Connection {
        self.connection.as_ref().expect("the flow is established")
    }
}

struct Source {
    config: SourceConfig,
    count: SourceCount,
}

/// See the crate.
pub struct World {
    now_ns: Nanos,
    events: Events,
    network: Network<u32>,
    reads_tcp: bool,
    /// Which way the data of each path go.
    ways: Vec<Way>,
    loads: Slab<Load>,
    /// What the ends have sent at this moment: it comes to the network when all that happens there at the moment has happened.
    outbox: VecDeque<Transit<u32>>,
    flows: Vec<Flow>,
    sources: Vec<Source>,
}

impl World {
    /// At time 0, with these links and paths. The network keeps what its links did in intervals for `duration_ns`.
    #[must_use]
    pub fn new(transmitters: Vec<Transmitter>, paths: Vec<Path>, duration_ns: Nanos) -> World {
        let ways = paths.iter().map(|path| path.data).collect();
        let mut network = Network::new(transmitters, paths, COMMON_PACKETS, duration_ns);
        network.set_origin(0);
        World {
            now_ns: 0,
            events: Events::new(),
            reads_tcp: network.reads_tcp(),
            network,
            ways,
            loads: Slab::new(),
            outbox: VecDeque::new(),
            flows: Vec::new(),
            sources: Vec::new(),
        }
    }

    /// Adds a flow; its number.
    ///
    /// # Panics
    /// When it names a path that is not there, or begins in the past.
    pub fn add_flow(&mut self, config: FlowConfig) -> FlowId {
        assert!(config.start_ns >= self.now_ns, "a flow begins later");
        let flow = self.flows.len();
        self.events.plan(config.start_ns, Turn::Open(flow as u32));
        self.flows.push(Flow {
            waiting: Some((config.socket, config.sender)),
            connection: None,
            receiver: config.receiver,
            path: config.path as u32,
            way: self.ways[config.path],
            opening: config.opening,
            application: Application::new(config.data),
            connected_ns: None,
            syns: 0,
            is_complete: false,
            has_ended: false,
            sender_look_ns: None,
            receiver_look_ns: None,
        });
        if config.opening == Opening::Established {
            // It has its algorithm from now on, and data from its start on.
            let rtt_us = config.sender.handshake_rtt_us;
            self.establish(flow, config.start_ns, rtt_us);
        }
        flow
    }

    /// Adds a source; its number, from 0.
    pub fn add_source(&mut self, mut config: SourceConfig) -> usize {
        let source = self.sources.len();
        if let Some(at_ns) = config.times_ns.next() {
            self.events.plan(at_ns, Turn::Source(source as u32));
        }
        self.sources.push(Source { config, count: SourceCount::default() });
        source
    }

    /// Time so far.
    #[must_use]
    pub fn now_ns(&self) -> Nanos {
        self.now_ns
    }

    /// The sender of a flow.
    ///
    /// # Panics
    /// When the flow is not established yet.
    #[must_use]
    pub fn sender(&self, flow: FlowId) -> &Sender {
        &self.flows[flow].ends().sender
    }

    /// The algorithm of a flow, to be changed; none when the flow is not established.
    pub fn socket_mut(&mut self, flow: FlowId) -> Option<&mut Socket> {
        self.flows[flow].connection.as_mut().map(|ends| &mut ends.sender.socket)
    }

    /// The receiver of a flow.
    ///
    /// # Panics
    /// When the flow is not established yet.
    #[must_use]
    pub fn receiver(&self, flow: FlowId) -> &Receiver {
        &self.flows[flow].ends().receiver
    }

    /// Whether a flow is established, now or until it ended.
    #[must_use]
    pub fn is_established(&self, flow: FlowId) -> bool {
        self.flows[flow].connection.is_some()
    }

    /// When the end that opened the connection of a flow had it.
    #[must_use]
    pub fn connected_ns(&self, flow: FlowId) -> Option<Nanos> {
        self.flows[flow].connected_ns
    }

    /// What a source has done.
    #[must_use]
    pub fn source(&self, source: usize) -> SourceCount {
        self.sources[source].count
    }

    /// The links and what they have counted.
    #[must_use]
    pub fn network(&self) -> &Network<u32> {
        &self.network
    }

    /// The network, when nothing more is to happen.
    #[must_use]
    pub fn into_network(self) -> Network<u32> {
        self.network
    }

    /// Both ends of a flow are gone: what is on its way to them comes to nothing.
    pub fn end_flow(&mut self, flow: FlowId) {
        let flow = &mut self.flows[flow];
        flow.has_ended = true;
        flow.waiting = None;
    }

    /// Goes on to a moment. `observe` sees what happens to flows.
    pub fn run_until(&mut self, until_ns: Nanos, mut observe: impl FnMut(Observed<'_>)) {
        self.run_while(until_ns, |seen| {
            observe(seen);
            true
        });
    }

    /// The same, and ends earlier where `observe` says so: then what else happens at that nanosecond may be still to come.
    pub fn run_while(&mut self, until_ns: Nanos, mut observe: impl FnMut(Observed<'_>) -> bool) {
        let mut goes_on = true;
        while goes_on {
            let turn_ns = self.events.next_ns();
            let next_ns = [self.network.next_due(), turn_ns].into_iter().flatten().min();
            let Some(at_ns) = (if self.outbox.is_empty() { next_ns } else { Some(self.now_ns) }) else { break };
            if at_ns > until_ns {
                break;
            }
            self.now_ns = at_ns;
            let mut note = |seen: Observed<'_>| goes_on &= observe(seen);
            if let Some(event) = self.network.step(at_ns) {
                self.on_network(event, &mut note);
            } else if let Some(transit) = self.outbox.pop_front() {
                self.network.inject(at_ns, transit);
            } else if turn_ns == Some(at_ns) {
                let turn = self.events.take();
                self.on_turn(turn, &mut note);
            }
        }
        if goes_on {
            self.now_ns = until_ns;
            while let Some(event) = self.network.step(until_ns) {
                self.on_network(event, &mut |seen| _ = observe(seen));
            }
        }
    }

    fn on_network(&mut self, event: Event<u32>, note: &mut impl FnMut(Observed<'_>)) {
        match event {
            Event::Gone(load) => _ = self.loads.remove(load),
            Event::Arrived { transit, marked, .. } => {
                let load = self.loads.remove(transit.packet);
                self.on_arrival(transit.flow as usize, load, marked, note);
            }
            Event::Kept(_) | Event::Stripped(_) => unreachable!("there is no agent: none sees a header"),
        }
    }

    fn on_arrival(&mut self, at: FlowId, load: Load, marked: bool, note: &mut impl FnMut(Observed<'_>)) {
        if let Load::Noise(source) = load {
            self.sources[source as usize].count.received_pkts += 1;
            return;
        }
        if self.flows[at].has_ended {
            return;
        }
        match load {
            Load::Data(segment) => {
                let ecn = if marked { Ecn::Ce } else { segment.ecn };
                self.on_segment(at, &Segment { ecn, ..segment }, note);
            }
            Load::Ack(ack) => self.on_ack(at, &ack, note),
            Load::Syn(syn_ns) => self.send(at, Load::SynAck { sent_ns: self.now_ns, syn_ns }),
            Load::SynAck { sent_ns, syn_ns } => {
                let flow = &mut self.flows[at];
                flow.connected_ns.get_or_insert(self.now_ns);
                if flow.opening == Opening::ByReceiver {
                    self.send(at, Load::Established { sent_ns: self.now_ns, syn_ack_ns: sent_ns });
                } else {
                    self.on_established(at, syn_ns, sent_ns, note);
                }
            }
            Load::Established { sent_ns, syn_ack_ns } => self.on_established(at, syn_ack_ns, sent_ns, note),
            Load::Noise(_) => {}
        }
    }

    /// A handshake is over at the sender: the packet before the last was sent at `since_ns`, the last one at `peer_ns`.
    fn on_established(&mut self, at: FlowId, since_ns: Nanos, peer_ns: Nanos, note: &mut impl FnMut(Observed<'_>)) {
        if self.flows[at].connection.is_some() {
            return;
        }
        let rtt_us = (self.now_ns - since_ns) / 1000;
        self.establish(at, self.now_ns, u32::try_from(rtt_us).unwrap_or(u32::MAX));
        if let Some(ends) = &mut self.flows[at].connection {
            ends.sender.heard_from(peer_ns);
        }
        self.note(at, Moment::Opened, note);
        self.write(at);
    }

    fn establish(&mut self, at: FlowId, at_ns: Nanos, handshake_rtt_us: u32) {
        let flow = &mut self.flows[at];
        let Some((socket, config)) = flow.waiting.take() else { return };
        let config = SenderConfig { handshake_rtt_us, is_opener: flow.opening != Opening::ByReceiver, ..config };
        flow.connection = Some(Connection {
            receiver: Receiver::new(at_ns, flow.receiver, &config),
            sender: Sender::new(socket, config, at_ns),
        });
    }

    fn on_turn(&mut self, turn: Turn, note: &mut impl FnMut(Observed<'_>)) {
        match turn {
            Turn::Open(flow) => self.open(flow as usize, note),
            Turn::Receiver(flow) => self.on_receiver_timer(flow as usize),
            Turn::Write(flow) => {
                self.flows[flow as usize].application.wake();
                self.write(flow as usize);
            }
            Turn::Sender(flow) => self.on_sender_timer(flow as usize, note),
            Turn::Source(source) => self.on_source(source as usize),
        }
    }

    /// The first SYN, or one after the other until there is an answer.
    fn open(&mut self, at: FlowId, note: &mut impl FnMut(Observed<'_>)) {
        let flow = &mut self.flows[at];
        if flow.has_ended {
            return;
        }
        if flow.opening == Opening::Established {
            flow.connected_ns = Some(self.now_ns);
            self.note(at, Moment::Opened, note);
            return self.write(at);
        }
        if flow.connection.is_none() {
            let wait_ns = SYN_TIMEOUT_NS << flow.syns.min(6);
            flow.syns += 1;
            self.events.plan(self.now_ns + wait_ns, Turn::Open(at as u32));
            self.send(at, Load::Syn(self.now_ns));
        }
    }

    fn on_segment(&mut self, at: FlowId, segment: &Segment, note: &mut impl FnMut(Observed<'_>)) {
        let flow = &mut self.flows[at];
        let Some(ends) = &mut flow.connection else { return };
        let acks = ends.receiver.on_segment(self.now_ns, segment);
        let is_complete = flow.application.size().is_some_and(|size| ends.receiver.received_bytes() >= size);
        let completes = is_complete && !std::mem::replace(&mut flow.is_complete, is_complete);
        for ack in acks.into_iter().flatten() {
            self.send(at, Load::Ack(ack));
        }
        self.plan_receiver(at);
        if completes {
            self.note(at, Moment::Complete, note);
        }
    }

    fn on_ack(&mut self, at: FlowId, ack: &Ack, note: &mut impl FnMut(Observed<'_>)) {
        if self.flows[at].connection.is_none() {
            return;
        }
        self.note(at, Moment::AckComes, note);
        let Some(ends) = &mut self.flows[at].connection else { return };
        ends.sender.on_ack(self.now_ns, ack);
        self.write(at);
        self.note(at, Moment::AckDone, note);
    }

    fn on_receiver_timer(&mut self, at: FlowId) {
        let flow = &mut self.flows[at];
        if flow.has_ended || flow.receiver_look_ns != Some(self.now_ns) {
            return;
        }
        flow.receiver_look_ns = None;
        let Some(ends) = &mut flow.connection else { return };
        if let Some(ack) = ends.receiver.on_timer(self.now_ns) {
            self.send(at, Load::Ack(ack));
        }
        self.plan_receiver(at);
    }

    fn on_sender_timer(&mut self, at: FlowId, note: &mut impl FnMut(Observed<'_>)) {
        let flow = &mut self.flows[at];
        if flow.has_ended || flow.sender_look_ns != Some(self.now_ns) {
            return;
        }
        flow.sender_look_ns = None;
        let Some(ends) = &mut flow.connection else { return };
        let is_due = ends.sender.next_timer_ns().is_some_and(|due_ns| due_ns <= self.now_ns);
        if is_due {
            ends.sender.on_timer(self.now_ns);
        }
        self.write(at);
        if is_due {
            self.note(at, Moment::Timer, note);
        }
    }

    fn on_source(&mut self, at: usize) {
        let Source { config, count } = &mut self.sources[at];
        count.sent_pkts += 1;
        let (path, bytes) = (config.path as u32, config.packet_bytes);
        if let Some(next_ns) = config.times_ns.next() {
            self.events.plan(next_ns, Turn::Source(at as u32));
        }
        let packet = self.loads.insert(Load::Noise(at as u32));
        // Beyond the flows: disciplines that tell flows apart see one of its own.
        let flow = u32::MAX - at as u32;
        let ecn = Ecn::NotCapable;
        let way = Way::Up;
        self.outbox.push_back(Transit { packet, path, way, bytes, flow, is_ack: false, ecn, tcp: None });
    }

    /// The application writes what it may, and what the sender makes of it leaves.
    fn write(&mut self, at: FlowId) {
        let flow = &mut self.flows[at];
        let Some(ends) = &mut flow.connection else { return };
        if let Some(wake_ns) = flow.application.write(self.now_ns, &mut ends.sender) {
            self.events.plan(wake_ns, Turn::Write(at as u32));
        }
        let mut sent = std::mem::take(ends.sender.sent_mut());
        for segment in sent.drain(..) {
            self.send(at, Load::Data(segment));
        }
        let flow = &mut self.flows[at];
        let Some(ends) = &mut flow.connection else { return };
        // The next ones need no new memory.
        *ends.sender.sent_mut() = sent;
        if let Some(next_ns) = earlier(ends.sender.next_timer_ns(), flow.sender_look_ns) {
            flow.sender_look_ns = Some(next_ns);
            self.events.plan(next_ns, Turn::Sender(at as u32));
        }
    }

    fn plan_receiver(&mut self, at: FlowId) {
        let flow = &mut self.flows[at];
        let Some(ends) = &flow.connection else { return };
        if let Some(next_ns) = earlier(ends.receiver.next_timer_ns(), flow.receiver_look_ns) {
            flow.receiver_look_ns = Some(next_ns);
            self.events.plan(next_ns, Turn::Receiver(at as u32));
        }
    }

    fn send(&mut self, at: FlowId, load: Load) {
        let flow = &self.flows[at];
        let forth = flow.way;
        let back = if forth == Way::Up { Way::Down } else { Way::Up };
        // A SYN goes from the end that opens.
        let (to_receiver, to_sender) = match flow.opening {
            Opening::ByReceiver => (back, forth),
            Opening::Established | Opening::BySender => (forth, back),
        };
        let (way, bytes, ecn, is_ack) = match load {
            Load::Data(segment) => (forth, segment.bytes + HEADER_BYTES, segment.ecn, false),
            Load::Ack(_) => (back, HEADER_BYTES, Ecn::NotCapable, true),
            Load::Syn(_) => (to_receiver, SYN_BYTES, Ecn::NotCapable, false),
            Load::SynAck { .. } => (to_sender, SYN_BYTES, Ecn::NotCapable, false),
            Load::Established { .. } => (to_receiver, HEADER_BYTES, Ecn::NotCapable, true),
            Load::Noise(_) => unreachable!("of a source, not of a flow"),
        };
        let tcp = match &load {
            Load::Ack(ack) if self.reads_tcp => Some(header(ack)),
            _ => None,
        };
        let path = flow.path;
        let packet = self.loads.insert(load);
        self.outbox.push_back(Transit { packet, path, way, bytes, flow: at as u32, is_ack, ecn, tcp });
    }

    fn note(&self, flow: FlowId, moment: Moment, note: &mut impl FnMut(Observed<'_>)) {
        let Connection { sender, receiver } = self.flows[flow].ends();
        note(Observed { at_ns: self.now_ns, flow, moment, sender, receiver });
    }
}

/// What an ACK filter looks at: whether there are blocks.
fn header(ack: &Ack) -> Tcp {
    let mut sack = snoop::Sack::default();
    ack.blocks().iter().for_each(|(left, right)| sack.push(*left as u32, *right as u32));
    let segment = snoop::Segment { ack: Some(ack.ack as u32), sack, ..snoop::Segment::default() };
    Tcp { host_port: 0, server_port: 0, segment }
}

/// The first moment, if it comes before the second.
fn earlier(due_ns: Option<Nanos>, look_ns: Option<Nanos>) -> Option<Nanos> {
    due_ns.filter(|&due| look_ns.is_none_or(|look| due < look))
}
