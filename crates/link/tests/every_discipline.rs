//! What holds for every queue discipline, on links whose rate and delay change. Nothing is lost without a reason. Flows keep their order.
//! The rate is kept, the buffer is never exceeded, and nothing but arrivals and seed decides.
//!
//! That what came in = what left + what was dropped + what is queued is asserted by the driver after every arrival.

mod common;

use ccactl_link::queue::Classes;
use ccactl_link::{
    Capacity, Discipline, Distribution, DropReason, Ecn, GilbertElliott, Item, Jitter, Link, LinkConfig, Loss, Nanos,
    RatePlan, Trace, WireConfig, Wireless,
};
use common::{Arrival, MS, Outcome, disciplines, drive, drive_link, drive_punctually};
use proptest::prelude::*;
use std::sync::Arc;

fn discipline() -> impl Strategy<Value = Discipline> {
    prop::sample::select(disciplines())
}

/// Four flows in two classes; flow 3 is made of ACKs, so that every flow has one class and one kind.
fn arrivals() -> impl Strategy<Value = Vec<Arrival>> {
    let gap = prop_oneof![3 => Just(0), 3 => 0..300_000u64, 1 => 0..8_000_000u64];
    let packet = (gap, 40..1600u32, 0..4u32, any::<bool>());
    prop::collection::vec(packet, 1..300).prop_map(|packets| {
        let mut now = 0;
        let arrival = |(id, (gap, size_bytes, flow, capable)): (usize, (Nanos, u32, u32, bool))| {
            now += gap;
            let class = (flow % 2) as u8;
            // Of a flow that is scalable or classic as a whole.
            let ecn = Ecn::of_bits(class | u8::from(capable) << 1);
            (now, Item { packet: id, size_bytes, flow, class, is_ack: flow == 3, ecn })
        };
        packets.into_iter().enumerate().map(arrival).collect()
    })
}

fn steps() -> impl Strategy<Value = Vec<(Nanos, u64)>> {
    let rate = || prop_oneof![1_000_000..100_000_000u64, 20_000_000..40_000_000u64];
    let later = prop::collection::btree_map(1..50 * MS, prop_oneof![4 => rate(), 1 => Just(0)], 0..4);
    (rate(), later, rate())
        .prop_map(|(first, later, last)| std::iter::once((0, first)).chain(later).chain([(60 * MS, last)]).collect())
}

fn capacity() -> impl Strategy<Value = Capacity> {
    prop_oneof![(1600..100_000u64).prop_map(Capacity::Bytes), (1..60u64).prop_map(Capacity::Packets)]
}

fn wire() -> impl Strategy<Value = WireConfig> {
    let distribution = prop_oneof![
        (0..5 * MS).prop_map(|max| Distribution::Uniform { max }),
        (MS..3 * MS).prop_map(|mean| Distribution::Normal { mean, std_dev: MS, max: 5 * MS }),
    ];
    let jitter = prop::option::of((distribution, any::<bool>()))
        .prop_map(|jitter| jitter.map(|(distribution, reorder)| Jitter { distribution, reorder }));
    let loss = prop_oneof![
        Just(Loss::None),
        (0.0..0.3).prop_map(Loss::Bernoulli),
        Just(Loss::GilbertElliott(GilbertElliott { p: 0.1, r: 0.3, loss_good: 0.01, loss_bad: 0.9 })),
    ];
    let wireless = prop::option::of((0.0..0.5, 0..3u32, 0..MS))
        .prop_map(|wireless| wireless.map(|(error, retries, retry_delay)| Wireless { error, retries, retry_delay }));
    (jitter, loss, wireless).prop_map(|(jitter, loss, wireless)| WireConfig {
        delay: vec![(0, 10 * MS), (20 * MS, 2 * MS), (40 * MS, 30 * MS)],
        jitter,
        loss,
        wireless,
    })
}

prop_compose! {
    fn config()(
        queue in discipline(), rate in steps(), capacity in capacity(), threshold in prop::option::of(0..20u64),
        wire in wire(), seed: u64,
    ) -> LinkConfig {
        let mark_above = threshold.map(Capacity::Packets);
        LinkConfig { rate: RatePlan::Steps(rate), capacity, queue, mark_above, wire, seed }
    }
}

fn on_a_trace(config: LinkConfig) -> LinkConfig {
    LinkConfig { rate: RatePlan::Trace(Arc::new(Trace::parse("1\n1\n2\n5\n5\n5\n9\n").unwrap())), ..config }
}

/// Bits × 10⁹ that can leave in `from..to`.
fn bit_ns(steps: &[(Nanos, u64)], from: Nanos, to: Nanos) -> u128 {
    let ends = steps.iter().skip(1).map(|step| step.0).chain([Nanos::MAX]);
    let parts = steps.iter().zip(ends).map(|((start, rate), end)| {
        let (start, end) = ((*start).max(from), end.min(to));
        u128::from(end.saturating_sub(start)) * u128::from(*rate)
    });
    parts.sum()
}

fn all_ids(out: &Outcome) -> Vec<usize> {
    let mut ids: Vec<usize> = out.sent().into_iter().chain(out.dropped()).collect();
    ids.sort_unstable();
    ids
}

fn lets_the_link_idle(queue: &Discipline) -> bool {
    match queue {
        Discipline::Classes(Classes { classes, .. }) => classes.iter().any(|class| !class.borrow),
        Discipline::Cbq(cbq) => {
            cbq.groups.iter().any(|group| !group.borrow) || cbq.classes.iter().any(|class| !class.borrow)
        }
        _ => false,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn every_packet_comes_out_exactly_once(config in config(), arrivals in arrivals()) {
        let everything: Vec<usize> = (0..arrivals.len()).collect();
        prop_assert_eq!(&all_ids(&drive(config.clone(), &arrivals)), &everything);
        prop_assert_eq!(&all_ids(&drive(on_a_trace(config), &arrivals)), &everything);
    }

    #[test]
    fn a_flow_keeps_its_order(config in config(), arrivals in arrivals()) {
        for config in [config.clone(), on_a_trace(config)] {
            let in_order = config.wire.jitter.is_none_or(|jitter| !jitter.reorder);
            let out = drive(config, &arrivals);
            for flow in 0..4 {
                let own: Vec<_> = out.departures.iter().filter(|d| arrivals[d.packet].1.flow == flow).collect();
                prop_assert!(own.is_sorted_by(|a, b| a.packet < b.packet), "flow {} is reordered", flow);
            }
            if in_order {
                prop_assert!(out.departures.is_sorted_by_key(|d| d.due), "the wire reorders");
            }
        }
    }

    #[test]
    fn one_packet_leaves_at_a_time_and_none_faster_than_the_rate(config in config(), arrivals in arrivals()) {
        let RatePlan::Steps(steps) = config.rate.clone() else { unreachable!() };
        let may_idle = lets_the_link_idle(&config.queue);
        let retries = config.wire.wireless.is_some();
        let out = drive(config, &arrivals);
        let mut last = 0;
        for departure in &out.departures {
            let start = departure.at - departure.transmission;
            let bits = u128::from(arrivals[departure.packet].1.size_bytes) * 8 * 1_000_000_000;
            // Of transmissions that do not overlap, and of which each keeps the rate, every window does.
            prop_assert!(start >= last, "two packets at once");
            prop_assert!(bit_ns(&steps, start, departure.at) >= bits, "faster than the rate");
            prop_assert!(retries || bit_ns(&steps, start, departure.at - 1) < bits, "a nanosecond too late");
            prop_assert_eq!(departure.sojourn, start - arrivals[departure.packet].0);
            // A link that was idle takes the packet that comes; otherwise the next one begins when the last one has left.
            prop_assert!(start == last || departure.sojourn == 0 || may_idle, "idle with a backlog");
            prop_assert!(!departure.back_to_back || start == last, "not back to back");
            last = departure.at;
        }
    }

    #[test]
    fn the_buffer_is_never_exceeded(config in config(), arrivals in arrivals()) {
        let capacity = config.capacity;
        let out = drive(config, &arrivals);
        match capacity {
            Capacity::Bytes(limit) => prop_assert!(out.most_queued_bytes <= limit),
            Capacity::Packets(limit) => prop_assert!(out.most_queued_packets as u64 <= limit),
        }
    }

    #[test]
    fn only_what_understands_a_mark_is_marked(config in config(), arrivals in arrivals()) {
        let out = drive(config, &arrivals);
        prop_assert!(out.departures.iter().all(|d| !d.marked || arrivals[d.packet].1.ecn.is_capable()));
    }

    #[test]
    fn disciplines_without_early_drops_drop_for_want_of_room_alone(config in config(), arrivals in arrivals()) {
        let early = !matches!(
            config.queue,
            Discipline::DropTail | Discipline::DropHead | Discipline::Sfq(_) | Discipline::Drr(_) | Discipline::Wfq(_)
                | Discipline::Classes(_)
                | Discipline::AckFirst | Discipline::Cbq(_) | Discipline::Cba(_)
        );
        let out = drive(LinkConfig { capacity: common::ENDLESS, ..config.clone() }, &arrivals);
        prop_assert!(out.dropped.iter().all(|d| d.2 == DropReason::Early));
        prop_assert!(early || out.dropped.is_empty());
        let out = drive(config, &arrivals);
        prop_assert!(early || out.dropped.iter().all(|d| d.2 == DropReason::Full));
    }

    #[test]
    fn neither_memory_nor_the_times_of_the_caller_matter(config in config(), arrivals in arrivals()) {
        for config in [config.clone(), on_a_trace(config)] {
            let expected = drive(config.clone(), &arrivals);
            prop_assert_eq!(&drive(config.clone(), &arrivals), &expected, "the same again");
            let mut roomy = Link::new(config.clone());
            roomy.reserve(1000);
            prop_assert_eq!(&drive_link(&mut roomy, &arrivals), &expected, "with memory reserved");
            let punctual = drive_punctually(&mut Link::new(config), &arrivals);
            prop_assert_eq!(&punctual, &expected, "with a caller that looks at every event");
        }
    }

    #[test]
    fn only_time_since_the_origin_matters(config in config(), arrivals in arrivals(), origin in 0..u64::MAX / 4) {
        for config in [config.clone(), on_a_trace(config)] {
            let expected = drive(config.clone(), &arrivals);
            let later: Vec<Arrival> = arrivals.iter().map(|(at, item)| (at + origin, *item)).collect();
            let mut link = Link::new(config);
            link.set_origin(origin);
            let mut out = drive_link(&mut link, &later);
            for departure in &mut out.departures {
                departure.at -= origin;
                departure.due -= origin;
            }
            for dropped in &mut out.dropped {
                dropped.1 -= origin;
            }
            prop_assert_eq!(&out, &expected);
        }
    }
}
