//! FQ-CoDel, SFQ and DRR: what one flow does to another, on a link of 8 Mbit/s, where 1000 bytes take 1 ms.

mod common;

use ccactl_link::queue::{Drr, FqCoDel, Sfq};
use ccactl_link::{Capacity, Discipline, Item, LinkConfig, Nanos};
use common::{Arrival, ENDLESS, MS, Outcome, S, drive, item};
use proptest::prelude::*;

fn run(queue: Discipline, capacity: Capacity, arrivals: &[Arrival]) -> Outcome {
    drive(LinkConfig { queue, seed: 5, ..LinkConfig::drop_tail(8_000_000, capacity) }, arrivals)
}

/// Packets of several flows, sorted by time and numbered.
fn merge(flows: Vec<Vec<(Nanos, u32)>>) -> Vec<Arrival> {
    let tagged = flows.into_iter().enumerate();
    let mut all: Vec<(Nanos, u32, u32)> =
        tagged.flat_map(|(flow, packets)| packets.into_iter().map(move |(at, size)| (at, flow as u32, size))).collect();
    all.sort_by_key(|packet| packet.0);
    let arrival = |(id, (at, flow, size)): (usize, (Nanos, u32, u32))| (at, Item { flow, ..item(id, size) });
    all.into_iter().enumerate().map(arrival).collect()
}

fn every(gap: Nanos, until: Nanos, size: u32) -> Vec<(Nanos, u32)> {
    (0..until).step_by(gap as usize).map(|at| (at, size)).collect()
}

fn of_flow<'a>(
    out: &'a Outcome,
    arrivals: &'a [Arrival],
    flow: u32,
) -> impl Iterator<Item = &'a ccactl_link::Departure<usize>> {
    out.departures.iter().filter(move |d| arrivals[d.packet].1.flow == flow)
}

/// Largest difference of the bytes of flows 0 and 1, divided by their weights, over all windows of departures.
fn unfairness(out: &Outcome, arrivals: &[Arrival], weights: [f64; 2]) -> f64 {
    // Over windows it is the range of the running difference.
    let (mut difference, mut low, mut high) = (0.0, 0.0_f64, 0.0_f64);
    for departure in &out.departures {
        let Item { flow, size_bytes, .. } = arrivals[departure.packet].1;
        let share = f64::from(size_bytes) / weights[flow as usize];
        difference += if flow == 0 { share } else { -share };
        (low, high) = (low.min(difference), high.max(difference));
    }
    high - low
}

/// Two flows that always have something to send: everything comes at once, and only the time until one of them is empty counts.
fn two_backlogs(sizes: [Vec<u32>; 2]) -> Vec<Arrival> {
    merge(sizes.map(|sizes| sizes.into_iter().map(|size| (0, size)).collect()).into())
}

fn while_both_wait(mut out: Outcome, arrivals: &[Arrival]) -> Outcome {
    let last = |flow| of_flow(&out, arrivals, flow).map(|d| d.at).max().unwrap_or(0);
    let until = last(0).min(last(1));
    out.departures.retain(|d| d.at < until);
    out
}

fn sizes() -> impl Strategy<Value = Vec<u32>> {
    prop::collection::vec(40..=1500u32, 1..200)
}

proptest! {
    #[test]
    fn drr_keeps_the_bound_of_its_paper(a in sizes(), b in sizes(), quantum_bytes in 1500..3000u32, weight in 1..4u32) {
        // Shreedhar and Varghese, theorem on fairness: 2 Max + Quantum over any interval in which both wait.
        let arrivals = two_backlogs([a, b]);
        let arrivals: Vec<Arrival> =
            arrivals.into_iter().map(|(at, item)| (at, Item { class: item.flow as u8, ..item })).collect();
        let drr = Drr { quantum_bytes, weights: vec![1, weight], ..Drr::default() };
        let out = while_both_wait(run(Discipline::Drr(drr), ENDLESS, &arrivals), &arrivals);
        let bound = 2.0 * 1500.0 + f64::from(quantum_bytes);
        let unfairness = unfairness(&out, &arrivals, [1.0, f64::from(weight)]);
        prop_assert!(unfairness <= bound, "{} beyond {}", unfairness, bound);
    }

    #[test]
    fn fq_codel_shares_bytes_as_drr_does(a in sizes(), b in sizes()) {
        let arrivals = two_backlogs([a, b]);
        let mut fq_codel = FqCoDel::default();
        // No drops, so that it is the scheduler alone. A quantum is overdrawn by up to a packet.
        fq_codel.codel.target = 1000 * S;
        let out = while_both_wait(run(Discipline::FqCoDel(fq_codel), ENDLESS, &arrivals), &arrivals);
        let bound = 2.0 * (1514.0 + 1500.0);
        prop_assert!(unfairness(&out, &arrivals, [1.0, 1.0]) <= bound);
    }

    #[test]
    fn sfq_lets_queues_take_turns_of_one_packet(a in sizes(), b in sizes()) {
        let arrivals = two_backlogs([a, b]);
        let sfq = Sfq { perturbation: None, ..Sfq::default() };
        let out = while_both_wait(run(Discipline::Sfq(sfq), ENDLESS, &arrivals), &arrivals);
        let flows: Vec<u32> = out.departures.iter().map(|d| arrivals[d.packet].1.flow).collect();
        // The first packet began to leave when there was no other.
        prop_assert!(flows[1.min(flows.len())..].windows(2).all(|w| w[0] != w[1]), "{:?}", flows);
    }
}

/// A flow of three times the rate, and one of a small packet every 10 ms, which begins when the other is no longer new.
fn bulk_and_sparse() -> Vec<Arrival> {
    let sparse = every(10 * MS, 5 * S, 200).into_iter().map(|(at, size)| (at + 10 * MS, size)).collect();
    merge(vec![every(333_333, 5 * S, 1000), sparse])
}

fn longest_wait(out: &Outcome, arrivals: &[Arrival], flow: u32) -> Nanos {
    of_flow(out, arrivals, flow).map(|d| d.sojourn).max().unwrap_or(0)
}

#[test]
fn a_sparse_flow_does_not_notice_a_bulk_flow() {
    let arrivals = bulk_and_sparse();
    let buffer = Capacity::Bytes(50_000);
    for queue in [
        Discipline::FqCoDel(FqCoDel::default()),
        Discipline::Sfq(Sfq { perturbation: None, ..Sfq::default() }),
        Discipline::Drr(Drr { quantum_bytes: 1000, ..Drr::default() }),
    ] {
        let out = run(queue.clone(), buffer, &arrivals);
        let sent: Vec<usize> = of_flow(&out, &arrivals, 1).map(|d| d.packet).collect();
        assert_eq!(sent.len(), 500, "{queue:?}: none is dropped");
        // It waits for the packet in transmission, and in a round robin for one of the other flow.
        let allowed = if matches!(queue, Discipline::FqCoDel(_)) { MS } else { 2 * MS };
        let longest = longest_wait(&out, &arrivals, 1);
        assert!(longest <= allowed, "{queue:?}: {longest}");
        assert!(out.dropped.iter().all(|d| arrivals[d.0].1.flow == 0));
        assert!(out.most_queued_bytes <= 50_000 && out.most_queued_bytes > 49_000, "the buffer is used");
    }
    let fifo = run(Discipline::DropTail, buffer, &arrivals);
    assert!(longest_wait(&fifo, &arrivals, 1) > 40 * MS, "in one queue it does");
}

#[test]
fn fq_codel_controls_the_delay_of_the_bulk_flow_too() {
    // 5 % too much for 20 s: CoDel's drops of that flow catch up.
    let arrivals = merge(vec![every(950_000, 20 * S, 1000), every(10 * MS, 20 * S, 40)]);
    let out = run(Discipline::FqCoDel(FqCoDel::default()), ENDLESS, &arrivals);
    let late = of_flow(&out, &arrivals, 0).filter(|d| d.at > 15 * S);
    let shortest = late.map(|d| d.sojourn).min().unwrap();
    assert!(shortest < 10 * MS, "{shortest}");
}

#[test]
fn a_flow_that_has_sent_its_quantum_is_not_new_again() {
    // Both send 1000 bytes every 1.5 ms: more than the link carries, and each queue runs empty now and then. Neither may starve the other.
    let arrivals = merge(vec![every(1_500_000, 5 * S, 1000), every(1_500_001, 5 * S, 1000)]);
    let mut fq_codel = FqCoDel::default();
    fq_codel.codel.target = 1000 * S;
    let out = run(Discipline::FqCoDel(fq_codel), ENDLESS, &arrivals);
    let bytes = |flow| out.sent_bytes(&arrivals, 0, 5 * S, |item| item.flow == flow);
    let (a, b) = (bytes(0), bytes(1));
    assert!(a.abs_diff(b) <= 3000, "{a} {b}");
}

#[test]
fn a_full_fq_codel_drops_the_oldest_packet_of_the_longest_queue_and_the_others_the_newest() {
    // Flow 0: packets 0 (in transmission), 1, 2, 3; flow 1: packet 4; then packet 5 of flow 1 finds no room.
    let flows = [0, 0, 0, 0, 1, 1];
    let arrivals: Vec<Arrival> =
        flows.iter().enumerate().map(|(id, flow)| (0, Item { flow: *flow, ..item(id, 1000) })).collect();
    let dropped = |queue| run(queue, Capacity::Packets(5), &arrivals).dropped();
    assert_eq!(dropped(Discipline::FqCoDel(FqCoDel::default())), [1]);
    assert_eq!(dropped(Discipline::Sfq(Sfq::default())), [3]);
    assert_eq!(dropped(Discipline::Drr(Drr::default())), [3]);
}

#[test]
fn flows_that_collide_in_sfq_are_separated_by_a_perturbation() {
    // Two queues only: a flow shares that of the bulk flow with probability 1/2, until the hash changes.
    let arrivals = merge(vec![every(500_000, 20 * S, 1000), every(10 * MS, 20 * S, 200)]);
    let waits = |perturbation| -> Vec<bool> {
        let sfq = Sfq { queues: 2, perturbation };
        let out = run(Discipline::Sfq(sfq), Capacity::Packets(100), &arrivals);
        let periods = (0..20).map(|period| {
            let of_period = of_flow(&out, &arrivals, 1).filter(|d| d.at / S == period);
            // The packets of the beginning may still wait in the old order.
            of_period.skip(50).map(|d| d.sojourn).max().unwrap_or(Nanos::MAX) > 10 * MS
        });
        periods.collect()
    };
    let constant = waits(None);
    assert!(constant.iter().all(|waits| *waits == constant[0]), "it shares the queue or does not, for ever");
    let changing = waits(Some(S));
    let shared = changing.iter().filter(|waits| **waits).count();
    assert!((4..=16).contains(&shared), "{shared} of 20 periods in one queue");
}

#[test]
fn a_weight_is_a_share() {
    let flows = vec![every(500_000, 4 * S, 1000), every(500_000, 4 * S, 500), every(500_000, 4 * S, 1500)];
    let arrivals: Vec<Arrival> =
        merge(flows).into_iter().map(|(at, item)| (at, Item { class: item.flow as u8, ..item })).collect();
    let drr = Drr { weights: vec![1, 2, 3], ..Drr::default() };
    let out = run(Discipline::Drr(drr), Capacity::Bytes(200_000), &arrivals);
    // 1 to 3 s: 1 000 000 bytes per second.
    for (flow, expected) in [(0, 333_333_u64), (1, 666_667), (2, 1_000_000)] {
        let bytes = out.sent_bytes(&arrivals, S, 3 * S, |item| item.flow == flow);
        assert!(bytes.abs_diff(expected) <= 3 * 1514 + 2 * 1500, "flow {flow}: {bytes}");
    }
}
