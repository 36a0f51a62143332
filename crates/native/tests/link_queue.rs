//! The bottleneck of `--link bpf`, whose C runs inside the kernel, beside the link model of the emulator, on the same packets.

use ccactl_abi::link_queue::LinkConfig;
use ccactl_link::queue::CoDel;
use ccactl_link::{Capacity, Discipline, DropReason, Ecn, Item, Link, Output};
use ccactl_native::link_queue::{Left, LinkQueue};
use proptest::prelude::*;

/// Packets of one run: nanoseconds since the one before, and bytes.
type Arrivals = Vec<(u64, u32)>;

/// What a link has made of its packets, which have numbers in the order in which they came.
#[derive(Debug, Default, PartialEq)]
struct Outcome {
    /// And when the last bit left.
    sent: Vec<(usize, u64)>,
    refused: Vec<usize>,
    dropped: Vec<usize>,
    /// Longest and all waiting, in ns.
    sojourn: (u64, u64),
    busy_ns: u64,
}

fn of_the_model(config: &LinkConfig, arrivals: &Arrivals) -> Outcome {
    let capacity = match config.limit_packets {
        0 => Capacity::Bytes(config.limit_bytes),
        packets => Capacity::Packets(packets),
    };
    let codel = CoDel {
        target: config.codel_target_ns,
        interval: config.codel_interval_ns,
        mtu_bytes: config.codel_mtu_bytes,
        ecn: false,
    };
    let queue = if config.codel_interval_ns > 0 { Discipline::CoDel(codel) } else { Discipline::DropTail };
    let drop_tail = ccactl_link::LinkConfig::drop_tail(config.rate_bps, capacity);
    let mut link = Link::new(ccactl_link::LinkConfig { queue, ..drop_tail });
    let mut out = Outcome::default();
    let mut last_at = 0;
    let mut take = |output: Output<usize>| match output {
        Output::Sent(sent) => {
            out.sent.push((sent.packet, sent.at));
            out.sojourn = (out.sojourn.0.max(sent.sojourn), out.sojourn.1 + sent.sojourn);
            out.busy_ns += if sent.back_to_back { sent.at - last_at } else { 0 };
            last_at = sent.at;
        }
        Output::Dropped { packet, reason: DropReason::Full, .. } => out.refused.push(packet),
        Output::Dropped { packet, reason: DropReason::Early, .. } => out.dropped.push(packet),
    };
    let mut now = 0;
    for (number, (gap, bytes)) in arrivals.iter().enumerate() {
        now += gap;
        std::iter::from_fn(|| link.pop(now)).for_each(&mut take);
        let item = Item { packet: number, size_bytes: *bytes, flow: 0, class: 0, is_ack: false, ecn: Ecn::NotCapable };
        link.enqueue(now, item);
    }
    std::iter::from_fn(|| link.pop(u64::MAX / 2)).for_each(&mut take);
    out
}

/// `late` says after how many arrivals each the kernel asks for what has left.
fn of_the_kernel(config: &LinkConfig, arrivals: &Arrivals, late: usize) -> Outcome {
    let mut link = LinkQueue::new(config);
    let mut out = Outcome::default();
    let mut taken = Vec::new();
    let mut now = 0;
    let mut ask = |link: &mut LinkQueue, taken: &[usize], now| {
        while let Some(Left { number, due_ns }) = link.leave(now) {
            let packet = taken[number as usize];
            match due_ns {
                Some(at) => out.sent.push((packet, at)),
                None => out.dropped.push(packet),
            }
        }
    };
    let mut refused = Vec::new();
    for (number, (gap, bytes)) in arrivals.iter().enumerate() {
        now += gap;
        if number % late == 0 {
            ask(&mut link, &taken, now);
        }
        if link.arrive(now, *bytes) { taken.push(number) } else { refused.push(number) }
    }
    ask(&mut link, &taken, u64::MAX / 2);
    let state = link.state();
    out.refused = refused;
    out.sojourn = (state.sojourn.max_ns, state.sojourn.sum_ns);
    out.busy_ns = state.busy_ns;
    let counted = [state.offered_packets, state.sent_packets, state.dropped_full_packets, state.dropped_early_packets];
    let seen = [arrivals.len(), out.sent.len(), out.refused.len(), out.dropped.len()].map(|count| count as u64);
    assert_eq!((counted, state.without_slot_packets), (seen, 0));
    assert_eq!(state.sojourn.counts.iter().sum::<u64>(), state.sent_packets);
    out
}

/// 8 Mbit/s: 1000 bytes take 1 ms.
fn config() -> LinkConfig {
    LinkConfig { rate_bps: 8_000_000, limit_bytes: 20_000, slots: 4096, codel_mtu_bytes: 1514, ..LinkConfig::default() }
}

fn any_config() -> impl Strategy<Value = LinkConfig> {
    let limit =
        prop_oneof![(3_000..200_000u64).prop_map(|bytes| (bytes, 0)), (1..200u64).prop_map(|packets| (0, packets))];
    let codel = prop_oneof![Just((0, 0)), (0..20_000_000u64, 1_000_000..3_000_000_000u64)];
    (1_000_000..50_000_000u64, limit, codel).prop_map(|(rate_bps, (limit_bytes, limit_packets), (target, interval))| {
        LinkConfig {
            rate_bps,
            limit_bytes,
            limit_packets,
            codel_target_ns: target,
            codel_interval_ns: interval,
            ..config()
        }
    })
}

/// Bursts, streams of any rate, and pauses.
fn any_arrivals() -> impl Strategy<Value = Arrivals> {
    let gap = prop_oneof![3 => Just(0), 6 => 0..2_000_000u64, 1 => 0..80_000_000u64];
    prop::collection::vec((gap, 40..1515u32), 1..1500)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn every_packet_fares_as_in_the_link_model(config in any_config(), arrivals in any_arrivals(), late in 1..300usize) {
        prop_assert_eq!(of_the_kernel(&config, &arrivals, late), of_the_model(&config, &arrivals));
    }

    /// 125 bytes take 125 µs, so that packets come and leave in the same nanosecond time and again.
    #[test]
    fn packets_on_a_grid_fare_as_in_the_link_model(
        config in any_config(),
        steps in prop::collection::vec((0..12u64, 1..13u32), 1..1500),
        late in 1..300usize,
    ) {
        let config = LinkConfig { rate_bps: 8_000_000, ..config };
        let arrivals = steps.into_iter().map(|(gap, bytes)| (gap * 125_000, bytes * 125)).collect();
        prop_assert_eq!(of_the_kernel(&config, &arrivals, late), of_the_model(&config, &arrivals));
    }
}

#[test]
fn codel_drops_in_the_kernel_what_it_drops_in_the_model() {
    let config =
        LinkConfig { limit_bytes: 10_000_000, codel_target_ns: 5_000_000, codel_interval_ns: 100_000_000, ..config() };
    // One and a half times the rate, with a pause after each thousand.
    let arrivals: Arrivals =
        (0..4000).map(|number| (if number % 1000 == 0 { 2_000_000_000 } else { 666_667 }, 1000)).collect();
    let out = of_the_kernel(&config, &arrivals, 1);
    assert!(out.dropped.len() > 50, "{}", out.dropped.len());
    assert_eq!(out, of_the_model(&config, &arrivals));
}

#[test]
fn the_link_is_busy_when_a_packet_comes_in_the_nanosecond_in_which_the_last_one_leaves() {
    for gap_ns in [999_999, 1_000_000, 1_000_001] {
        let arrivals: Arrivals = vec![(0, 1000), (gap_ns, 1000)];
        let out = of_the_kernel(&config(), &arrivals, 1);
        assert_eq!(out.busy_ns > 0, gap_ns <= 1_000_000, "{gap_ns}");
        assert_eq!(out, of_the_model(&config(), &arrivals));
    }
}

#[test]
fn packets_without_memory_are_counted_apart() {
    let mut link = LinkQueue::new(&LinkConfig { slots: 4, ..config() });
    // Each is gone before the next comes, and nobody asks for it.
    let taken = (0..6).filter(|number| link.arrive(number * 2_000_000, 1000)).count();
    assert_eq!((taken, link.state().without_slot_packets, link.state().dropped_full_packets), (4, 2, 0));
}
