//! The policer lets through what its contract allows, to the packet, and delays nothing.

mod common;

use ccactl_link::queue::Policer;
use ccactl_link::{Discipline, DropReason, LinkConfig, Nanos};
use common::{Arrival, ENDLESS, MS, Outcome, S, drive, item};

/// 8 Mbit/s on a link of 80: 1000 bytes are a millisecond of tokens and leave within a tenth of it.
fn police(burst_bytes: u64, times: impl Iterator<Item = Nanos>) -> Outcome {
    let arrivals: Vec<Arrival> = times.enumerate().map(|(id, at)| (at, item(id, 1000))).collect();
    let queue = Discipline::Policer(Policer { rate_bps: 8_000_000, burst_bytes });
    drive(LinkConfig { queue, ..LinkConfig::drop_tail(80_000_000, ENDLESS) }, &arrivals)
}

#[test]
fn a_burst_passes_and_then_the_rate() {
    // Twice the rate for a second: the burst, and what comes within it.
    let out = police(50_000, (0..S).step_by((MS / 2) as usize));
    // Packet n comes after n/2 ms, and 50 + n/2 have passed at most: the 99th is the first to find less than one. From then on
    // every other one passes.
    assert_eq!(out.dropped[0].0, 99);
    assert_eq!(out.departures.len(), 50 + 999);
    assert!(out.dropped.iter().all(|d| d.2 == DropReason::Early));
    assert!(out.departures.iter().all(|d| d.sojourn == 0), "it polices and does not shape");
}

#[test]
fn a_pause_fills_the_bucket_and_no_more() {
    let burst = |at: Nanos| (0..100).map(move |_| at);
    let out = police(20_000, burst(0).chain(burst(5 * MS)).chain(burst(10 * S)));
    let passed = |from: usize| out.departures.iter().filter(|d| (from..from + 100).contains(&d.packet)).count();
    assert_eq!([0, 100, 200].map(passed), [20, 5, 20]);
}

#[test]
fn what_a_full_queue_refuses_has_cost_its_tokens() {
    // The link is slower than the contract: its own buffer of two packets decides.
    let queue = Discipline::Policer(Policer { rate_bps: 8_000_000, burst_bytes: 5000 });
    let arrivals: Vec<Arrival> = (0..10).map(|id| (0, item(id, 1000))).collect();
    let config = LinkConfig { queue, ..LinkConfig::drop_tail(800_000, ccactl_link::Capacity::Packets(2)) };
    let out = drive(config, &arrivals);
    assert_eq!(out.sent(), [0, 1]);
    let reasons: Vec<DropReason> = out.dropped.iter().map(|d| d.2).collect();
    assert!(reasons.iter().all(|reason| *reason == DropReason::Full), "the buffer had no room: {reasons:?}");
}
