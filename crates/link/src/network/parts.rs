//! What a network is made of.

use super::route::{Delay, Route, Stage, Way};
use crate::{Capacity, LinkConfig, Nanos};

/// One transmitter of the network.
#[derive(Debug, Clone)]
pub struct Transmitter {
    /// Rate, queue and wire.
    pub config: LinkConfig,
    /// Bytes that its wire adds to a packet.
    pub overhead_bytes: u32,
    /// Cache of the Snoop agent ahead of it, if there is one.
    pub snoop_bytes: Option<u64>,
    /// Its marks are counted, and taken off again.
    pub hides_marks: bool,
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
    /// Class of its packets, both ways: see [`crate::Item::class`].
    pub class: u8,
}

/// A header of IPv4 and nothing behind it.
const SMALLEST_PACKET_BYTES: u32 = 20;

impl Transmitter {
    /// Packets that a full buffer holds at most, as many that it may drop for one that arrives, and that one.
    pub(super) fn most_packets(&self) -> usize {
        let full = match self.config.capacity {
            Capacity::Packets(packets) => packets,
            Capacity::Bytes(bytes) => bytes / u64::from(SMALLEST_PACKET_BYTES + self.overhead_bytes),
        };
        usize::try_from(full).unwrap_or(usize::MAX).saturating_mul(2).saturating_add(1)
    }

    /// A bottleneck whose wire adds nothing.
    #[must_use]
    pub fn bottleneck(config: LinkConfig) -> Self {
        Transmitter { config, overhead_bytes: 0, snoop_bytes: None, hides_marks: false, is_bottleneck: true }
    }
}

impl Path {
    /// Data go up through one transmitter, and what comes back takes `back_ns`.
    #[must_use]
    pub fn through(transmitter: usize, back_ns: Nanos) -> Self {
        Path {
            up: Route { stages: vec![Stage::Transmitter(transmitter)] },
            down: Route { stages: vec![Stage::Delay(Delay::new(vec![(0, back_ns)]))] },
            data: Way::Up,
            class: 0,
        }
    }
}

/// Indices of the transmitters that a route passes.
pub(super) fn transmitters_of(route: &Route) -> impl Iterator<Item = usize> {
    route.stages.iter().filter_map(|stage| match stage {
        Stage::Transmitter(index) => Some(*index),
        Stage::Delay(_) | Stage::Snoop(_) => None,
    })
}

/// Least time from a departure of transmitter `index` to the arrival at a device, over all routes; transmissions and queues
/// of later stages not counted.
pub(super) fn least_way(index: usize, transmitters: &[Transmitter], paths: &[Path]) -> Nanos {
    let propagation = |stage: &Stage| match stage {
        Stage::Transmitter(i) => transmitters[*i].config.wire.delay.iter().map(|step| step.1).min().unwrap_or(0),
        Stage::Delay(delay) => delay.min(),
        Stage::Snoop(_) => 0,
    };
    let routes = paths.iter().flat_map(|path| [&path.up, &path.down]);
    let rest = |route: &Route| {
        let position = route.stages.iter().position(|stage| *stage == Stage::Transmitter(index))?;
        Some(route.stages[position..].iter().map(propagation).sum())
    };
    routes.filter_map(rest).min().unwrap_or(0)
}
