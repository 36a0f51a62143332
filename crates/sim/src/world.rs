//! Links and flows, and the order in which things happen to them.

use crate::Nanos;
use crate::events::{Events, Turn};
use crate::receiver::{EcnFeedback, Receiver};
use crate::segment::{Ack, HEADER_BYTES, Segment};
use crate::tcp::{Sender, SenderConfig};
use ccactl_link::{DropReason, Ecn, Item, Link, LinkConfig, Output};
use ccactl_native::Socket;
use std::collections::VecDeque;

/// Number of a flow, from 0 in the order in which they were added.
pub type FlowId = usize;

/// A flow: from where its data come, and which way they take.
pub struct FlowConfig {
    /// The algorithm, its tunables set and not initialised.
    pub socket: Socket,
    /// See there.
    pub sender: SenderConfig,
    /// See there.
    pub feedback: EcnFeedback,
    /// Links on the way of its data, in order.
    pub links: Vec<usize>,
    /// One-way delay of its ACKs, which no link holds up.
    pub return_ns: Nanos,
    /// When it begins.
    pub start_ns: Nanos,
    /// What its application has to send; `u64::MAX`: it never runs out.
    pub bytes: u64,
}

/// What a flow looks like after something has happened to its sender.
pub struct Observed<'a> {
    /// When.
    pub at_ns: Nanos,
    /// Whose.
    pub flow: FlowId,
    /// The sender.
    pub sender: &'a Sender,
}

struct Flow {
    sender: Sender,
    receiver: Receiver,
    links: Vec<usize>,
    return_ns: Nanos,
    bytes: u64,
    acks: VecDeque<(Nanos, Ack)>,
    /// The next moment at which its timers are looked at: no later than they are due, so that one which moves away, as with
    /// each ACK, needs no new moment.
    sender_look_ns: Option<Nanos>,
    receiver_look_ns: Option<Nanos>,
}

/// A segment on its way: whose it is, and how many links it has passed.
#[derive(Clone, Copy)]
struct Packet {
    flow: u32,
    passed: u32,
    segment: Segment,
}

struct Node {
    link: Link<Packet>,
    wire: VecDeque<(Nanos, Packet)>,
    due_ns: Option<Nanos>,
    dropped_pkts: u64,
}

/// See the crate.
pub struct World {
    now_ns: Nanos,
    events: Events,
    links: Vec<Node>,
    flows: Vec<Flow>,
}

impl World {
    /// Nothing yet, at time 0.
    #[must_use]
    pub fn new() -> World {
        World { now_ns: 0, events: Events::new(), links: Vec::new(), flows: Vec::new() }
    }

    /// Adds a link; its number. The delay of its wire is what a segment takes from its end to the next.
    pub fn add_link(&mut self, config: LinkConfig) -> usize {
        self.links.push(Node { link: Link::new(config), wire: VecDeque::new(), due_ns: None, dropped_pkts: 0 });
        self.links.len() - 1
    }

    /// Adds a flow; its number.
    ///
    /// # Panics
    /// When it names a link that is not there, or begins in the past.
    pub fn add_flow(&mut self, config: FlowConfig) -> FlowId {
        assert!(config.links.iter().all(|&link| link < self.links.len()), "a flow takes links that are there");
        assert!(config.start_ns >= self.now_ns, "a flow begins later");
        let flow = self.flows.len();
        self.events.plan(config.start_ns, Turn::Application(flow as u32));
        self.flows.push(Flow {
            receiver: Receiver::new(config.sender.hz, config.feedback, config.sender.handshake_rtt_us),
            sender: Sender::new(config.socket, config.sender, config.start_ns),
            links: config.links,
            return_ns: config.return_ns,
            bytes: config.bytes,
            acks: VecDeque::new(),
            sender_look_ns: None,
            receiver_look_ns: None,
        });
        flow
    }

    /// Time so far.
    #[must_use]
    pub fn now_ns(&self) -> Nanos {
        self.now_ns
    }

    /// The sender of a flow.
    #[must_use]
    pub fn sender(&self, flow: FlowId) -> &Sender {
        &self.flows[flow].sender
    }

    /// The receiver of a flow.
    #[must_use]
    pub fn receiver(&self, flow: FlowId) -> &Receiver {
        &self.flows[flow].receiver
    }

    /// Segments that a link has dropped, on its wire or before.
    #[must_use]
    pub fn dropped_pkts(&self, link: usize) -> u64 {
        self.links[link].dropped_pkts
    }

    /// Goes on to a moment. `observe` sees each sender after an ACK or a timer.
    pub fn run_until(&mut self, until_ns: Nanos, mut observe: impl FnMut(Observed<'_>)) {
        while let Some((at_ns, turn)) = self.events.take(until_ns) {
            self.now_ns = at_ns;
            match turn {
                Turn::Link(link) => self.on_link(link as usize),
                Turn::Wire(link) => self.on_wire(link as usize),
                Turn::Receiver(flow) => self.on_receiver_timer(flow as usize),
                Turn::Application(flow) => {
                    let Flow { sender, bytes, .. } = &mut self.flows[flow as usize];
                    sender.write(at_ns, *bytes);
                    self.after_sender(flow as usize);
                }
                Turn::Return(flow) => {
                    self.on_return(flow as usize);
                    observe(Observed { at_ns, flow: flow as usize, sender: &self.flows[flow as usize].sender });
                }
                Turn::Sender(flow) => {
                    if self.on_sender_timer(flow as usize) {
                        observe(Observed { at_ns, flow: flow as usize, sender: &self.flows[flow as usize].sender });
                    }
                }
            }
        }
        self.now_ns = until_ns;
    }

    fn on_link(&mut self, at: usize) {
        let node = &mut self.links[at];
        if node.due_ns != Some(self.now_ns) {
            return;
        }
        node.due_ns = None;
        self.drain(at);
        self.plan_link(at);
    }

    /// Takes what a link has done by now.
    fn drain(&mut self, at: usize) {
        let node = &mut self.links[at];
        while let Some(output) = node.link.pop(self.now_ns) {
            match output {
                Output::Sent(departure) if departure.lost.is_some() => node.dropped_pkts += 1,
                Output::Sent(departure) => {
                    let mut packet = departure.packet;
                    if departure.marked {
                        packet.segment.ecn = Ecn::Ce;
                    }
                    // Jitter may let one overtake another.
                    let place = node.wire.partition_point(|(due_ns, _)| *due_ns <= departure.due);
                    node.wire.insert(place, (departure.due, packet));
                    self.events.plan(departure.due, Turn::Wire(at as u32));
                }
                Output::Dropped { reason: DropReason::Full | DropReason::Early, .. } => node.dropped_pkts += 1,
            }
        }
    }

    fn plan_link(&mut self, at: usize) {
        let node = &mut self.links[at];
        let next_ns = node.link.next_event();
        if next_ns != node.due_ns {
            node.due_ns = next_ns;
            if let Some(next_ns) = next_ns {
                self.events.plan(next_ns, Turn::Link(at as u32));
            }
        }
    }

    /// One segment has come to the end of a wire.
    fn on_wire(&mut self, at: usize) {
        let (_, mut packet) = self.links[at].wire.pop_front().expect("one moment was planned for each");
        packet.passed += 1;
        self.carry(packet);
    }

    /// To the next link of its way, or to its receiver.
    fn carry(&mut self, packet: Packet) {
        let flow = &self.flows[packet.flow as usize];
        let Some(&at) = flow.links.get(packet.passed as usize) else {
            self.deliver(packet);
            return;
        };
        self.drain(at);
        let item = Item {
            packet,
            size_bytes: packet.segment.bytes + HEADER_BYTES,
            flow: packet.flow,
            class: 0,
            is_ack: false,
            ecn: packet.segment.ecn,
        };
        self.links[at].link.enqueue(self.now_ns, item);
        self.drain(at);
        self.plan_link(at);
    }

    fn deliver(&mut self, packet: Packet) {
        let at = packet.flow as usize;
        let acks = self.flows[at].receiver.on_segment(self.now_ns, &packet.segment);
        for ack in acks.into_iter().flatten() {
            self.send_back(at, ack);
        }
        self.plan_receiver(at);
    }

    fn send_back(&mut self, at: usize, ack: Ack) {
        let flow = &mut self.flows[at];
        let due_ns = self.now_ns + flow.return_ns;
        flow.acks.push_back((due_ns, ack));
        self.events.plan(due_ns, Turn::Return(at as u32));
    }

    fn plan_receiver(&mut self, at: usize) {
        let flow = &mut self.flows[at];
        if let Some(next_ns) = earlier(flow.receiver.next_timer_ns(), flow.receiver_look_ns) {
            flow.receiver_look_ns = Some(next_ns);
            self.events.plan(next_ns, Turn::Receiver(at as u32));
        }
    }

    fn on_receiver_timer(&mut self, at: usize) {
        let flow = &mut self.flows[at];
        if flow.receiver_look_ns != Some(self.now_ns) {
            return;
        }
        flow.receiver_look_ns = None;
        if let Some(ack) = flow.receiver.on_timer(self.now_ns) {
            self.send_back(at, ack);
        }
        self.plan_receiver(at);
    }

    fn on_return(&mut self, at: usize) {
        let flow = &mut self.flows[at];
        let (_, ack) = flow.acks.pop_front().expect("one moment was planned for each");
        flow.sender.on_ack(self.now_ns, &ack);
        self.after_sender(at);
    }

    /// Whether it was time.
    fn on_sender_timer(&mut self, at: usize) -> bool {
        let flow = &mut self.flows[at];
        if flow.sender_look_ns != Some(self.now_ns) {
            return false;
        }
        flow.sender_look_ns = None;
        let is_due = flow.sender.next_timer_ns().is_some_and(|due_ns| due_ns <= self.now_ns);
        if is_due {
            flow.sender.on_timer(self.now_ns);
        }
        self.after_sender(at);
        is_due
    }

    /// Carries what a sender has sent, and plans its next timer.
    fn after_sender(&mut self, at: usize) {
        let segments: Vec<Segment> = self.flows[at].sender.take_sent().collect();
        for segment in segments {
            self.carry(Packet { flow: at as u32, passed: 0, segment });
        }
        let flow = &mut self.flows[at];
        if let Some(next_ns) = earlier(flow.sender.next_timer_ns(), flow.sender_look_ns) {
            flow.sender_look_ns = Some(next_ns);
            self.events.plan(next_ns, Turn::Sender(at as u32));
        }
    }
}

/// The first moment, if it comes before the second.
fn earlier(due_ns: Option<Nanos>, look_ns: Option<Nanos>) -> Option<Nanos> {
    due_ns.filter(|&due| look_ns.is_none_or(|look| due < look))
}

impl Default for World {
    fn default() -> Self {
        World::new()
    }
}
