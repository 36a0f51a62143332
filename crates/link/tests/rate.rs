//! Rate plans: steps are integrated exactly, traces give out their opportunities and no others.

mod common;

use ccactl_link::queue::Red;
use ccactl_link::{Discipline, LinkConfig, Nanos, OPPORTUNITY_BYTES, RatePlan, Trace};
use common::{Arrival, ENDLESS, MS, drive, item};
use proptest::prelude::*;
use std::collections::VecDeque;
use std::sync::Arc;

fn with_steps(steps: &[(Nanos, u64)]) -> LinkConfig {
    LinkConfig { rate: RatePlan::Steps(steps.to_vec()), ..LinkConfig::drop_tail(1, ENDLESS) }
}

fn departures(config: LinkConfig, arrivals: &[Arrival]) -> Vec<Nanos> {
    drive(config, arrivals).departures.iter().map(|d| d.at).collect()
}

#[test]
fn a_packet_across_a_step_leaves_at_both_rates() {
    // 1000 bytes at 8 Mbit/s take 1 ms. The second one has sent 500 bytes at 1.5 ms and the rest at 2 Mbit/s: 2 ms more.
    let arrivals = [(0, item(0, 1000)), (0, item(1, 1000)), (0, item(2, 1000))];
    let config = with_steps(&[(0, 8_000_000), (1_500_000, 2_000_000)]);
    assert_eq!(departures(config, &arrivals), [MS, 3_500_000, 7_500_000]);
}

#[test]
fn several_steps_within_one_packet_and_an_outage_count_as_well() {
    // 8000 bits: 1000 by 1 ms, 4000 by 2 ms, nothing until 10 ms, 3000 at 1 bit/µs.
    let config = with_steps(&[(0, 1_000_000), (MS, 4_000_000), (2 * MS, 0), (10 * MS, 1_000_000)]);
    assert_eq!(departures(config, &[(0, item(0, 1000))]), [13 * MS]);
}

#[test]
fn a_packet_that_ends_at_a_step_ends_there() {
    let config = with_steps(&[(0, 8_000_000), (MS, 0), (5 * MS, 8_000_000)]);
    assert_eq!(departures(config, &[(0, item(0, 1000)), (0, item(1, 1000))]), [MS, 6 * MS]);
}

#[test]
fn what_arrives_during_an_outage_waits() {
    let config = with_steps(&[(0, 8_000_000), (MS, 0), (5 * MS, 8_000_000)]);
    assert_eq!(departures(config, &[(2 * MS, item(0, 1000))]), [6 * MS]);
}

#[test]
fn small_packets_share_an_opportunity_and_large_ones_use_several() {
    let trace = |text| LinkConfig {
        rate: RatePlan::Trace(Arc::new(Trace::parse(text).unwrap())),
        ..LinkConfig::drop_tail(1, ENDLESS)
    };
    let at_once =
        |sizes: &[u32]| -> Vec<Arrival> { sizes.iter().enumerate().map(|(id, size)| (0, item(id, *size))).collect() };
    let times_ms =
        |text, sizes: &[u32]| departures(trace(text), &at_once(sizes)).iter().map(|at| at / MS).collect::<Vec<_>>();
    assert_eq!(times_ms("1\n3\n", &[752, 752, 1]), [1, 1, 3]);
    // The rest of the first opportunity carries the beginning of the second packet.
    assert_eq!(times_ms("1\n3\n", &[1500, 1500, 8]), [1, 3, 3]);
    assert_eq!(times_ms("1\n3\n", &[3 * 1504]), [4]);
    // Two opportunities in one millisecond; the trace repeats after 5 ms.
    assert_eq!(times_ms("2\n2\n5\n", &[1504; 8]), [2, 2, 5, 7, 7, 10, 12, 12]);
}

#[test]
fn an_opportunity_at_which_nothing_waits_is_gone() {
    let rate = RatePlan::Trace(Arc::new(Trace::parse("1\n2\n").unwrap()));
    let config = LinkConfig { rate, ..LinkConfig::drop_tail(1, ENDLESS) };
    // At 2 ms the opportunity was there before the packet. Of the one at 3 ms the second packet gets what the first one left
    // only because it waits by then; the third comes a nanosecond too late.
    let arrivals = [(2 * MS, item(0, 100)), (2 * MS, item(1, 100)), (3 * MS + 1, item(2, 100))];
    assert_eq!(departures(config, &arrivals), [3 * MS, 3 * MS, 4 * MS]);
}

#[test]
fn a_discipline_learns_that_a_link_with_a_trace_is_idle() {
    // RED without the gentle part drops everything while its average is above 15. A burst of 40 packets takes it there; the
    // packet of one second later finds an average that has fallen during the idle time.
    let red = Red { weight: 0.5, gentle: false, ..Red::default() };
    let rate = RatePlan::Trace(Arc::new(Trace::parse("1\n").unwrap()));
    let config = LinkConfig { rate, queue: Discipline::Red(red), ..LinkConfig::drop_tail(1, ENDLESS) };
    let arrivals: Vec<Arrival> = (0..41).map(|id| (if id < 40 { 0 } else { 1000 * MS }, item(id, 1500))).collect();
    let out = drive(config, &arrivals);
    assert!(out.dropped.len() > 10, "the burst was too much");
    assert_eq!(out.sent().last(), Some(&40));
}

/// mahimahi's LinkQueue in its own terms: at every opportunity bytes leave from the head of the queue.
fn reference(times_ms: &[u64], arrivals: &[Arrival]) -> Vec<Nanos> {
    let (mut waiting, mut next) = (VecDeque::new(), 0);
    let mut departures = Vec::new();
    for number in 0.. {
        let repetition = number / times_ms.len();
        let now = (repetition as u64 * times_ms[times_ms.len() - 1] + times_ms[number % times_ms.len()]) * MS;
        while let Some((_, item)) = arrivals.get(next).filter(|(at, _)| *at < now) {
            waiting.push_back(item.size_bytes);
            next += 1;
        }
        let mut left = OPPORTUNITY_BYTES;
        while let Some(head) = waiting.front_mut().filter(|_| left > 0) {
            let used = left.min(*head);
            *head -= used;
            left -= used;
            if *head == 0 {
                waiting.pop_front();
                departures.push(now);
            }
        }
        if departures.len() == arrivals.len() {
            return departures;
        }
    }
    unreachable!("a trace repeats for ever")
}

proptest! {
    #[test]
    fn a_trace_delivers_exactly_when_mahimahi_would(
        mut times_ms in prop::collection::vec(0..30_u64, 1..20),
        packets in prop::collection::vec((prop_oneof![Just(0), 0..5 * MS], 1..4000_u32), 1..100),
    ) {
        times_ms.sort_unstable();
        prop_assume!(times_ms[times_ms.len() - 1] > 0);
        let text: String = times_ms.iter().map(|ms| format!("{ms}\n")).collect();
        let mut now = 0;
        // Whole microseconds and one nanosecond: no arrival at an opportunity itself, which another test is about.
        let arrivals: Vec<Arrival> = packets.iter().enumerate().map(|(id, (gap, size))| {
            now += gap / 1000 * 1000;
            (now + 1, item(id, *size))
        }).collect();
        let rate = RatePlan::Trace(Arc::new(Trace::parse(&text).unwrap()));
        let config = LinkConfig { rate, ..LinkConfig::drop_tail(1, ENDLESS) };
        prop_assert_eq!(departures(config, &arrivals), reference(&times_ms, &arrivals));
    }
}
