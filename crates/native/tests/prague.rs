//! Prague against hand-worked vectors: `net/ipv4/tcp_prague.c` 0.7 of the L4S tree.

mod common;

use ccactl_native::path::Flow;
use ccactl_native::{CA_CWR, CA_OPEN, CA_RECOVERY, EVENT_ECN_IS_CE, EVENT_ECN_NO_CE, EVENT_LOSS, RateSample, Socket};
use common::{established, link};

/// `TCP_ECN_OK` and `TCP_ECN_ACCECN`.
const ECN_OK: u8 = 1;
const ECN_ACCECN: u8 = 16;
const MODE_WINDOW: u32 = 1;
const MODE_RATE: u32 = 2;
const MODE_NO_ECN: u32 = 3;
const MODE_CLASSIC: u32 = 4;

/// Past slow start, with timestamps and an RTT; MTU = 1448 + 20 + 32 = 1500. The first ACK has opened the first round.
fn avoiding(cwnd: u32, rtt_us: u32) -> Socket {
    let mut socket = established("prague");
    let tp = socket.tp_mut();
    tp.ecn_flags = ECN_ACCECN;
    tp.app_limited = 0;
    tp.rx_opt.flags = 2;
    tp.srtt_us = rtt_us << 3;
    tp.snd_cwnd = cwnd;
    tp.snd_ssthresh = cwnd;
    tp.snd_nxt = 1000;
    ack(&mut socket, 0, 0);
    socket
}

fn ack(socket: &mut Socket, acked: u32, marked: u32) {
    let tp = socket.tp_mut();
    tp.delivered += acked;
    tp.delivered_ce += marked;
    socket.cong_control(0, 0, &RateSample { acked_sacked: acked, ..RateSample::default() });
}

/// The ACK that ends the round.
fn round(socket: &mut Socket, acked: u32, marked: u32) {
    let tp = socket.tp_mut();
    tp.snd_una = tp.snd_nxt;
    tp.snd_nxt += 1000;
    ack(socket, acked, marked);
}

fn window_milli(socket: &Socket) -> i64 {
    socket.trace().expect("recorded").v1
}

fn alpha_ppm(socket: &Socket) -> i64 {
    socket.trace().expect("recorded").v0
}

#[test]
fn before_rtt_independence_a_window_of_packets_adds_one() {
    let mut socket = avoiding(100, 10_000);
    assert_eq!(window_milli(&socket), 100_000);
    // 10 of 100: 0.1 packet, rounded to 2^-20; 90 more: 90 / 100.1 = 0.8991.
    ack(&mut socket, 10, 0);
    assert_eq!((window_milli(&socket), socket.cwnd()), (100_100, 101));
    ack(&mut socket, 90, 0);
    assert_eq!((window_milli(&socket), socket.cwnd()), (100_999, 101));
}

#[test]
fn after_four_rounds_growth_is_that_of_an_rtt_of_25_ms() {
    let mut socket = avoiding(100, 10_000);
    // The first round began in `avoiding`; three more make four, and the growth of the next ACK is scaled.
    (0..3).for_each(|_| round(&mut socket, 0, 0));
    // (10 / 25)^2 = 0.16 packets per window of 100: 100 packets add 0.16.
    ack(&mut socket, 100, 0);
    assert_eq!(window_milli(&socket), 100_159);
    // At the target and beyond it is a whole packet: 100 / 100 = 1.
    let mut slow = avoiding(100, 25_000);
    (0..10).for_each(|_| round(&mut slow, 0, 0));
    ack(&mut slow, 100, 0);
    assert_eq!(window_milli(&slow), 101_000);
}

#[test]
fn marked_packets_add_nothing_and_the_first_mark_halves() {
    let mut socket = avoiding(100, 10_000);
    // (100 + 0) / 2 = 50, then the 6 unmarked of 10: 6 / 50 = 0.12. cwnd follows by one packet and takes ssthresh along.
    ack(&mut socket, 10, 4);
    assert_eq!(window_milli(&socket), 50_119);
    assert_eq!((socket.cwnd(), socket.snd_ssthresh()), (99, 99));
    // All marked: nothing.
    ack(&mut socket, 5, 5);
    assert_eq!((window_milli(&socket), socket.cwnd()), (50_119, 98));
}

#[test]
fn alpha_waits_for_the_first_mark_and_then_takes_a_sixteenth_of_the_share_per_round() {
    let mut socket = avoiding(100, 10_000);
    round(&mut socket, 100, 0);
    assert_eq!(alpha_ppm(&socket), 0);
    // F = 20 / 100; alpha = 0 + 0.2 / 16 = 0.0125.
    round(&mut socket, 100, 20);
    assert_eq!(alpha_ppm(&socket), 12_499);
    // 0.0125 * 15/16 + 0.0125 = 0.02421875.
    round(&mut socket, 100, 20);
    assert_eq!(alpha_ppm(&socket), 24_218);
}

#[test]
fn once_independent_alpha_is_updated_no_more_often_than_every_25_ms() {
    let mut socket = avoiding(100, 10_000);
    (0..4).for_each(|_| round(&mut socket, 0, 0));
    socket.advance_us(30_000);
    round(&mut socket, 100, 16);
    // 0.16 / 16, rounded down to 2^-24 and to a millionth.
    assert_eq!(alpha_ppm(&socket), 9_999);
    socket.advance_us(24_999);
    round(&mut socket, 100, 16);
    assert_eq!(alpha_ppm(&socket), 9_999);
    // Both rounds together: 32 of 200. 0.01 * 15/16 + 0.01 = 0.019375.
    socket.advance_us(1);
    round(&mut socket, 100, 16);
    assert_eq!(alpha_ppm(&socket), 19_374);
}

#[test]
fn marks_take_half_of_alpha_off_the_window_once_per_25_ms() {
    let mut socket = avoiding(100, 10_000);
    socket.set_tunable("alpha_from_one", 1).unwrap();
    socket.init();
    ack(&mut socket, 0, 0);
    // alpha = 1: 100 - (100 + 2^-20) / 2 = 50.
    socket.set_state(CA_CWR);
    ack(&mut socket, 0, 0);
    assert_eq!(window_milli(&socket), 50_000);
    socket.set_state(CA_OPEN);
    // Not independent yet: each episode counts.
    socket.set_state(CA_CWR);
    ack(&mut socket, 0, 0);
    assert_eq!(window_milli(&socket), 25_000);
    socket.set_state(CA_OPEN);
    (0..4).for_each(|_| round(&mut socket, 0, 0));
    let before = window_milli(&socket);
    socket.advance_us(24_999);
    socket.set_state(CA_CWR);
    ack(&mut socket, 0, 0);
    assert_eq!(window_milli(&socket), before);
}

#[test]
fn a_large_window_times_alpha_does_not_overflow() {
    let mut socket = avoiding(4_000_000, 10_000);
    socket.set_tunable("alpha_from_one", 1).unwrap();
    socket.init();
    ack(&mut socket, 0, 0);
    socket.set_state(CA_CWR);
    ack(&mut socket, 0, 0);
    assert_eq!(window_milli(&socket), 2_000_000_000);
}

#[test]
fn a_loss_halves_and_stops_growth_until_it_is_repaired() {
    let mut socket = avoiding(100, 10_000);
    socket.set_state(CA_RECOVERY);
    assert_eq!(socket.snd_ssthresh(), 50);
    ack(&mut socket, 40, 0);
    assert_eq!((window_milli(&socket), socket.cwnd()), (50_000, 99));
    socket.set_state(CA_OPEN);
    ack(&mut socket, 50, 0);
    assert_eq!(window_milli(&socket), 51_000);
    // A timeout halves as well; the kernel sets the window to 1, from where it comes back packet by packet.
    socket.cwnd_event(EVENT_LOSS);
    assert_eq!(socket.snd_ssthresh(), 26);
    socket.tp_mut().snd_cwnd = 1;
    ack(&mut socket, 1, 0);
    assert_eq!((window_milli(&socket), socket.cwnd()), (25_500, 2));
}

#[test]
fn undo_returns_to_the_window_and_the_rate_before_the_loss() {
    let mut socket = avoiding(100, 10_000);
    socket.set_state(CA_RECOVERY);
    socket.tp_mut().snd_cwnd = 60;
    assert_eq!(socket.undo_cwnd(), 100);
    ack(&mut socket, 0, 0);
    // Through the rate: 100 * 1500 / 0.01 s = 15 MB/s; times 80000 / 2^23 (the reference's second), by 1500: 95.367.
    assert_eq!(window_milli(&socket), 95_367);
}

#[test]
fn pacing_is_the_window_per_rtt_and_twice_that_in_early_slow_start() {
    let mut socket = avoiding(100, 10_000);
    // 100 * 1500 bytes / 10 ms.
    assert_eq!(socket.pacing_rate(), 15_000_000);
    socket.tp_mut().snd_ssthresh = 1000;
    ack(&mut socket, 0, 0);
    assert_eq!(socket.pacing_rate(), 30_000_000);
    // What is in flight counts when it is more.
    socket.tp_mut().snd_ssthresh = 100;
    socket.tp_mut().packets_out = 120;
    ack(&mut socket, 0, 0);
    assert_eq!(socket.pacing_rate(), 18_000_000);
}

/// At a small window, after a mark, so that there is a queue to be gentle with, and four rounds.
fn keeping_its_rate(cwnd: u32) -> Socket {
    let mut socket = avoiding(cwnd, 10_000);
    ack(&mut socket, 1, 1);
    (0..4).for_each(|_| round(&mut socket, 0, 0));
    socket.advance_us(30_000);
    round(&mut socket, 0, 0);
    assert_eq!(socket.trace().map(|trace| trace.mode), Some(MODE_RATE));
    socket
}

#[test]
fn a_small_window_keeps_the_rate_and_paces_3_percent_above_and_below_it() {
    let mut socket = keeping_its_rate(4);
    ack(&mut socket, 0, 0);
    let high = socket.pacing_rate();
    socket.advance_us(12_500);
    ack(&mut socket, 0, 0);
    let low = socket.pacing_rate();
    // (1 + 4/128) : (1 - 4/128) = 132 : 124.
    assert!((high as i64 * 124 - low as i64 * 132).abs() < 300, "{high} {low}");
    // A large one keeps the window.
    let socket = avoiding(100, 10_000);
    assert_eq!(socket.trace().map(|trace| trace.mode), Some(MODE_WINDOW));
}

/// At less than two packets per round trip pacing holds the second packet back, and cwnd never is what limits. Such a flow
/// must grow all the same, or it stays at the lowest rate for ever.
#[test]
fn a_flow_that_pacing_holds_back_grows_and_one_that_the_application_holds_back_does_not() {
    let small = || {
        let mut socket = keeping_its_rate(2);
        socket.tp_mut().set_cwnd_limited(false);
        socket
    };
    let grown = |socket: &mut Socket| {
        let before = window_milli(socket);
        (0..20).for_each(|_| ack(socket, 1, 0));
        window_milli(socket) - before
    };
    let mut paced = small();
    assert!(grown(&mut paced) > 1000);
    let mut idle = small();
    idle.tp_mut().app_limited = 1;
    assert_eq!(grown(&mut idle), 0);
}

#[test]
fn with_accurate_ecn_the_kernel_echoes_marks() {
    let mut socket = avoiding(10, 10_000);
    socket.cwnd_event(EVENT_ECN_NO_CE);
    socket.tp_mut().inet_conn.icsk_ack_pending = 2;
    socket.cwnd_event(EVENT_ECN_IS_CE);
    assert_eq!((socket.acks_sent().0, socket.tp().ecn_flags), (0, ECN_ACCECN));
}

#[test]
fn classic_ecn_is_no_ecn_unless_it_is_allowed() {
    let mode = |socket: &Socket| socket.trace().map(|trace| trace.mode);
    let mut socket = avoiding(100, 10_000);
    socket.tp_mut().ecn_flags = ECN_OK;
    round(&mut socket, 0, 0);
    assert_eq!(mode(&socket), Some(MODE_NO_ECN));
    socket.set_tunable("classic_ecn", 1).unwrap();
    round(&mut socket, 0, 0);
    assert_eq!(mode(&socket), Some(MODE_WINDOW));
}

#[test]
fn with_classic_ecn_marks_are_echoed_as_in_dctcp() {
    let mut socket = avoiding(10, 10_000);
    socket.set_tunable("classic_ecn", 1).unwrap();
    socket.tp_mut().ecn_flags = ECN_OK;
    socket.tp_mut().rcv_nxt = 500;
    socket.cwnd_event(EVENT_ECN_NO_CE);
    socket.tp_mut().inet_conn.icsk_ack_pending = 2;
    socket.cwnd_event(EVENT_ECN_IS_CE);
    assert_eq!(socket.acks_sent(), (1, 500));
    assert_eq!(socket.tp().ecn_flags, ECN_OK | 4);
}

#[test]
fn without_ecn_it_grows_by_a_packet_per_round_trip_and_says_so() {
    let mut socket = avoiding(100, 10_000);
    socket.tp_mut().ecn_flags = 0;
    (0..10).for_each(|_| round(&mut socket, 0, 0));
    ack(&mut socket, 100, 0);
    assert_eq!(window_milli(&socket), 101_000);
    assert_eq!(socket.trace().map(|trace| trace.mode), Some(MODE_NO_ECN));
}

/// RTTs of 10 and 30 ms in turn over a path of 10 ms, long enough for mean (20 ms) and deviation (10 ms) to settle.
fn in_a_classic_queue() -> Socket {
    let mut socket = avoiding(100, 20_000);
    socket.tp_mut().rtt_min[0].v = 10_000;
    for i in 0..40_000 {
        let rtt_us = if i % 2 == 0 { 10_000 } else { 30_000 };
        socket.cong_control(0, 0, &RateSample { rtt_us, ..RateSample::default() });
    }
    socket
}

#[test]
fn long_and_varying_rtts_raise_the_cut_of_a_mark_to_that_of_cubic() {
    let mode = |socket: &Socket| socket.trace().map(|trace| trace.mode);
    let mut socket = in_a_classic_queue();
    // Per round lg(10 ms / 750 us) / 2 + lg(10 ms / 2 ms) / 2 = 1.868 + 1.161 = 3.03: three rounds make 9.09. Rounds are 25 ms apart.
    for _ in 0..2 {
        socket.advance_us(30_000);
        round(&mut socket, 100, 1);
    }
    assert_eq!(mode(&socket), Some(MODE_WINDOW), "6.06 is not above 8");
    socket.advance_us(30_000);
    round(&mut socket, 100, 1);
    assert_eq!(mode(&socket), Some(MODE_CLASSIC));
    let before = window_milli(&socket);
    socket.set_state(CA_CWR);
    ack(&mut socket, 0, 0);
    // alpha is some thousandths; half of 0.625 goes.
    let left = window_milli(&socket) as f64 / before as f64;
    assert!((left - (1.0 - 0.3125)).abs() < 0.0001, "{left}");
}

#[test]
fn without_the_fallback_or_without_marks_a_classic_queue_changes_nothing() {
    let mode = |socket: &Socket| socket.trace().map(|trace| trace.mode);
    let mut unmarked = in_a_classic_queue();
    (0..20).for_each(|_| round(&mut unmarked, 100, 0));
    assert_eq!(mode(&unmarked), Some(MODE_WINDOW));
    let mut socket = in_a_classic_queue();
    socket.release();
    socket.set_tunable("classic_fallback", 0).unwrap();
    socket.init();
    for _ in 0..20 {
        socket.advance_us(30_000);
        round(&mut socket, 100, 1);
    }
    assert_eq!(mode(&socket), Some(MODE_WINDOW));
}

#[test]
fn a_queue_of_l4s_is_told_from_a_classic_one_on_a_path() {
    // 50 Mbit/s: 4 packets are a millisecond, 100 are 24.
    for (threshold_pkts, expected) in [(4, MODE_WINDOW), (100, MODE_CLASSIC)] {
        let mut flow = Flow::new(established("prague"), link(2000), 1);
        flow.mark_above(threshold_pkts);
        flow.run_for_us(30_000_000, |_| {});
        let mode = flow.socket.trace().map(|trace| trace.mode);
        assert_eq!(mode, Some(expected), "marks above {threshold_pkts} packets");
    }
}

#[test]
fn on_a_path_the_link_is_full_and_the_queue_stays_at_the_threshold() {
    let mut socket = established("prague");
    // 30 packets are 7 ms, which is a classic queue by the fallback's measure.
    socket.release();
    socket.set_tunable("classic_fallback", 0).unwrap();
    socket.init();
    let mut flow = Flow::new(socket, link(2000), 1);
    flow.mark_above(30);
    flow.run_for_us(10_000_000, |_| {});
    let before = flow.stats();
    flow.run_for_us(20_000_000, |_| {});
    let stats = flow.stats().since(&before);
    let ideal = 20 * 50_000_000 / 8 / 1500;
    assert!(stats.delivered_pkts * 100 > ideal * 97, "{stats:?} of {ideal}");
    assert_eq!(stats.lost_pkts, 0);
    assert!((40_000..49_000).contains(&stats.mean_rtt_us()), "{} us", stats.mean_rtt_us());
}
