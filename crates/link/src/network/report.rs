//! What a network tells at the end.

use super::counters::{EcnFigures, FlowCounters, LinkCounters, QueueFigures, SnoopFigures};
use super::histogram::{Histogram, QueueingDelay};
use super::route::Way;
use super::series::Interval;
use super::{Lane, Network, Node};

/// What has happened to the flow of a path.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FlowTally {
    /// Packets.
    pub counters: FlowCounters,
    /// Time in queues, all links together, of data packets that were delivered.
    pub queueing: QueueingDelay,
}

/// What a transmitter has done.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LinkReport {
    /// Packets.
    pub counters: LinkCounters,
    /// Its queue.
    pub queue: QueueFigures,
    /// What became of each codepoint of the ECN field, by its bits.
    pub ecn: [EcnFigures; 4],
    /// Rate on the wire that its plan gave while something waited, in bit/s; none when nothing ever waited.
    pub planned_rate_bps: Option<f64>,
    /// The Snoop agent ahead of it, if there is one.
    pub snoop: Option<SnoopFigures>,
}

/// What a network has done.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct NetworkReport {
    /// By path.
    pub flows: Vec<FlowTally>,
    /// By transmitter.
    pub links: Vec<LinkReport>,
    /// Packets that were in queues and on wires at the end.
    pub inside_packets: u64,
    /// What the transmitters did over time.
    pub series: Vec<Interval>,
}

impl<P: Copy> Network<P> {
    /// Packets that were injected and have neither arrived nor gone, once [`Network::step`] has given everything.
    #[must_use]
    pub fn inside(&self) -> usize {
        self.on_the_way.len() + self.nodes.iter().map(|node| node.link.queued_packets()).sum::<usize>()
    }

    /// What has happened to the flow of each path.
    #[must_use]
    pub fn flows(&self) -> Vec<FlowTally> {
        let both_ways = self.lanes.chunks(2).zip(&self.data);
        let tally = |(lanes, data): (&[Lane], &Way)| {
            let (there, back) = if *data == Way::Up { (&lanes[0], &lanes[1]) } else { (&lanes[1], &lanes[0]) };
            FlowTally {
                counters: FlowCounters::new(&there.counters, &back.counters),
                queueing: there.sojourn.as_ref().map(Histogram::queueing).unwrap_or_default(),
            }
        };
        both_ways.map(tally).collect()
    }

    /// What each transmitter has done.
    #[must_use]
    pub fn links(&self) -> Vec<LinkReport> {
        let report = |node: &Node<P>| LinkReport {
            counters: LinkCounters { queued_packets: node.link.queued_packets() as u64, ..node.tally.counters },
            queue: node.tally.queue(),
            ecn: node.tally.by_ecn(),
            planned_rate_bps: node.planned.bps(),
            snoop: node.snoop.as_ref().map(|snoop| snoop.counters().into()),
        };
        self.nodes.iter().map(report).collect()
    }

    /// All that it tells.
    #[must_use]
    pub fn into_report(self) -> NetworkReport {
        NetworkReport {
            flows: self.flows(),
            links: self.links(),
            inside_packets: self.inside() as u64,
            series: self.series.into_rows(),
        }
    }
}
