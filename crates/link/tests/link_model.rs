//! Properties of the link model over random arrivals: nothing is lost without a reason, order and rate are kept.

use ccactl_link::{Capacity, Departure, DropReason, Enqueue, Link, LinkConfig, Nanos};
use proptest::prelude::*;

const NS_PER_S: u128 = 1_000_000_000;

/// A packet on its way in: how long after the one before it arrives, and its size.
type Arrival = (Nanos, u64);

#[derive(Debug)]
struct Outcome {
    departures: Vec<Departure<usize>>,
    dropped: Vec<usize>,
    /// Departure that the link announced for each accepted packet.
    announced: Vec<Nanos>,
    most_queued_bytes: u64,
    most_queued_packets: usize,
}

/// Offers every packet at its time and drains the link at the end.
fn drive(config: LinkConfig, arrivals: &[Arrival]) -> Outcome {
    let mut link = Link::new(config);
    let mut out = Outcome {
        departures: Vec::new(),
        dropped: Vec::new(),
        announced: Vec::new(),
        most_queued_bytes: 0,
        most_queued_packets: 0,
    };
    let mut now = 0;
    for (id, (gap, bytes)) in arrivals.iter().enumerate() {
        now += gap;
        out.departures.extend(std::iter::from_fn(|| link.pop(now)));
        let (queued_bytes, queued_packets) = (link.queued_bytes(), link.queued_packets());
        match link.enqueue(now, id, *bytes) {
            Enqueue::Enqueued { departure, .. } => out.announced.push(departure),
            Enqueue::Dropped(DropReason::Full) => {
                let full = match config.capacity {
                    Capacity::Bytes(limit) => queued_bytes + bytes > limit,
                    Capacity::Packets(limit) => queued_packets as u64 >= limit,
                };
                assert!(full, "packet {id} was refused by a queue with room for it");
                out.dropped.push(id);
            }
        }
        out.most_queued_bytes = out.most_queued_bytes.max(link.queued_bytes());
        out.most_queued_packets = out.most_queued_packets.max(link.queued_packets());
    }
    while let Some(at) = link.next_departure() {
        assert!(link.pop(at - 1).is_none(), "a packet left before its time");
        out.departures.extend(link.pop(at));
    }
    assert_eq!((link.queued_bytes(), link.queued_packets()), (0, 0));
    out
}

fn arrivals() -> impl Strategy<Value = Vec<Arrival>> {
    // Bursts (gap 0) as well as pauses that empty the queue.
    let gap = prop_oneof![Just(0), 0..200_000u64, 0..5_000_000u64];
    prop::collection::vec((gap, 40..1600u64), 1..300)
}

fn config() -> impl Strategy<Value = LinkConfig> {
    let capacity = prop_oneof![(1600..200_000u64).prop_map(Capacity::Bytes), (1..100u64).prop_map(Capacity::Packets)];
    let loss = prop_oneof![Just(0.0), 0.0..0.5];
    (10_000..1_000_000_000u64, capacity, loss, any::<u64>()).prop_map(|(rate_bps, capacity, loss, seed)| LinkConfig {
        rate_bps,
        capacity,
        mark_above: None,
        loss,
        seed,
    })
}

proptest! {
    #[test]
    fn every_packet_leaves_once_or_is_refused(config in config(), arrivals in arrivals()) {
        let out = drive(config, &arrivals);
        let mut seen: Vec<usize> = out.departures.iter().map(|d| d.packet).chain(out.dropped.iter().copied()).collect();
        seen.sort_unstable();
        prop_assert_eq!(seen, (0..arrivals.len()).collect::<Vec<_>>());
    }

    #[test]
    fn packets_leave_in_the_order_of_their_arrival_and_when_announced(config in config(), arrivals in arrivals()) {
        let out = drive(config, &arrivals);
        prop_assert!(out.departures.windows(2).all(|w| w[0].packet < w[1].packet && w[0].at < w[1].at));
        prop_assert_eq!(out.departures.iter().map(|d| d.at).collect::<Vec<_>>(), out.announced);
    }

    #[test]
    fn the_rate_is_never_exceeded_and_the_wire_never_idles_with_a_backlog(config in config(), arrivals in arrivals()) {
        let out = drive(config, &arrivals);
        let times: Vec<Nanos> = arrivals.iter().scan(0, |now, (gap, _)| { *now += gap; Some(*now) }).collect();
        let mut last = 0;
        for departure in &out.departures {
            let bits = u128::from(arrivals[departure.packet].1) * 8;
            let start = last.max(times[departure.packet]);
            let took = u128::from(departure.at - start);
            prop_assert!(took * u128::from(config.rate_bps) >= bits * NS_PER_S, "faster than the rate");
            prop_assert!((took - 1) * u128::from(config.rate_bps) < bits * NS_PER_S, "more than one ns slower");
            last = departure.at;
        }
    }

    #[test]
    fn the_queue_stays_within_its_capacity(config in config(), arrivals in arrivals()) {
        let out = drive(config, &arrivals);
        match config.capacity {
            Capacity::Bytes(limit) => prop_assert!(out.most_queued_bytes <= limit),
            Capacity::Packets(limit) => prop_assert!(out.most_queued_packets as u64 <= limit),
        }
    }

    #[test]
    fn the_same_seed_loses_the_same_packets(config in config(), arrivals in arrivals()) {
        let lost = |out: &Outcome| out.departures.iter().map(|d| d.lost).collect::<Vec<_>>();
        let (one, two) = (drive(config, &arrivals), drive(config, &arrivals));
        prop_assert_eq!(lost(&one), lost(&two));
        if config.loss == 0.0 {
            prop_assert!(!lost(&one).contains(&true));
        }
    }
}

/// 1514-byte frames at 50 Mbit/s take 242,240 ns each, whenever the caller looks.
#[test]
fn a_late_caller_does_not_change_the_rate() {
    let config =
        LinkConfig { rate_bps: 50_000_000, capacity: Capacity::Packets(1000), mark_above: None, loss: 0.0, seed: 0 };
    let mut link = Link::new(config);
    for id in 0..1000 {
        assert_eq!(
            link.enqueue(0, id, 1514),
            Enqueue::Enqueued { departure: (id + 1) * 242_240, above_threshold: false }
        );
    }
    let late = 10_000_000_000;
    let departures: Vec<Nanos> = std::iter::from_fn(|| link.pop(late)).map(|d| d.at).collect();
    assert_eq!(departures.len(), 1000);
    assert_eq!(departures[999], 242_240_000);
}

#[test]
fn random_loss_is_close_to_its_probability() {
    let config =
        LinkConfig { rate_bps: 1_000_000_000, capacity: Capacity::Packets(10), mark_above: None, loss: 0.005, seed: 7 };
    let arrivals = vec![(20_000, 1500); 100_000];
    let out = drive(config, &arrivals);
    let lost = out.departures.iter().filter(|d| d.lost).count();
    assert!(out.dropped.is_empty());
    // 500 expected, standard deviation 22.
    assert!((400..600).contains(&lost), "{lost} of 100000 lost at 0.5 %");
}

#[test]
fn back_to_back_marks_a_busy_wire() {
    let config =
        LinkConfig { rate_bps: 8_000_000, capacity: Capacity::Packets(10), mark_above: None, loss: 0.0, seed: 0 };
    let mut link = Link::new(config);
    link.enqueue(0, 'a', 1000);
    link.enqueue(500_000, 'b', 1000);
    let first = link.pop(1_000_000).unwrap();
    let second = link.pop(2_000_000).unwrap();
    link.enqueue(3_000_000, 'c', 1000);
    let third = link.pop(4_000_000).unwrap();
    assert_eq!([first.back_to_back, second.back_to_back, third.back_to_back], [false, true, false]);
}

#[test]
fn packets_that_find_more_than_the_threshold_are_to_be_marked_and_no_others() {
    // 8 Mbit/s: 1000 bytes take 1 ms. All ten arrive at once: they find 0, 1, ... 9 packets.
    let config = |mark_above| LinkConfig {
        rate_bps: 8_000_000,
        capacity: Capacity::Packets(10),
        mark_above,
        loss: 0.0,
        seed: 0,
    };
    let marks = |mark_above, at: Nanos, packets: usize| {
        let mut link = Link::new(config(mark_above));
        (0..10).for_each(|id| assert!(matches!(link.enqueue(0, id, 1000), Enqueue::Enqueued { .. })));
        while link.pop(at).is_some() {}
        (0..packets)
            .map(|id| matches!(link.enqueue(at, id, 1000), Enqueue::Enqueued { above_threshold: true, .. }))
            .collect::<Vec<_>>()
    };
    let fresh = |mark_above| {
        let mut link = Link::new(config(mark_above));
        (0..10)
            .map(|id| matches!(link.enqueue(0, id, 1000), Enqueue::Enqueued { above_threshold: true, .. }))
            .filter(|marked| *marked)
            .count()
    };
    // More than 3 packets are found by the 5th and all later ones: six of ten. In bytes the same.
    assert_eq!(fresh(Some(Capacity::Packets(3))), 6);
    assert_eq!(fresh(Some(Capacity::Bytes(3000))), 6);
    assert_eq!(fresh(Some(Capacity::Bytes(2999))), 7);
    assert_eq!(fresh(Some(Capacity::Packets(0))), 9);
    assert_eq!(fresh(None), 0);
    // After 7 ms three are left, the threshold itself: the first new one is not marked, the second is.
    assert_eq!(marks(Some(Capacity::Packets(3)), 7_000_000, 2), [false, true]);
}
