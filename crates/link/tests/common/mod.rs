//! Drives a link with arrivals and keeps what comes out.

#![allow(dead_code, reason = "every test file uses its part")]

use ccactl_link::{Capacity, Departure, DropReason, Item, Link, LinkConfig, Nanos, Output};

/// Nanoseconds of a millisecond.
pub const MS: Nanos = 1_000_000;
/// Nanoseconds of a second.
pub const S: Nanos = 1_000_000_000;

/// A packet with number `id` of flow 0.
pub fn item(id: usize, size_bytes: u32) -> Item<usize> {
    Item { packet: id, size_bytes, flow: 0, class: 0, is_ack: false, ecn_capable: false }
}

/// A packet and when it arrives.
pub type Arrival = (Nanos, Item<usize>);

/// What came out of a link.
#[derive(Debug, Default)]
pub struct Outcome {
    /// In their order.
    pub departures: Vec<Departure<usize>>,
    /// In their order.
    pub dropped: Vec<(usize, Nanos, DropReason)>,
    /// Right after an arrival.
    pub most_queued_bytes: u64,
    /// Right after an arrival.
    pub most_queued_packets: usize,
}

impl Outcome {
    /// Takes one output; times may not descend.
    pub fn take(&mut self, output: Output<usize>) {
        let latest = self.departures.last().map_or(0, |d| d.at).max(self.dropped.last().map_or(0, |d| d.1));
        let at = match output {
            Output::Sent(departure) => {
                self.departures.push(departure);
                departure.at
            }
            Output::Dropped { packet, at, reason } => {
                self.dropped.push((packet, at, reason));
                at
            }
        };
        assert!(at >= latest, "something at {at} comes after something at {latest}");
    }

    /// Everything that has happened by `now`.
    pub fn pop_all(&mut self, link: &mut Link<usize>, now: Nanos) {
        while let Some(output) = link.pop(now) {
            self.take(output);
        }
    }

    /// Numbers of the packets that left.
    pub fn sent(&self) -> Vec<usize> {
        self.departures.iter().map(|d| d.packet).collect()
    }
}

/// Offers every packet at its time, in order, and lets the link run until it is empty.
pub fn drive(config: LinkConfig, arrivals: &[Arrival]) -> Outcome {
    let mut link = Link::new(config);
    let mut out = Outcome::default();
    for (at, item) in arrivals {
        out.pop_all(&mut link, *at);
        link.enqueue(*at, *item);
        out.pop_all(&mut link, *at);
        out.most_queued_bytes = out.most_queued_bytes.max(link.queued_bytes());
        out.most_queued_packets = out.most_queued_packets.max(link.queued_packets());
    }
    while let Some(at) = link.next_event() {
        assert!(at == 0 || link.pop(at - 1).is_none(), "something happened before its time");
        out.pop_all(&mut link, at);
    }
    assert_eq!((link.queued_bytes(), link.queued_packets()), (0, 0));
    out
}

/// Room for everything.
pub const ENDLESS: Capacity = Capacity::Bytes(u64::MAX / 2);
