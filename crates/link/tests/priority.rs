//! Disciplines that are not fair by intention: ACKs first, shares of ACKs and data, and the oldest packet first to be
//! dropped.

mod common;

use ccactl_link::queue::Cba;
use ccactl_link::{Capacity, Discipline, Item, Link, LinkConfig, Nanos};
use common::{Arrival, ENDLESS, MS, Outcome, S, disciplines, drive, item};
use proptest::prelude::*;

fn ack(id: usize) -> Item<usize> {
    Item { is_ack: true, ..item(id, 40) }
}

#[test]
fn an_ack_passes_the_data_that_waits_but_interrupts_nothing() {
    let config = LinkConfig { queue: Discipline::AckFirst, ..LinkConfig::drop_tail(8_000_000, ENDLESS) };
    let arrivals = [(0, item(0, 1000)), (0, item(1, 1000)), (MS / 2, ack(2)), (MS / 2, ack(3))];
    let out = drive(config, &arrivals);
    assert_eq!(out.sent(), [0, 2, 3, 1]);
    assert_eq!(out.departures[1].sojourn, MS / 2);
}

proptest! {
    #[test]
    fn no_data_begins_to_leave_while_an_ack_waits(
        packets in prop::collection::vec((0..2 * MS, 40..1500u32, any::<bool>()), 1..200),
    ) {
        let mut now = 0;
        let arrivals: Vec<Arrival> = packets.into_iter().enumerate().map(|(id, (gap, size_bytes, is_ack))| {
            now += gap;
            (now, Item { is_ack, ..item(id, size_bytes) })
        }).collect();
        let queue = Discipline::AckFirst;
        let out = drive(LinkConfig { queue, ..LinkConfig::drop_tail(8_000_000, Capacity::Packets(50)) }, &arrivals);
        let is_ack = |id: usize| arrivals[id].1.is_ack;
        let start = |d: &ccactl_link::Departure<usize>| d.at - d.transmission;
        let begun: Vec<Nanos> = out.departures.iter().filter(|d| !is_ack(d.packet)).map(start).collect();
        for waited in out.departures.iter().filter(|d| is_ack(d.packet)) {
            let (from, to) = (arrivals[waited.packet].0, start(waited));
            prop_assert!(!begun.iter().any(|begun| *begun > from && *begun < to), "data began between {from} and {to}");
        }
    }
}

/// ACKs of 40 bytes and data of 1000, each with a gap, for four seconds.
fn two_ways(ack_gap: Nanos, data_gap: Nanos) -> Vec<Arrival> {
    let every = |gap: Nanos, is_ack: bool| (0..4 * S).step_by(gap as usize).map(move |at| (at, is_ack));
    let mut all: Vec<(Nanos, bool)> = every(ack_gap, true).chain(every(data_gap, false)).collect();
    all.sort_by_key(|packet| packet.0);
    let arrival = |(id, (at, is_ack))| (at, if is_ack { ack(id) } else { item(id, 1000) });
    all.into_iter().enumerate().map(arrival).collect()
}

/// On 8 Mbit/s with room for 20 ms.
fn run(queue: Discipline, arrivals: &[Arrival]) -> Outcome {
    drive(LinkConfig { queue, ..LinkConfig::drop_tail(8_000_000, Capacity::Bytes(20_000)) }, arrivals)
}

/// Shares of ACKs and data in the link between 1 and 4 s.
fn ack_and_data(out: &Outcome, arrivals: &[Arrival]) -> [f64; 2] {
    [true, false].map(|is_ack| out.sent_bytes(arrivals, S, 4 * S, |item| item.is_ack == is_ack) as f64 / 3e6)
}

fn cba(ack_share_permille: u32) -> Discipline {
    Discipline::Cba(Cba { ack_share_permille })
}

#[track_caller]
fn assert_near(got: [f64; 2], expected: [f64; 2]) {
    assert!(
        got.iter().zip(expected).all(|(got, expected)| (got - expected).abs() < 0.002),
        "{got:?}, not {expected:?}"
    );
}

#[test]
fn acks_beyond_the_rate_starve_data_unless_each_has_a_share() {
    // ACKs for the whole of the link, and twice as much data as it carries.
    let arrivals = two_ways(40_000, MS / 2);
    assert_near(ack_and_data(&run(Discipline::AckFirst, &arrivals), &arrivals), [1.0, 0.0]);
    for share in [100, 300, 999] {
        let acks = f64::from(share) / 1000.0;
        assert_near(ack_and_data(&run(cba(share), &arrivals), &arrivals), [acks, 1.0 - acks]);
    }
}

#[test]
fn what_acks_do_not_use_of_their_share_is_the_datas_and_the_other_way_round() {
    // ACKs for a tenth of the link.
    let arrivals = two_ways(400_000, MS / 2);
    assert_near(ack_and_data(&run(cba(500), &arrivals), &arrivals), [0.1, 0.9]);
    // Data for a tenth.
    let arrivals = two_ways(40_000, 10 * MS);
    assert_near(ack_and_data(&run(cba(200), &arrivals), &arrivals), [0.9, 0.1]);
}

#[test]
fn acks_within_their_share_are_never_dropped_and_wait_for_one_packet_of_data() {
    let arrivals = two_ways(400_000, MS / 2);
    let out = run(cba(200), &arrivals);
    assert!(out.dropped.len() > 1000 && out.dropped().iter().all(|packet| !arrivals[*packet].1.is_ack));
    let waits = out.departures.iter().filter(|d| arrivals[d.packet].1.is_ack).map(|d| d.sojourn + d.transmission);
    // The bound of WFQ: an ACK at 20 % of the link takes 0.2 ms, and the largest packet 1 ms.
    assert!(waits.max() <= Some(200_000 + MS));
    // First in, first out would be 20 ms.
    let tail = run(Discipline::DropTail, &arrivals);
    assert!(tail.departures.iter().filter(|d| arrivals[d.packet].1.is_ack).any(|d| d.sojourn > 15 * MS));
}

#[test]
fn drop_head_keeps_the_newest() {
    let config = |capacity| LinkConfig { queue: Discipline::DropHead, ..LinkConfig::drop_tail(8_000_000, capacity) };
    let at_once: Vec<Arrival> = (0..6).map(|id| (0, item(id, 1000))).collect();
    // Packet 0 is in transmission and cannot be dropped.
    let out = drive(config(Capacity::Packets(3)), &at_once);
    assert_eq!((out.sent(), out.dropped()), (vec![0, 4, 5], vec![1, 2, 3]));
    // A large packet takes the place of two small ones.
    let sizes = [1000, 400, 400, 700];
    let mixed: Vec<Arrival> = sizes.iter().enumerate().map(|(id, size)| (0, item(id, *size))).collect();
    let out = drive(config(Capacity::Bytes(1800)), &mixed);
    assert_eq!((out.sent(), out.dropped()), (vec![0, 3], vec![1, 2]));
    // With no one to make room it is refused itself.
    let out = drive(config(Capacity::Packets(1)), &at_once[..2]);
    assert_eq!((out.sent(), out.dropped()), (vec![0], vec![1]));
}

#[test]
fn what_is_urgent_passes_every_queue_and_needs_none_of_its_room() {
    for queue in disciplines() {
        let mut link =
            Link::new(LinkConfig { queue: queue.clone(), ..LinkConfig::drop_tail(8_000_000, Capacity::Packets(3)) });
        (0..3).for_each(|id| link.enqueue(0, item(id, 1000)));
        link.enqueue_first(MS / 2, item(8, 1000));
        link.enqueue_first(MS / 2, item(9, 1000));
        assert_eq!((link.queued_packets(), link.queued_bytes()), (5, 5000), "{queue:?}");
        let mut out = Outcome::default();
        while let Some(at) = link.next_event() {
            out.pop_all(&mut link, at);
        }
        let urgent: Vec<usize> = out.sent().into_iter().skip(1).take(2).collect();
        assert_eq!((out.sent()[0], urgent), (0, vec![8, 9]), "{queue:?}");
        assert_eq!(out.departures[1].sojourn, MS / 2);
        assert_eq!((link.queued_packets(), link.queued_bytes()), (0, 0), "{queue:?}");
        // On an idle link it leaves at once.
        link.enqueue_first(100 * MS, item(7, 1000));
        assert_eq!(link.next_event(), Some(101 * MS), "{queue:?}");
    }
}
