//! What a network tells at the end.

use super::{Lane, Network, Node};
use crate::emulator::counters::{EcnFigures, FlowCounters, LinkCounters, QueueFigures, SnoopFigures};
use crate::emulator::histogram::QueueingDelay;
use crate::emulator::route::Way;
use crate::emulator::series::Interval;

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
                queueing: there.sojourn.queueing(),
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

    /// The series of all transmitters.
    #[must_use]
    pub fn into_series(self) -> Vec<Interval> {
        self.series.into_rows()
    }
}
