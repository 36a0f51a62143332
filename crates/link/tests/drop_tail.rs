//! The drop-tail link over random arrivals. What holds for every discipline is in `every_discipline.rs`.

mod common;

use ccactl_link::{Capacity, DropReason, Ecn, Link, LinkConfig, Loss, Nanos, Output, WireConfig};
use common::{Arrival, Outcome, drive, item};
use proptest::prelude::*;

fn arrivals() -> impl Strategy<Value = Vec<Arrival>> {
    // Bursts (gap 0) as well as pauses that empty the queue.
    let gap = prop_oneof![Just(0), 0..200_000u64, 0..5_000_000u64];
    prop::collection::vec((gap, 40..1600u32), 1..300).prop_map(|packets| {
        let mut now = 0;
        let at = |(id, (gap, bytes)): (usize, (Nanos, u32))| {
            now += gap;
            (now, item(id, bytes))
        };
        packets.into_iter().enumerate().map(at).collect()
    })
}

fn with_loss(rate_bps: u64, capacity: Capacity, loss: f64, seed: u64) -> LinkConfig {
    let wire = WireConfig { loss: Loss::Bernoulli(loss), ..WireConfig::default() };
    LinkConfig { wire, seed, ..LinkConfig::drop_tail(rate_bps, capacity) }
}

fn rate() -> impl Strategy<Value = u64> {
    10_000..1_000_000_000u64
}

fn capacity() -> impl Strategy<Value = Capacity> {
    prop_oneof![(1600..200_000u64).prop_map(Capacity::Bytes), (1..100u64).prop_map(Capacity::Packets)]
}

/// Bytes and packets in a link by its outcome: what came before `now` and had not left then.
fn occupancy(arrivals: &[Arrival], out: &Outcome, dropped: &[usize], id: usize) -> (u64, u64) {
    let now = arrivals[id].0;
    let left = |other: usize| out.departures.iter().any(|d| d.packet == other && d.at <= now);
    let inside = (0..id).filter(|other| !dropped.contains(other) && !left(*other));
    inside.fold((0, 0), |(bytes, packets), other| (bytes + u64::from(arrivals[other].1.size_bytes), packets + 1))
}

proptest! {
    #[test]
    fn a_packet_is_refused_when_it_does_not_fit_and_only_then(
        rate in rate(), capacity in capacity(), arrivals in arrivals(),
    ) {
        let out = drive(LinkConfig::drop_tail(rate, capacity), &arrivals);
        let dropped: Vec<usize> = out.dropped.iter().map(|d| d.0).collect();
        for (id, (at, item)) in arrivals.iter().enumerate() {
            let (bytes, packets) = occupancy(&arrivals, &out, &dropped, id);
            let fits = match capacity {
                Capacity::Bytes(limit) => bytes + u64::from(item.size_bytes) <= limit,
                Capacity::Packets(limit) => packets < limit,
            };
            let refused = out.dropped.iter().find(|d| d.0 == id);
            prop_assert_eq!(refused.copied(), (!fits).then_some((id, *at, DropReason::Full)));
        }
    }

    #[test]
    fn packets_leave_in_the_order_of_their_arrival(rate in rate(), capacity in capacity(), arrivals in arrivals()) {
        let out = drive(LinkConfig::drop_tail(rate, capacity), &arrivals);
        prop_assert!(out.departures.windows(2).all(|w| w[0].packet < w[1].packet && w[0].at < w[1].at));
    }

    #[test]
    fn the_same_seed_loses_the_same_packets(
        rate in rate(), loss in prop_oneof![Just(0.0), 0.0..0.5], seed: u64, arrivals in arrivals(),
    ) {
        let config = || with_loss(rate, Capacity::Packets(1000), loss, seed);
        let lost = |out: &Outcome| out.departures.iter().map(|d| d.lost).collect::<Vec<_>>();
        let (one, two) = (drive(config(), &arrivals), drive(config(), &arrivals));
        prop_assert_eq!(lost(&one), lost(&two));
        if loss == 0.0 {
            prop_assert!(lost(&one).iter().all(Option::is_none));
        }
    }
}

/// 1514-byte frames at 50 Mbit/s take 242,240 ns each, whenever the caller looks.
#[test]
fn a_late_caller_does_not_change_the_rate() {
    let mut link = Link::new(LinkConfig::drop_tail(50_000_000, Capacity::Packets(1000)));
    (0..1000).for_each(|id| link.enqueue(0, item(id, 1514)));
    let late = 10_000_000_000;
    let mut out = Outcome::default();
    out.pop_all(&mut link, late);
    let departures: Vec<Nanos> = out.departures.iter().map(|d| d.at).collect();
    assert_eq!(departures, (1..=1000).map(|n| n * 242_240).collect::<Vec<_>>());
}

#[test]
fn random_loss_is_close_to_its_probability() {
    let arrivals: Vec<Arrival> = (0..100_000).map(|id| (id as Nanos * 20_000, item(id, 1500))).collect();
    let out = drive(with_loss(1_000_000_000, Capacity::Packets(10), 0.005, 7), &arrivals);
    let lost = out.departures.iter().filter(|d| d.lost.is_some()).count();
    assert!(out.dropped.is_empty());
    // 500 expected, standard deviation 22.
    assert!((400..600).contains(&lost), "{lost} of 100000 lost at 0.5 %");
}

#[test]
fn back_to_back_marks_a_busy_wire() {
    // 8 Mbit/s: 1000 bytes take 1 ms.
    let config = LinkConfig::drop_tail(8_000_000, Capacity::Packets(10));
    let arrivals = [(0, item(0, 1000)), (500_000, item(1, 1000)), (3_000_000, item(2, 1000))];
    let out = drive(config, &arrivals);
    assert_eq!(out.departures.iter().map(|d| d.back_to_back).collect::<Vec<_>>(), [false, true, false]);
}

#[test]
fn packets_that_find_more_than_the_threshold_are_marked_and_no_others() {
    // 8 Mbit/s: 1000 bytes take 1 ms. All ten arrive at once: they find 0, 1, ... 9 packets. Then two more at 7 ms.
    let marks = |mark_above, ecn| {
        let config = LinkConfig { mark_above, ..LinkConfig::drop_tail(8_000_000, Capacity::Packets(10)) };
        let packet = |id| ccactl_link::Item { ecn, ..item(id, 1000) };
        let arrivals: Vec<Arrival> = (0..12).map(|id| (if id < 10 { 0 } else { 7_000_000 }, packet(id))).collect();
        let out = drive(config, &arrivals);
        assert!(out.dropped.is_empty());
        out.departures.iter().filter(|d| d.marked).map(|d| d.packet).collect::<Vec<_>>()
    };
    // More than 3 packets are found by the 5th and all later ones. In bytes the same. After 7 ms three are left, the threshold
    // itself: the first new one is not marked, the second is.
    assert_eq!(marks(Some(Capacity::Packets(3)), Ecn::Ect0), [4, 5, 6, 7, 8, 9, 11]);
    assert_eq!(marks(Some(Capacity::Bytes(3000)), Ecn::Ect0), [4, 5, 6, 7, 8, 9, 11]);
    assert_eq!(marks(Some(Capacity::Bytes(2999)), Ecn::Ect0), [3, 4, 5, 6, 7, 8, 9, 10, 11]);
    assert_eq!(marks(Some(Capacity::Packets(0)), Ecn::Ect0), [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
    assert_eq!(marks(None, Ecn::Ect0), []);
    assert_eq!(marks(Some(Capacity::Packets(0)), Ecn::NotCapable), [], "their sender would not understand");
}

#[test]
fn what_was_dropped_comes_out_at_once() {
    let mut link = Link::new(LinkConfig::drop_tail(8_000_000, Capacity::Packets(1)));
    link.enqueue(5, item(0, 1000));
    link.enqueue(6, item(1, 1000));
    assert_eq!(link.next_event(), Some(6));
    assert_eq!(link.pop(6), Some(Output::Dropped { packet: 1, at: 6, reason: DropReason::Full }));
    assert_eq!(link.next_event(), Some(1_000_005));
}
