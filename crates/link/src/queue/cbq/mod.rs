//! Class-based queueing: Floyd, Van Jacobson, "Link-sharing and resource management models for packet networks", IEEE/ACM ToN
//! 3(4), 1995. Classes have a queue each. Groups of classes, and groups of groups, have shares too, and the link is above them
//! all.
//!
//! - Estimator (`usage.rs`): who is over its share. The link never is.
//! - Formal link-sharing guidelines: a class may send if it is not over its share. It may also send if it borrows from a
//!   group that is not, or from the link, as long as nobody further down is unsatisfied. Unsatisfied is who is not over its
//!   share and has something to send. What a class leaves idle therefore goes to the classes of its group first.
//! - General scheduler: of those that may send, the lowest number of priority; among equals weighted round robin, in bytes in
//!   proportion to the shares.
//!
//! Written out: every class that waits has a source, itself or the first above it that is not over its share, as far as borrowing
//! goes. The classes with the lowest source of all may send.
//!
//! Own readings. The guidelines are evaluated for every packet, not approximated by the paper's Ancestor-Only or
//! Top-Level. A group is unsatisfied for the sake of those alone that may borrow from it; in the paper one that may not
//! borrow can keep the rest of the link idle. The paper leaves drops open; here it is the tail of the queue that is
//! the longest in proportion to its share.

mod tree;
mod usage;

pub use tree::{CbqClass, CbqGroup, PRIORITIES};

use super::fattest::Fattest;
use super::{Next, Queue};
use crate::Nanos;
use crate::buffer::{Buffer, Line};
use crate::packet::Waiting;
use tree::Node;
use usage::{Estimator, Usage};

/// Parameters of CBQ.
#[derive(Debug, Clone, PartialEq)]
pub struct Cbq {
    /// Above the classes. A group comes after the one that it is in.
    pub groups: Vec<CbqGroup>,
    /// By number of the class; packets of higher classes belong to the last. Those in one group, with the groups in it, have at most
    /// its share together.
    pub classes: Vec<CbqClass>,
    /// w of the newest idle time in the average; above 0 and below 1.
    pub weight: f64,
    /// Packets that a class may send at once after a pause, beyond the first. In proportion to this the average is limited.
    pub burst_packets: u32,
    /// Bytes per turn of a class with the mean share of its priority; not 0.
    pub quantum_bytes: u32,
}

impl Default for Cbq {
    /// Two halves that lend to each other. The weight is that of ns-2, whose CBQ is by the authors' group; the burst that of
    /// ALTQ. Not in the paper either: the quantum, a full packet.
    fn default() -> Self {
        let half = CbqClass { group: None, share_permille: 500, borrow: true, priority: 0 };
        Cbq { groups: Vec::new(), classes: vec![half; 2], weight: 1.0 / 16.0, burst_packets: 16, quantum_bytes: 1514 }
    }
}

/// A class at work.
struct ClassQueue {
    packets: Line,
    share_permille: u32,
    priority: usize,
    quantum: i64,
    /// Bytes that it may still send in its turn; may be below 0.
    credits: i64,
    /// Level of its source now.
    source: Option<u32>,
}

impl ClassQueue {
    /// Its bytes, divided by its share.
    fn length(&self) -> u64 {
        self.packets.bytes() * 1000 / u64::from(self.share_permille)
    }
}

/// CBQ at work.
pub(crate) struct CbqQueue {
    estimator: Estimator,
    classes: Vec<ClassQueue>,
    /// The classes, then the groups.
    nodes: Vec<Node>,
    usage: Vec<Usage>,
    /// Queues by their length divided by their share.
    fattest: Fattest,
    /// By priority: the class whose turn it is.
    turns: [usize; PRIORITIES],
}

impl CbqQueue {
    pub fn new(config: Cbq) -> Self {
        if let Some((field, fault)) = config.fault() {
            panic!("CBQ's {field}: {fault}");
        }
        assert!(config.weight > 0.0 && config.weight < 1.0, "w of CBQ is above 0 and below 1");
        assert!(config.quantum_bytes > 0, "CBQ has a quantum");
        let nodes = config.nodes();
        CbqQueue {
            estimator: Estimator::new(config.weight, config.burst_packets),
            classes: (0..config.classes.len()).map(|number| class_queue(&config, number)).collect(),
            usage: nodes.iter().map(|node| Usage::of(node.share_permille)).collect(),
            fattest: Fattest::new(config.classes.len()),
            nodes,
            turns: [0; PRIORITIES],
        }
    }

    /// A class itself, and then those that it may borrow from, from below; `None` is the link.
    fn lenders(&self, class: usize) -> impl Iterator<Item = Option<usize>> {
        std::iter::successors(Some(Some(class)), |lender| {
            let node = &self.nodes[(*lender)?];
            node.borrow.then_some(node.parent)
        })
    }

    /// Level of the first lender of a class that is not over its share.
    fn source(&self, class: usize, now: Nanos) -> Option<u32> {
        let level = |lender: Option<usize>| match lender {
            None => Some(tree::LINK_LEVEL),
            Some(node) => self.usage[node].is_within_share(now).then_some(self.nodes[node].level),
        };
        self.lenders(class).find_map(level)
    }

    /// When the first of those that wait may send again, as far as nobody arrives; if anybody waits.
    fn earliest(&self) -> Option<Nanos> {
        let waiting = (0..self.classes.len()).filter(|class| !self.classes[*class].packets.is_empty());
        let times = waiting.flat_map(|class| self.lenders(class)).flatten();
        times.map(|node| self.usage[node].within_share_from()).min()
    }

    /// The class that sends next, if any may.
    fn choose(&mut self, now: Nanos) -> Option<usize> {
        for class in 0..self.classes.len() {
            let waits = !self.classes[class].packets.is_empty();
            self.classes[class].source = if waits { self.source(class, now) } else { None };
        }
        let lowest = self.classes.iter().filter_map(|class| class.source).min()?;
        let may_send = |class: &ClassQueue| class.source == Some(lowest);
        let priority = self.classes.iter().filter(|class| may_send(class)).map(|class| class.priority).min()?;
        loop {
            let turn = &mut self.turns[priority];
            let class = &mut self.classes[*turn];
            if class.priority == priority && may_send(class) {
                if class.credits > 0 {
                    return Some(*turn);
                }
                class.credits += class.quantum;
            }
            *turn = (*turn + 1) % self.classes.len();
        }
    }

    fn send<P>(&mut self, number: usize, now: Nanos, buffer: &mut Buffer<P>) -> Next<P> {
        let class = &mut self.classes[number];
        let Some(packet) = buffer.pop_front(&mut class.packets) else { return Next::Nothing };
        let bytes = packet.item.size_bytes;
        class.credits -= i64::from(bytes);
        self.fattest.set(number, class.length());
        // It counts at all that are above it, whoever lent.
        let mut node = Some(number);
        while let Some(number) = node {
            self.usage[number].count(&self.estimator, bytes, now, buffer.rate_bps);
            node = self.nodes[number].parent;
        }
        Next::Packet(packet)
    }
}

fn class_queue(config: &Cbq, number: usize) -> ClassQueue {
    let CbqClass { share_permille, priority, .. } = config.classes[number];
    let equals = || config.classes.iter().filter(|class| class.priority == priority);
    let sum: u64 = equals().map(|class| u64::from(class.share_permille)).sum();
    let quantum = u64::from(config.quantum_bytes) * u64::from(share_permille) * equals().count() as u64 / sum;
    ClassQueue {
        packets: Line::default(),
        share_permille,
        priority: priority as usize,
        quantum: quantum.max(1) as i64,
        credits: 0,
        source: None,
    }
}

impl<P> Queue<P> for CbqQueue {
    fn enqueue(&mut self, now: Nanos, packet: Waiting<P>, buffer: &mut Buffer<P>) {
        let number = usize::from(packet.item.class).min(self.classes.len() - 1);
        let class = &mut self.classes[number];
        buffer.push_back(&mut class.packets, packet);
        self.fattest.set(number, class.length());
        self.fattest.make_room(now, buffer, |longest, buffer| {
            let class = &mut self.classes[longest];
            (buffer.pop_back(&mut class.packets), class.length())
        });
    }

    fn dequeue(&mut self, now: Nanos, buffer: &mut Buffer<P>) -> Next<P> {
        match self.choose(now) {
            Some(class) => self.send(class, now, buffer),
            None => self.earliest().map_or(Next::Nothing, Next::Later),
        }
    }
}
