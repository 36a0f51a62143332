//! The board, fed with rows made by hand.

use super::*;
use bytemuck::Zeroable;
use ccactl_abi::layout::{EVENT_ALGORITHM, EVENT_SAMPLE, FLAG_TRACE, name_bytes};
use ccactl_collector::Every;
use std::time::Duration;

const MS: u64 = 1_000_000;
const S: u64 = 1000 * MS;
/// Nobody counts time from 0.
const START: u64 = 1000 * S;

/// Windows of a second, rows every 100 ms.
fn board() -> Board {
    Board::new(Pace::new(Duration::from_secs(1), Every::Interval(Duration::from_millis(100))))
}

/// A row of flow 1 in cgroup 7, `at_ms` after the start.
fn row(at_ms: u64, event: u8) -> Sample {
    Sample {
        time_ns: START + at_ms * MS,
        flow_id: 1,
        cgroup_id: 7,
        netns: 9,
        event,
        algorithm: name_bytes("cubic").unwrap(),
        cwnd_pkts: 10,
        rtt_us: 20_000,
        ..Sample::zeroed()
    }
}

/// The row of a flow that has acknowledged so much, of packets of 1000 bytes.
fn acked(at_ms: u64, bytes: u64) -> Sample {
    let delivered_pkts = u32::try_from(bytes / 1000).unwrap();
    Sample { bytes_acked: bytes, bytes_sent: bytes, delivered_pkts, ..row(at_ms, EVENT_SAMPLE) }
}

/// 1 MB/s from a counter of 5 MB on, a row every 100 ms.
fn steady(from_ms: u64, to_ms: u64) -> Vec<Sample> {
    (from_ms..=to_ms).step_by(100).map(|ms| acked(ms, 5_000_000 + ms * 1000)).collect()
}

fn goodput_mbps(board: &Board, at_ms: u64) -> Option<f64> {
    let flow = board.flow((1, 9)).unwrap();
    flow.goodput_bps(board.pace(), START + at_ms * MS).map(|bps| bps / 1e6)
}

fn assert_close(found: Option<f64>, expected: f64) {
    let found = found.expect("a figure");
    assert!((found - expected).abs() <= expected * 1e-9, "{found} instead of {expected}");
}

#[test]
fn a_rate_is_the_step_of_the_counter_over_its_time() {
    let mut board = board();
    board.feed(&steady(0, 3000));
    board.advance(START + 3050 * MS);
    assert_close(goodput_mbps(&board, 3050), 8.0);
    let (id, group) = board.cgroups().next().unwrap();
    assert_eq!(id, 7);
    assert_close(Some(group.counts(board.pace(), START + 3050 * MS).acked_bytes), 1e6);
}

#[test]
fn a_flow_that_was_there_before_is_rated_by_the_time_for_which_it_is_known() {
    let mut board = board();
    board.feed(&steady(1000, 1100));
    assert_eq!(goodput_mbps(&board, 1150), None, "too short");
    board.feed(&steady(1200, 1600));
    // The window ends 200 ms before now, so 350 ms are known of it. What was acknowledged before is not ours to count.
    assert_close(goodput_mbps(&board, 1650), 8.0);
}

#[test]
fn a_flow_that_opened_while_we_looked_is_rated_over_the_whole_window() {
    let mut board = board();
    let close = Sample { event: EVENT_CLOSE, opened_ns: START + 1000 * MS, ..acked(1003, 30_000) };
    board.feed(&[row(1000, EVENT_OPEN), close]);
    // 30 kB in 3 ms, but also in the second that is looked at: flows add up to their group.
    assert_close(goodput_mbps(&board, 1500), 0.24);
    let sum = board.cgroups().next().unwrap().1.counts(board.pace(), START + 1500 * MS);
    assert_eq!((sum.acked_bytes.round(), sum.closed), (30_000.0, 1.0));
}

#[test]
fn an_opening_that_was_lost_is_known_from_later_rows() {
    let mut board = board();
    let late = Sample { opened_ns: START + 500 * MS, ..acked(1000, 500_000) };
    board.feed(&[late]);
    let flow = board.flow((1, 9)).unwrap();
    assert_eq!(flow.age_ns(START + 1500 * MS), Some(1000 * MS));
    assert_close(goodput_mbps(&board, 1500), 4.0);
}

#[test]
fn a_silence_is_a_rate_of_nothing_and_the_row_after_it_belongs_to_all_of_it() {
    let mut board = board();
    board.feed(&steady(0, 2000));
    board.advance(START + 4000 * MS);
    assert_eq!(goodput_mbps(&board, 4000), Some(0.0));
    board.feed(&[acked(4000, 5_000_000 + 2_000_000 + 400_000)]);
    // 400 kB over the two seconds: half of it in the window, which ends at 3.8 s.
    assert_close(goodput_mbps(&board, 4050), 1.6);
}

#[test]
fn a_socket_that_is_used_again_counts_from_nothing() {
    let mut board = board();
    board.feed(&[acked(0, 9_000_000), acked(1000, 9_000_000), acked(1100, 100_000)]);
    let sum = board.cgroups().next().unwrap().1.counts(board.pace(), START + 1400 * MS);
    assert_close(Some(sum.acked_bytes), 100_000.0);
}

#[test]
fn rows_out_of_order_change_nothing() {
    let mut board = board();
    board.feed(&[acked(0, 1_000_000), acked(200, 1_200_000), acked(100, 1_100_000)]);
    assert_eq!(board.flow((1, 9)).unwrap().last.bytes_acked, 1_200_000);
    board.feed(&[Sample { event: EVENT_CLOSE, ..acked(300, 1_200_000) }, acked(400, 1_300_000)]);
    assert!(board.flow((1, 9)).unwrap().is_closed());
    let sum = board.cgroups().next().unwrap().1.counts(board.pace(), START + 700 * MS);
    assert_close(Some(sum.acked_bytes), 200_000.0);
}

#[test]
fn retransmissions_marks_and_timeouts_are_counted_in_the_window() {
    let mut board = board();
    let before = acked(1000, 1_000_000);
    let after = Sample {
        bytes_retrans: 10_000,
        retrans_pkts: 10,
        delivered_ce_pkts: 25,
        rto_count: 2,
        ..acked(1500, 1_100_000)
    };
    board.feed(&[before, after]);
    let now_ns = START + 2200 * MS;
    let counts = board.flow((1, 9)).unwrap().counts(board.pace(), now_ns);
    assert_close(counts.retrans_ratio(), 0.1);
    assert_close(counts.ce_ratio(), 0.25);
    assert_close(Some(counts.retrans_pkts), 10.0);
    assert_close(Some(counts.rtos), 2.0);
}

#[test]
fn an_rtt_counts_once_and_percentiles_are_over_all_flows_of_the_group() {
    let mut board = board();
    for id in 1..=100 {
        let first = Sample { flow_id: id, ..acked(1000, 1000) };
        let rtt_us = u32::try_from(id).unwrap() * 1000;
        let second = Sample { flow_id: id, rtt_us, ..acked(1100, 2000) };
        // A duplicate ACK delivers nothing; the kernel's latest sample is still the one before.
        let duplicate = Sample { time_ns: START + 1150 * MS, ..second };
        board.feed(&[first, second, duplicate]);
    }
    let rtts = board.algorithms().next().unwrap().1.rtts(board.pace(), START + 1500 * MS);
    assert_eq!((rtts.samples(), rtts.mean_us()), (100, Some(50_500.0)));
    let p95_us = rtts.quantile_us(0.95).unwrap();
    assert!((p95_us / 95_000.0 - 1.0).abs() < 0.005, "{p95_us}");
}

#[test]
fn a_closed_flow_keeps_its_totals_for_some_seconds() {
    let mut board = board();
    let close = Sample {
        opened_ns: START,
        progress_ns: START + 1200 * MS,
        bytes_received: 300,
        retrans_pkts: 4,
        rtt_sum_us: 4_000_000,
        rtt_samples: 100,
        rtt_min_us: 30_000,
        ..Sample { event: EVENT_CLOSE, ..acked(1250, 2_000_000) }
    };
    board.feed(&[row(0, EVENT_OPEN), close]);
    board.advance(START + 2000 * MS);
    let totals = board.flow((1, 9)).unwrap().totals();
    let expected = Totals {
        acked_bytes: 2_000_000,
        received_bytes: 300,
        retrans_pkts: 4,
        duration_us: Some(1_250_000),
        completion_us: Some(1_200_000),
        rtt_mean_us: Some(40_000),
        rtt_min_us: Some(30_000),
    };
    assert_eq!(totals, Some(expected));
    assert_eq!(board.cgroups().next().unwrap().1.live().flows, 0, "it is not open any more");

    board.advance(START + 1250 * MS + CLOSED_NS);
    assert!(board.flow((1, 9)).is_none());
}

#[test]
fn a_socket_that_vanishes_without_an_end_goes_at_last() {
    let mut board = board();
    board.feed(&steady(0, 1000));
    board.advance(START + 200 * S);
    assert_eq!(board.flows().count(), 1);
    board.advance(START + 302 * S);
    assert_eq!((board.flows().count(), board.cgroups().count(), board.algorithms().count()), (0, 1, 1));
    // The groups have had no flow since.
    board.advance(START + 302 * S + MS);
    assert_eq!((board.cgroups().count(), board.algorithms().count()), (0, 0));
}

#[test]
fn a_change_of_algorithm_is_seen_and_its_step_is_the_former_ones() {
    let bbr = name_bytes("bbrv2").unwrap();
    let mut board = board();
    // The host's default until the policy acts: that is no change.
    let open = Sample { algorithm: name_bytes("reno").unwrap(), ..row(0, EVENT_OPEN) };
    board.feed(&[open, acked(500, 500_000)]);
    assert_eq!(board.flow((1, 9)).unwrap().swap, None);
    assert!(board.algorithms().all(|(name, _)| *name == name_bytes("cubic").unwrap()));

    let swapped = Sample { event: EVENT_ALGORITHM, algorithm: bbr, ..acked(700, 700_000) };
    board.feed(&[swapped, Sample { algorithm: bbr, ..acked(800, 900_000) }]);
    let swap = board.flow((1, 9)).unwrap().swap.unwrap();
    assert_eq!(swap, Swap { time_ns: START + 700 * MS, from: name_bytes("cubic").unwrap() });
    let acked_by = |board: &Board, algorithm: &[u8; NAME_LEN]| {
        let (_, group) = board.algorithms().find(|(name, _)| *name == algorithm).unwrap();
        group.counts(board.pace(), START + 1190 * MS).acked_bytes.round()
    };
    assert_eq!(acked_by(&board, &name_bytes("cubic").unwrap()), 700_000.0);
    assert_eq!(acked_by(&board, &bbr), 200_000.0);
}

#[test]
fn groups_know_the_algorithms_phases_and_windows_of_their_open_flows() {
    let bbr = name_bytes("bbrv2").unwrap();
    let mut board = board();
    for id in 2..=4 {
        let mut flow = Sample { flow_id: id, algorithm: bbr, flags: FLAG_TRACE, cwnd_pkts: 40, ..acked(100, 1000) };
        flow.trace.mode = u32::from(id == 4);
        board.feed(&[flow]);
    }
    board.feed(&[acked(100, 1000), Sample { flow_id: 5, ..row(100, EVENT_OPEN) }]);
    board.advance(START + 200 * MS);
    let live = board.cgroups().next().unwrap().1.live().clone();
    assert_eq!((live.flows, live.cwnd_mean_pkts()), (4, Some(32.5)));
    assert_eq!(live.algorithms[&bbr], 3);
    assert_eq!((live.phases[&(bbr, 0)], live.phases[&(bbr, 1)], live.phases.len()), (2, 1, 2));
    assert_eq!(board.receivers(), 1);
}

#[test]
fn ten_thousand_short_connections_a_second_stay_in_bounded_memory_and_are_all_counted() {
    let mut board = board();
    for id in 0..30_000 {
        let at_ms = 10_000 + id / 10;
        let open = Sample { flow_id: id, ..row(at_ms, EVENT_OPEN) };
        let opened_ns = open.time_ns;
        board.feed(&[open, Sample { flow_id: id, event: EVENT_CLOSE, opened_ns, ..acked(at_ms + 1, 2000) }]);
    }
    let now_ns = START + 13_190 * MS;
    assert_eq!(board.flows().count(), MAX_FLOWS);
    assert!(board.closed.len() <= MAX_FLOWS);
    // The window ends at 12.9 s: ten connections of 2 kB a millisecond.
    let counts = board.cgroups().next().unwrap().1.counts(board.pace(), now_ns);
    assert!((counts.closed / 10_000.0 - 1.0).abs() < 0.01, "{counts:?}");
    assert!((counts.acked_bytes / 2e7 - 1.0).abs() < 0.01, "{counts:?}");
    board.advance(now_ns + CLOSED_NS);
    assert_eq!((board.flows().count(), board.closed.len(), board.no_room()), (0, 0, 0));
}

#[test]
fn open_flows_without_room_are_counted_until_silent_ones_make_room() {
    let mut board = board();
    let flows = |ids: std::ops::Range<u64>, at_ms: u64| -> Vec<Sample> {
        ids.map(|id| Sample { flow_id: id, ..acked(at_ms, 1000) }).collect()
    };
    board.advance(START);
    board.feed(&flows(0..10_030, 100));
    board.feed(&flows(10_000..10_030, 200));
    board.advance(START + 600 * MS);
    assert_eq!((board.flows().count(), board.no_room()), (MAX_FLOWS, 30));
    board.feed(&flows(0..5, 10_500));
    board.feed(&flows(10_000..10_030, 10_600));
    board.advance(START + 11_000 * MS);
    assert_eq!((board.flows().count(), board.no_room()), (35, 0));
}

#[test]
fn cgroups_are_bounded_too() {
    let mut board = board();
    for id in 0..5000_u64 {
        board.feed(&[Sample { flow_id: id, cgroup_id: id, ..acked(id, 1000) }]);
    }
    assert_eq!(board.cgroups().count(), MAX_GROUPS);
    assert!(board.cgroups().all(|(id, _)| id >= 4000), "those without a row for longest go");
}

#[test]
fn points_come_twice_a_window_and_a_pause_leaves_a_gap() {
    let mut board = board();
    board.advance(START);
    for ms in (0..=3000).step_by(100) {
        board.feed(&[acked(ms, ms * 1000)]);
        board.advance(START + ms * MS);
    }
    let rtts = board.flow((1, 9)).unwrap().history.latest(100, |p| p.rtt_us);
    assert_eq!(rtts.len(), 6);
    assert!(rtts.iter().all(|rtt| *rtt == Some(20_000.0)), "{rtts:?}");
    board.advance(START + 5000 * MS);
    let rtts = board.flow((1, 9)).unwrap().history.latest(100, |p| p.rtt_us);
    assert_eq!(rtts[6..], [None, None, None, None]);
    let goodput = board.cgroups().next().unwrap().1.history.latest(2, |p| p.goodput_bps);
    assert_eq!(goodput, [Some(0.0), Some(0.0)]);
}
