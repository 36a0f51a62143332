//! Drives a link with arrivals and keeps what comes out.

#![allow(dead_code, reason = "every test file uses its part")]

use ccactl_link::queue::{
    Cba, Cbq, CbqClass, CbqGroup, Class, Classes, CoDel, Drr, DualPi2, ExponentialRed, FqCoDel, Pie, Policer, Red, Rem,
    Sfq, Wfq,
};
use ccactl_link::{Capacity, Departure, Discipline, DropReason, Ecn, Item, Link, LinkConfig, Nanos, Output};

/// Nanoseconds of a millisecond.
pub const MS: Nanos = 1_000_000;
/// Nanoseconds of a second.
pub const S: Nanos = 1_000_000_000;
/// Room for everything.
pub const ENDLESS: Capacity = Capacity::Bytes(u64::MAX / 2);

/// A packet with number `id` of flow 0.
pub fn item(id: usize, size_bytes: u32) -> Item<usize> {
    Item { packet: id, size_bytes, flow: 0, class: 0, is_ack: false, ecn: Ecn::NotCapable }
}

/// A packet and when it arrives.
pub type Arrival = (Nanos, Item<usize>);

/// What came out of a link.
#[derive(Debug, Default, PartialEq)]
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

    /// Numbers of the packets that were dropped.
    pub fn dropped(&self) -> Vec<usize> {
        self.dropped.iter().map(|d| d.0).collect()
    }

    /// Bytes that left in `from..until`, of the packets that `counts`.
    pub fn sent_bytes(
        &self,
        arrivals: &[Arrival],
        from: Nanos,
        until: Nanos,
        counts: impl Fn(&Item<usize>) -> bool,
    ) -> u64 {
        let within = self.departures.iter().filter(|d| (from..until).contains(&d.at));
        let items = within.map(|d| &arrivals[d.packet].1).filter(|item| counts(item));
        items.map(|item| u64::from(item.size_bytes)).sum()
    }
}

/// Offers every packet at its time, in order (packet n is the n-th), and lets the link run until it is empty.
pub fn drive(config: LinkConfig, arrivals: &[Arrival]) -> Outcome {
    drive_link(&mut Link::new(config), arrivals)
}

/// As [`drive`], with a link that is there already.
pub fn drive_link(link: &mut Link<usize>, arrivals: &[Arrival]) -> Outcome {
    let mut out = Outcome::default();
    let size = |id: usize| u64::from(arrivals[id].1.size_bytes);
    let (mut offered_bytes, mut gone_bytes, mut sent, mut dropped) = (0, 0, 0, 0);
    for (offered, (at, item)) in arrivals.iter().enumerate() {
        out.pop_all(link, *at);
        link.enqueue(*at, *item);
        out.pop_all(link, *at);
        offered_bytes += size(offered);
        gone_bytes += out.departures[sent..].iter().map(|d| size(d.packet)).sum::<u64>();
        gone_bytes += out.dropped[dropped..].iter().map(|d| size(d.0)).sum::<u64>();
        (sent, dropped) = (out.departures.len(), out.dropped.len());
        assert_eq!(offered + 1, sent + dropped + link.queued_packets(), "in = sent + dropped + queued, in packets");
        assert_eq!(offered_bytes, gone_bytes + link.queued_bytes(), "in = sent + dropped + queued, in bytes");
        out.most_queued_bytes = out.most_queued_bytes.max(link.queued_bytes());
        out.most_queued_packets = out.most_queued_packets.max(link.queued_packets());
    }
    while let Some(at) = link.next_event() {
        assert!(at == 0 || link.pop(at - 1).is_none(), "something happened before its time");
        out.pop_all(link, at);
    }
    assert_eq!((link.queued_bytes(), link.queued_packets()), (0, 0));
    out
}

/// As [`drive_link`], but the caller looks at every event instead of at arrivals only.
pub fn drive_punctually(link: &mut Link<usize>, arrivals: &[Arrival]) -> Outcome {
    let mut out = Outcome::default();
    for (at, item) in arrivals {
        while let Some(event) = link.next_event().filter(|event| event <= at) {
            out.pop_all(link, event);
        }
        link.enqueue(*at, *item);
        out.pop_all(link, *at);
        out.most_queued_bytes = out.most_queued_bytes.max(link.queued_bytes());
        out.most_queued_packets = out.most_queued_packets.max(link.queued_packets());
    }
    while let Some(event) = link.next_event() {
        out.pop_all(link, event);
    }
    out
}

/// Every discipline, with parameters that make it act within milliseconds; those that can mark do.
pub fn disciplines() -> Vec<Discipline> {
    let codel = CoDel { target: MS, interval: 5 * MS, ecn: true, ..CoDel::default() };
    let class = |share_permille, borrow| Class { share_permille, borrow };
    let group = |group, share_permille, borrow| CbqGroup { group, share_permille, borrow };
    let leaf = |group, share_permille, borrow, priority| CbqClass { group, share_permille, borrow, priority };
    vec![
        Discipline::DropTail,
        Discipline::DropHead,
        Discipline::Red(Red { weight: 0.1, ecn: true, ..Red::default() }),
        Discipline::Red(Red {
            min_threshold: Capacity::Bytes(3000),
            max_threshold: Capacity::Bytes(20_000),
            weight: 0.5,
            gentle: false,
            ..Red::default()
        }),
        Discipline::ExponentialRed(ExponentialRed { ecn: true, ..ExponentialRed::default() }),
        Discipline::Rem(Rem { gamma: 0.1, phi: 1.1, ecn: true, ..Rem::default() }),
        Discipline::CoDel(codel),
        Discipline::CoDel(CoDel { ecn: false, ..codel }),
        Discipline::Pie(Pie { update_interval: MS, target: MS, max_burst: 2 * MS, ecn: true, ..Pie::default() }),
        Discipline::Pie(Pie { max_burst: 0, target: MS, derandomise: true, alpha: 10.0, ..Pie::default() }),
        Discipline::Policer(Policer { rate_bps: 20_000_000, burst_bytes: 10_000 }),
        Discipline::DualPi2(DualPi2 {
            target: MS,
            update_interval: MS,
            alpha: 10.0,
            threshold: MS / 2,
            ..DualPi2::default()
        }),
        Discipline::DualPi2(DualPi2 { beta: 100.0, range: MS, classic_share_permille: 500, ..DualPi2::default() }),
        Discipline::FqCoDel(FqCoDel { codel, queues: 3, quantum_bytes: 300 }),
        Discipline::Sfq(Sfq { queues: 3, perturbation: Some(3 * MS) }),
        Discipline::Drr(Drr { queues: 4, quantum_bytes: 300, weights: vec![1, 5] }),
        Discipline::Wfq(Wfq { queues: 3, weights: vec![1, 5] }),
        Discipline::Classes(Classes { classes: vec![class(300, true), class(600, true)], burst_bytes: 3000 }),
        Discipline::Classes(Classes { classes: vec![class(300, false), class(600, true)], burst_bytes: 3000 }),
        Discipline::Cbq(Cbq {
            groups: vec![group(None, 600, true), group(Some(0), 300, true)],
            classes: vec![leaf(Some(1), 200, true, 1), leaf(None, 300, true, 0)],
            ..Cbq::default()
        }),
        Discipline::Cbq(Cbq {
            groups: vec![group(None, 500, false)],
            classes: vec![leaf(Some(0), 200, true, 0), leaf(None, 300, false, 0)],
            burst_packets: 2,
            ..Cbq::default()
        }),
        Discipline::AckFirst,
        Discipline::Cba(Cba { ack_share_permille: 200 }),
    ]
}
