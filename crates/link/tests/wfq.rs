//! WFQ against a fluid GPS of the test's own, on a link of 8 Mbit/s, where 1000 bytes take 1 ms and every transmission is
//! whole nanoseconds.

mod common;

use ccactl_link::queue::{Drr, Wfq};
use ccactl_link::{Capacity, Discipline, Item, LinkConfig, Nanos, RatePlan};
use common::{Arrival, ENDLESS, MS, Outcome, S, drive, item};
use proptest::prelude::*;

const BYTE_NS: f64 = 1000.0;
/// Of the floats of the reference, in nanoseconds.
const ROUNDING: f64 = 1.0;

fn config(queue: Discipline) -> LinkConfig {
    LinkConfig { queue, ..LinkConfig::drop_tail(8_000_000, ENDLESS) }
}

fn wfq(weights: &[u32]) -> Discipline {
    Discipline::Wfq(Wfq { weights: weights.to_vec(), ..Wfq::default() })
}

/// Packets of (time, flow, size), in order; the class of a flow has its number.
fn packets(of: impl IntoIterator<Item = (Nanos, u32, u32)>) -> Vec<Arrival> {
    let mut all: Vec<_> = of.into_iter().collect();
    all.sort_by_key(|packet| packet.0);
    let arrival =
        |(id, (at, flow, size)): (usize, (Nanos, u32, u32))| (at, Item { flow, class: flow as u8, ..item(id, size) });
    all.into_iter().enumerate().map(arrival).collect()
}

/// When GPS is done with every packet: the fluid, from one arrival or end of a packet to the next.
fn gps(arrivals: &[Arrival], weights: &[u32]) -> Vec<f64> {
    let mut done = vec![0.0; arrivals.len()];
    // By flow, packets and the nanoseconds of the whole link that they still need.
    let mut waiting: Vec<std::collections::VecDeque<(usize, f64)>> = vec![Default::default(); weights.len()];
    let (mut now, mut next) = (0.0, 0);
    loop {
        let backlogged: Vec<usize> = (0..weights.len()).filter(|flow| !waiting[*flow].is_empty()).collect();
        let weight: f64 = backlogged.iter().map(|flow| f64::from(weights[*flow])).sum();
        let share = |flow: usize| f64::from(weights[flow]) / weight;
        let first = backlogged.iter().copied().min_by(|a, b| {
            let needs = |flow: usize| waiting[flow][0].1 / share(flow);
            needs(*a).total_cmp(&needs(*b))
        });
        let end = first.map_or(f64::INFINITY, |flow| now + waiting[flow][0].1 / share(flow));
        let arrival = arrivals.get(next).map_or(f64::INFINITY, |arrival| arrival.0 as f64);
        if end.min(arrival).is_infinite() {
            return done;
        }
        for flow in backlogged {
            waiting[flow][0].1 -= (end.min(arrival) - now) * share(flow);
        }
        now = end.min(arrival);
        if end <= arrival {
            let (packet, _) = waiting[first.unwrap()].pop_front().unwrap();
            done[packet] = now;
        } else {
            let Item { flow, size_bytes, .. } = arrivals[next].1;
            waiting[flow as usize].push_back((next, f64::from(size_bytes) * BYTE_NS));
            next += 1;
        }
    }
}

/// By how much the latest packet leaves after GPS would be done with it.
fn lag(out: &Outcome, gps: &[f64]) -> f64 {
    out.departures.iter().map(|d| d.at as f64 - gps[d.packet]).fold(f64::MIN, f64::max)
}

fn largest(arrivals: &[Arrival]) -> f64 {
    f64::from(arrivals.iter().map(|arrival| arrival.1.size_bytes).max().unwrap_or(0))
}

/// Four flows, in bursts, with pauses in which the link becomes idle.
fn four_flows() -> impl Strategy<Value = Vec<Arrival>> {
    let gap = prop_oneof![4 => Just(0), 4 => 0..2 * MS, 1 => 0..20 * MS];
    prop::collection::vec((gap, 0..4u32, 40..=1500u32), 1..200).prop_map(|all| {
        let mut now = 0;
        packets(all.into_iter().map(|(gap, flow, size)| {
            now += gap;
            (now, flow, size)
        }))
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn a_packet_leaves_at_most_the_largest_one_after_gps(
        arrivals in four_flows(), weights in prop::collection::vec(1..9u32, 4),
    ) {
        let out = drive(config(wfq(&weights)), &arrivals);
        let lag = lag(&out, &gps(&arrivals, &weights));
        prop_assert!(lag <= largest(&arrivals) * BYTE_NS + ROUNDING, "{} ns", lag);
    }

    #[test]
    fn whoever_leaves_is_who_gps_would_be_done_with_first_if_no_other_came(
        arrivals in four_flows(), weights in prop::collection::vec(1..9u32, 4),
    ) {
        let out = drive(config(wfq(&weights)), &arrivals);
        for (position, chosen) in out.departures.iter().enumerate() {
            let start = chosen.at - chosen.transmission;
            let known: Vec<Arrival> = arrivals.iter().copied().take_while(|arrival| arrival.0 < start).collect();
            // An idle link takes the first arrival, and does not wait for others of the same time.
            if chosen.sojourn == 0 {
                continue;
            }
            let done = gps(&known, &weights);
            let later = out.departures[position..].iter().map(|d| d.packet).filter(|packet| *packet < known.len());
            let first = later.map(|packet| done[packet]).fold(f64::INFINITY, f64::min);
            prop_assert!(done[chosen.packet] <= first + ROUNDING, "packet {} at {}", chosen.packet, start);
        }
    }

    #[test]
    fn a_token_bucket_has_its_bound_over_two_links(
        sizes in prop::collection::vec(100..=500u32, 1..60), pauses in prop::collection::vec(0..4 * MS, 60),
        others in prop::collection::vec((0..3u32, 40..=1500u32), 2..300),
    ) {
        // Flow 0 has 2/5 of the link and fills a bucket of σ = 2000 bytes at that rate; the others flood both links.
        const SIGMA: f64 = 2000.0;
        const GUARANTEED: f64 = 0.4;
        let weights = [4, 3, 2, 1];
        let (mut now, mut tokens) = (0, SIGMA);
        let mut own = Vec::new();
        for (size, pause) in sizes.iter().zip(pauses) {
            let missing = (f64::from(*size) - tokens).max(0.0);
            let wait = (missing * BYTE_NS / GUARANTEED).ceil() as Nanos + pause;
            now += wait;
            tokens = (tokens + wait as f64 / BYTE_NS * GUARANTEED).min(SIGMA) - f64::from(*size);
            own.push((now, *size));
        }
        let flood = || others.iter().enumerate().map(|(id, (flow, size))| (id as Nanos * MS / 2, flow + 1, *size));
        let through = |own: &[(Nanos, u32)]| -> Vec<(Nanos, u32)> {
            let arrivals = packets(flood().chain(own.iter().map(|(at, size)| (*at, 0, *size))));
            let out = drive(config(wfq(&weights)), &arrivals);
            let of_own = out.departures.iter().filter(|d| arrivals[d.packet].1.flow == 0);
            of_own.map(|d| (d.at, arrivals[d.packet].1.size_bytes)).collect()
        };
        let first = through(&own);
        let second = through(&first);
        let one = (SIGMA / GUARANTEED + 1500.0) * BYTE_NS + ROUNDING;
        let two = (SIGMA / GUARANTEED + 500.0 / GUARANTEED + 2.0 * 1500.0) * BYTE_NS + ROUNDING;
        for (bound, left) in [(one, &first), (two, &second)] {
            let delays = own.iter().zip(left).map(|(came, left)| (left.0 - came.0) as f64);
            let longest = delays.fold(0.0, f64::max);
            prop_assert!(longest <= bound, "{} ns beyond {}", longest, bound);
        }
    }
}

/// Ten flows flood the link from the beginning; flow 0 has half of the weight, and two packets when it is busy.
fn a_light_flow_among_ten() -> (Vec<Arrival>, Vec<u32>) {
    let flood = (1..=10).flat_map(|flow| (0..50).map(move |_| (0, flow, 1000)));
    (packets(flood.chain([(20 * MS, 0, 1000), (20 * MS, 0, 1000)])), [10].into_iter().chain([1; 10]).collect())
}

#[test]
fn the_bound_is_one_that_deficit_round_robin_does_not_keep() {
    let (arrivals, weights) = a_light_flow_among_ten();
    let gps = gps(&arrivals, &weights);
    assert_eq!(lag(&drive(config(wfq(&weights)), &arrivals), &gps).max(1e6), 1e6);
    let drr = Drr { quantum_bytes: 1000, weights, ..Drr::default() };
    assert!(lag(&drive(config(Discipline::Drr(drr)), &arrivals), &gps) > 5.0 * 1e6);
}

#[test]
fn an_example_by_hand() {
    // Weights 1 and 3. Flow 0: 1000 bytes at 0 and at 0.75 ms. Flow 1: three of 1000 bytes at 0.5 ms.
    let all = [(0, 0, 1000), (MS / 2, 1, 1000), (MS / 2, 1, 1000), (MS / 2, 1, 1000), (3 * MS / 4, 0, 1000)];
    let arrivals = packets(all);
    // Until 0.5 ms flow 0 is alone, V = 500; then V rises by a quarter of a byte per byte. F of flow 0 is 1000 and 2000; of
    // flow 1, 500 + n · 333.3. At 1 ms it is flow 1's turn: 833.3 and 1166.7, then 1500, all before 2000.
    assert_eq!(drive(config(wfq(&[1, 3])), &arrivals).sent(), [0, 1, 2, 3, 4]);
    // Weights 3 and 1: V = 166.7 at 0.5 ms. F of flow 0 is 333.3 and 666.7; of flow 1, 1166.7 and more.
    assert_eq!(drive(config(wfq(&[3, 1])), &arrivals).sent(), [0, 4, 1, 2, 3]);
}

#[test]
fn a_flow_that_was_silent_has_no_claim_to_what_it_did_not_use() {
    // Flow 1 comes after a second of flow 0 alone, and from then on both have the half.
    let alone = (0..3000).map(|id| (id * MS / 2, 0, 1000));
    let late = (0..1000).map(|id| (S + id * MS / 2, 1, 1000));
    let arrivals = packets(alone.chain(late));
    let out = drive(config(wfq(&[])), &arrivals);
    let bytes = |flow| out.sent_bytes(&arrivals, S + MS, S + 401 * MS, |item| item.flow == flow);
    assert!(bytes(0).abs_diff(200_000) <= 1000 && bytes(1).abs_diff(200_000) <= 1000, "{} {}", bytes(0), bytes(1));
}

#[test]
fn a_weight_is_a_share_whatever_the_rate_does_and_whatever_is_dropped() {
    let flood = |flow: u32| (0..12_000).map(move |id| (id * MS / 2, flow, 400 + flow * 500));
    let arrivals = packets((0..3).flat_map(flood));
    let rate = RatePlan::Steps(vec![(0, 8_000_000), (2 * S, 0), (3 * S, 2_000_000), (4 * S, 16_000_000)]);
    let capacity = Capacity::Bytes(60_000);
    let out = drive(LinkConfig { rate, capacity, ..config(wfq(&[1, 2, 5])) }, &arrivals);
    assert!(out.dropped.len() > 1000);
    for (from, until) in [(S, 2 * S), (3 * S, 4 * S), (4 * S, 6 * S)] {
        let bytes = |flow| out.sent_bytes(&arrivals, from, until, |item| item.flow == flow) as f64;
        let all = bytes(0) + bytes(1) + bytes(2);
        for (flow, share) in [(0, 0.125), (1, 0.25), (2, 0.625)] {
            assert!((bytes(flow) - share * all).abs() <= 3000.0, "{flow} from {from}: {} of {all}", bytes(flow));
        }
    }
}

#[test]
fn the_longest_queue_for_its_weight_makes_room() {
    // Packet 0 is in transmission. Flow 1 has three times the weight, so its two packets are shorter than flow 0's one.
    let flows = [0, 1, 1, 0, 0];
    let arrivals = packets(flows.map(|flow| (0, flow, 1000)));
    let out = drive(LinkConfig { capacity: Capacity::Packets(4), ..config(wfq(&[1, 3])) }, &arrivals);
    assert_eq!(out.dropped(), [4]);
}
