//! Disciplines that are not fair by intention: ACKs first, and the oldest packet first to be dropped.

mod common;

use ccactl_link::{Capacity, Discipline, Item, Link, LinkConfig, Nanos};
use common::{Arrival, ENDLESS, MS, Outcome, disciplines, drive, item};
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
