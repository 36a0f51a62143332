//! Copa against its formulas, and over a path.

mod common;

use ccactl_native::path::{Flow, Link};
use ccactl_native::{CA_LOSS, CA_OPEN, CA_RECOVERY, EVENT_TX_START, RateSample, Socket};
use common::{established, link};

const SLOW_START: u32 = 0;
const DEFAULT: u32 = 1;
const COMPETITIVE: u32 = 2;

const RTT_US: i64 = 40_000;

/// One ACK. It ends a round trip when the newest packet was sent after the last one had ended.
fn ack(socket: &mut Socket, rtt_us: i64, acked: u32, ends_round: bool) {
    let tp = socket.tp_mut();
    let prior_delivered = if ends_round { tp.delivered } else { tp.delivered.wrapping_sub(1) };
    tp.delivered += acked;
    let sample = RateSample {
        prior_delivered,
        delivered: acked as i32,
        interval_us: RTT_US,
        rtt_us,
        acked_sacked: acked,
        ..RateSample::default()
    };
    socket.cong_control(0, 0, &sample);
}

fn mode(socket: &Socket) -> u32 {
    socket.trace().expect("published").mode
}

fn velocity(socket: &Socket) -> i64 {
    socket.trace().expect("published").v0
}

fn inv_delta(socket: &Socket) -> i64 {
    socket.trace().expect("published").v1
}

/// In slow start with srtt and RTTmin of 40 ms.
fn starting() -> Socket {
    let mut socket = established("copa");
    socket.tp_mut().srtt_us = (RTT_US as u32) << 3;
    socket.tp_mut().delivered = 1000;
    socket.init();
    socket
}

/// Has just left slow start at so many packets: RTTmin is 40 ms, and RTTstanding 40 ms again.
fn steady(cwnd: u32) -> Socket {
    let mut socket = starting();
    ack(&mut socket, RTT_US, 0, false);
    socket.advance_us(25_000);
    socket.tp_mut().snd_cwnd = cwnd;
    ack(&mut socket, 2 * RTT_US, 0, false);
    assert_eq!((mode(&socket), socket.cwnd(), socket.snd_ssthresh()), (DEFAULT, cwnd, cwnd));
    socket.advance_us(25_000);
    ack(&mut socket, RTT_US, 0, false);
    socket
}

#[test]
fn slow_start_doubles_per_round_trip_until_the_rate_exceeds_the_target() {
    let mut socket = starting();
    for cwnd in [20, 40, 80] {
        let acked = socket.cwnd();
        ack(&mut socket, RTT_US, acked, true);
        assert_eq!((socket.cwnd(), mode(&socket)), (cwnd, SLOW_START));
    }
    // cwnd d_q <= 2 RTTstanding: 80 * 1 ms <= 2 * 41 ms.
    socket.advance_us(25_000);
    ack(&mut socket, 41_000, 0, false);
    assert_eq!(mode(&socket), SLOW_START);
    // 80 * 1.03 ms = 82.4 ms, 2 * 41.03 ms = 82.06 ms
    socket.advance_us(25_000);
    ack(&mut socket, 41_030, 80, false);
    assert_eq!((socket.cwnd(), mode(&socket), socket.snd_ssthresh()), (80, DEFAULT, 80));
}

#[test]
fn the_window_moves_by_two_packets_per_round_trip_towards_the_target() {
    // 100 d_q <= 2 (40 ms + d_q): d_q up to 0.816 ms.
    for (rtt_us, cwnd) in [(40_000, 101), (40_816, 101), (40_817, 98), (60_000, 98)] {
        let mut socket = steady(100);
        socket.advance_us(25_000);
        // 2 / 100 per packet: 51 packets are 1.02.
        ack(&mut socket, rtt_us, 51, false);
        assert_eq!(socket.cwnd(), cwnd, "RTT {rtt_us}");
    }
}

#[test]
fn delta_sets_the_step_and_the_target() {
    // delta 0.05: 1 / delta = 20; 100 d_q <= 20 (40 ms + d_q): d_q up to 10 ms. 20 / 100 per packet: 51 are 10.2.
    for (rtt_us, cwnd) in [(50_000, 110), (50_001, 89)] {
        let mut socket = steady(100);
        socket.set_tunable("delta", 50).expect("a tunable");
        socket.advance_us(25_000);
        ack(&mut socket, rtt_us, 51, false);
        assert_eq!((socket.cwnd(), inv_delta(&socket)), (cwnd, 20_000), "RTT {rtt_us}");
    }
}

#[test]
fn the_delay_is_that_of_half_a_smoothed_rtt_or_of_the_latest_sample() {
    for (delay_source, cwnd) in [(0, 101), (1, 98)] {
        let mut socket = steady(100);
        socket.set_tunable("delay_source", delay_source).expect("a tunable");
        // The 40 ms sample is 15 ms old: still standing.
        socket.advance_us(15_000);
        ack(&mut socket, 50_000, 51, false);
        assert_eq!(socket.cwnd(), cwnd);
    }
}

#[test]
fn rtt_min_holds_for_ten_seconds() {
    let mut socket = steady(100);
    let min = |socket: &Socket| socket.trace().expect("published").min_rtt_us;
    for step in 0..99 {
        socket.advance_us(100_000);
        ack(&mut socket, 50_000, 0, false);
        assert_eq!(min(&socket), 40_000, "step {step}");
    }
    socket.advance_us(200_000);
    ack(&mut socket, 50_000, 0, false);
    assert_eq!(min(&socket), 50_000);
}

#[test]
fn velocity_doubles_after_three_round_trips_in_one_direction_and_falls_to_one_on_a_turn() {
    let mut socket = steady(1000);
    socket.set_tunable("reset_on_reversal", 0).expect("a tunable");
    ack(&mut socket, RTT_US, 500, true);
    assert_eq!((velocity(&socket), socket.cwnd()), (1, 1000));
    // The first ACK of a round trip judges the one before. The fourth finds three in the same direction.
    for expected in [1, 1, 2, 4, 8] {
        ack(&mut socket, RTT_US, 600, true);
        assert_eq!(velocity(&socket), expected);
    }
    // Down: with v still 8 to the end of the round trip, 16 packets per window, then with v = 1.
    socket.advance_us(25_000);
    let before = socket.cwnd();
    ack(&mut socket, 60_000, before, false);
    assert_eq!((socket.cwnd(), velocity(&socket)), (before - 16, 8));
    ack(&mut socket, 60_000, 100, true);
    assert_eq!(velocity(&socket), -1);
}

#[test]
fn velocity_can_fall_at_once_and_can_be_switched_off() {
    let run = |name: &str, raw: i64| {
        let mut socket = steady(1000);
        socket.set_tunable(name, raw).expect("a tunable");
        for _ in 0..6 {
            ack(&mut socket, RTT_US, 600, true);
        }
        let up = velocity(&socket);
        socket.advance_us(25_000);
        let before = socket.cwnd();
        ack(&mut socket, 60_000, before, false);
        (up, before - socket.cwnd())
    };
    assert_eq!(run("reset_on_reversal", 0), (8, 16));
    assert_eq!(run("reset_on_reversal", 1), (8, 2));
    assert_eq!(run("velocity_rtts", 0), (1, 2));
}

#[test]
fn no_round_trip_more_than_doubles_the_window() {
    let mut socket = steady(6);
    for _ in 0..20 {
        let before = socket.cwnd();
        ack(&mut socket, RTT_US, before, true);
        assert!(socket.cwnd() <= 2 * before, "{before} to {}", socket.cwnd());
    }
    assert!(socket.cwnd() > 1000);
}

#[test]
fn without_an_empty_queue_in_five_round_trips_it_competes() {
    let mut socket = steady(100);
    // RTTmax 60 ms: nearly empty is d_q below 2 ms.
    for step in 1..=20 {
        socket.advance_us(10_000);
        ack(&mut socket, if step % 2 == 0 { 60_000 } else { 45_000 }, 0, false);
        // The sample of 40 ms stands for 20 ms. Five round trips of 40 ms later the time is up.
        assert_eq!(mode(&socket), DEFAULT, "step {step}");
    }
    for _ in 0..3 {
        socket.advance_us(10_000);
        ack(&mut socket, 45_000, 0, false);
    }
    assert_eq!(mode(&socket), COMPETITIVE);
    for (rtt_us, expected) in [(42_000, COMPETITIVE), (41_999, DEFAULT)] {
        socket.advance_us(10_000);
        ack(&mut socket, 60_000, 0, false);
        socket.advance_us(21_000);
        ack(&mut socket, rtt_us, 0, false);
        assert_eq!(mode(&socket), expected, "RTT {rtt_us}");
    }
    let mut never = steady(100);
    never.set_tunable("mode_switch", 0).expect("a tunable");
    for _ in 0..100 {
        never.advance_us(10_000);
        ack(&mut never, 60_000, 0, false);
    }
    assert_eq!(mode(&never), DEFAULT);
}

fn competing() -> Socket {
    let mut socket = steady(100);
    for _ in 0..30 {
        socket.advance_us(10_000);
        ack(&mut socket, 60_000, 0, false);
    }
    assert_eq!((mode(&socket), inv_delta(&socket)), (COMPETITIVE, 2000));
    socket
}

#[test]
fn in_competition_one_over_delta_grows_by_one_per_round_trip_and_a_loss_halves_it() {
    let mut socket = competing();
    // The first one ends the round trip in which nothing was limited before.
    for expected in [3000, 4000, 5000, 6000, 7000] {
        ack(&mut socket, 60_000, 10, true);
        assert_eq!(inv_delta(&socket), expected);
    }
    socket.ssthresh();
    socket.set_state(CA_RECOVERY);
    ack(&mut socket, 60_000, 10, false);
    assert_eq!(inv_delta(&socket), 3500);
    // The round trip of the loss adds nothing.
    ack(&mut socket, 60_000, 10, true);
    assert_eq!(inv_delta(&socket), 3500);
    ack(&mut socket, 60_000, 10, true);
    assert_eq!(inv_delta(&socket), 4500);
    // Undone: the larger of the two.
    let cwnd = socket.cwnd();
    assert_eq!(socket.undo_cwnd(), cwnd);
    ack(&mut socket, 60_000, 0, false);
    assert_eq!(inv_delta(&socket), 7000);
    for _ in 0..5 {
        socket.ssthresh();
    }
    ack(&mut socket, 60_000, 0, false);
    assert_eq!(inv_delta(&socket), 2000);
}

#[test]
fn in_the_default_mode_a_loss_changes_nothing() {
    let mut socket = steady(100);
    socket.tp_mut().prior_cwnd = 100;
    socket.ssthresh();
    socket.set_state(CA_RECOVERY);
    ack(&mut socket, RTT_US, 51, false);
    assert_eq!((socket.cwnd(), inv_delta(&socket)), (101, 2000));
    socket.set_state(CA_OPEN);
    socket.tp_mut().snd_cwnd = 90;
    assert_eq!(socket.undo_cwnd(), 90);
}

#[test]
fn a_timeout_leaves_four_packets_without_slow_start_and_can_be_undone() {
    for from_slow_start in [false, true] {
        let mut socket = if from_slow_start { starting() } else { steady(100) };
        socket.tp_mut().snd_cwnd = 100;
        socket.ssthresh();
        socket.tp_mut().snd_cwnd = 1;
        socket.set_state(CA_LOSS);
        assert_eq!(socket.cwnd(), 4);
        assert_eq!(socket.undo_cwnd(), 100);
        ack(&mut socket, RTT_US, 4, true);
        // v / delta = 2 packets per window, not a doubling.
        assert_eq!((mode(&socket), socket.cwnd(), velocity(&socket)), (DEFAULT, 6, 1));
    }
}

#[test]
fn an_unused_window_does_not_grow_but_shrinks_and_has_no_direction() {
    let mut socket = steady(100);
    for _ in 0..6 {
        ack(&mut socket, RTT_US, 60, true);
    }
    assert_eq!(velocity(&socket), 8);
    let cwnd = socket.cwnd();
    socket.tp_mut().set_cwnd_limited(false);
    ack(&mut socket, RTT_US, 60, true);
    ack(&mut socket, RTT_US, 60, true);
    assert_eq!((velocity(&socket), socket.cwnd()), (1, cwnd));
    socket.advance_us(25_000);
    ack(&mut socket, 60_000, 60, false);
    assert!(socket.cwnd() < cwnd);
}

#[test]
fn it_paces_at_twice_the_window_per_standing_rtt() {
    let mut socket = steady(100);
    assert_eq!(socket.tp().inet_conn.sk.sk_pacing_status, 1);
    // 2 * 100 * 1448 bytes / 40 ms
    assert_eq!(socket.pacing_rate(), 7_240_000);
    socket.tp_mut().inet_conn.sk.sk_max_pacing_rate = 1_000_000;
    ack(&mut socket, RTT_US, 0, false);
    assert_eq!(socket.pacing_rate(), 1_000_000);
    let mut with_fq = established("copa");
    with_fq.tp_mut().inet_conn.sk.sk_pacing_status = 2;
    with_fq.init();
    assert_eq!(with_fq.tp().inet_conn.sk.sk_pacing_status, 2);
}

#[test]
fn after_an_idle_period_it_is_not_in_competition() {
    let mut socket = competing();
    socket.advance_us(5_000_000);
    socket.cwnd_event(EVENT_TX_START);
    ack(&mut socket, 60_000, 0, false);
    assert_eq!((mode(&socket), inv_delta(&socket), velocity(&socket)), (DEFAULT, 2000, 1));
}

#[test]
fn without_memory_it_is_reno() {
    let mut socket = Socket::checked("copa").expect("copa exists");
    socket.fail_storage(true);
    socket.init();
    socket.tp_mut().set_cwnd_limited(true);
    socket.tp_mut().snd_ssthresh = 10;
    ack(&mut socket, RTT_US, 10, true);
    assert_eq!((socket.cwnd(), socket.tp().inet_conn.sk.sk_pacing_status), (11, 0));
    assert_eq!(socket.ssthresh(), 5);
    socket.set_state(CA_RECOVERY);
    socket.tp_mut().snd_ssthresh = 5;
    socket.tp_mut().packets_out = 4;
    ack(&mut socket, RTT_US, 1, false);
    assert_eq!(socket.cwnd(), 5);
}

/// What a flow does once it has settled.
struct Settled {
    /// Mean and largest queue in packets, the packet in transmission not counted.
    queue_pkts: (f64, f64),
    /// Share of the link in use.
    used: f64,
    /// Share of ACKs in the competitive mode.
    competing: f64,
    /// Longest time between two nearly empty queues, in RTTs.
    longest_full_rtts: u64,
}

fn settled(tunables: &[(&str, i64)], link: Link) -> Settled {
    let mut socket = established("copa");
    for &(name, raw) in tunables {
        socket.set_tunable(name, raw).expect("a tunable");
    }
    let service_us = 12_000_000_000 / link.rate_bps;
    let in_packets = |rtt_us: f64| (rtt_us - link.base_rtt_us as f64) / service_us as f64 - 1.0;
    let mut flow = Flow::new(socket, link, 1);
    flow.run_for_us(5_000_000, |_| {});
    let (start, mut empty_us) = (flow.stats(), flow.socket.time_us());
    let (mut competing, mut acks, mut largest_us, mut longest_us) = (0.0, 0.0, 0, 0);
    flow.run_for_us(20_000_000, |flow| {
        competing += f64::from(u8::from(mode(&flow.socket) == COMPETITIVE));
        acks += 1.0;
        let rtt_us = flow.socket.tp().rack.rtt_us;
        largest_us = largest_us.max(rtt_us);
        if in_packets(f64::from(rtt_us)) < 1.0 {
            empty_us = flow.socket.time_us();
        }
        longest_us = longest_us.max(flow.socket.time_us() - empty_us);
    });
    let stats = flow.stats().since(&start);
    assert_eq!(stats.lost_pkts, 0);
    let mean_us = stats.rtt_sum_us as f64 / stats.rtt_samples as f64;
    Settled {
        queue_pkts: (in_packets(mean_us), in_packets(f64::from(largest_us))),
        used: (stats.delivered_pkts * service_us) as f64 / 20e6,
        competing: competing / acks,
        longest_full_rtts: longest_us / link.base_rtt_us,
    }
}

#[test]
fn the_queue_swings_between_nothing_and_five_packets_every_five_round_trips() {
    for (mbps, base_rtt_us) in [(50, 40_000), (10, 20_000), (100, 10_000), (100, 20_000), (200, 5000)] {
        let path = Link { rate_bps: mbps * 1_000_000, base_rtt_us, buffer_pkts: 0, loss_ppm: 0 };
        let Settled { queue_pkts, used, competing, longest_full_rtts } = settled(&[], path.with_buffer_milli_bdp(8000));
        eprintln!(
            "{mbps} Mbit/s, {base_rtt_us} us: {queue_pkts:.2?} packets, used {used:.3}, {longest_full_rtts} RTTs"
        );
        // Section 3: from 0 to 2.5 / delta packets, 1.25 / delta on average.
        assert!((2.0..3.0).contains(&queue_pkts.0) && queue_pkts.1 < 5.5, "{queue_pkts:?}");
        assert!(used > 0.985, "{used}");
        assert!(competing == 0.0 && longest_full_rtts <= 5, "{competing}, {longest_full_rtts} RTTs");
    }
}

#[test]
fn the_queue_is_in_proportion_to_one_over_delta() {
    for (delta, formula) in [(500, 2.5), (100, 12.5), (50, 25.0)] {
        let found = settled(&[("delta", delta), ("mode_switch", 0)], link(8000));
        eprintln!("delta 0.{delta:03}: {:.2?} packets, formula {formula}", found.queue_pkts);
        assert!((found.queue_pkts.0 / formula - 1.0).abs() < 0.15, "delta {delta}: {:?}", found.queue_pkts);
        assert!(found.queue_pkts.1 < 2.2 * formula && found.used > 0.985, "{:?}, {}", found.queue_pkts, found.used);
    }
}

#[test]
fn to_the_letter_a_large_velocity_outlives_the_turn_and_the_flow_does_not_settle() {
    let literal = settled(&[("reset_on_reversal", 0)], link(8000));
    eprintln!("{:.2?} packets, used {:.3}", literal.queue_pkts, literal.used);
    assert!(literal.used < 0.5 && literal.queue_pkts.1 > 50.0);
}

#[test]
fn random_loss_of_a_percent_costs_next_to_nothing() {
    let mut path = link(8000);
    path.loss_ppm = 10_000;
    let mut flow = Flow::new(established("copa"), path, 7);
    flow.run_for_us(20_000_000, |_| {});
    let stats = flow.stats();
    let ideal = 20 * path.rate_bps / 8 / 1500;
    eprintln!("{stats:?} of {ideal}");
    assert!(stats.lost_pkts > 500 && stats.delivered_pkts * 100 > ideal * 95, "{stats:?} of {ideal}");
}

#[test]
fn in_a_queue_that_others_keep_full_it_competes_and_it_stops_when_they_have_gone() {
    let mut flow = Flow::new(established("copa"), link(8000), 1);
    flow.run_for_us(5_000_000, |_| {});
    let alone = flow.socket.cwnd();
    // A queue of 40 ms that is not ours: what 1 / delta = 2 aims at would be 4 packets per 80 ms.
    flow.link.base_rtt_us = 80_000;
    flow.link.rate_bps = 25_000_000;
    flow.run_for_us(5_000_000, |_| {});
    assert_eq!(mode(&flow.socket), COMPETITIVE);
    assert!(inv_delta(&flow.socket) > 10_000, "{}", inv_delta(&flow.socket));
    flow.link.base_rtt_us = 40_000;
    flow.link.rate_bps = 50_000_000;
    flow.run_for_us(20_000_000, |_| {});
    let trace = flow.socket.trace().expect("published");
    eprintln!("{alone} and then {}, {trace:?}", flow.socket.cwnd());
    assert_eq!((trace.mode, trace.v1), (DEFAULT, 2000));
}
