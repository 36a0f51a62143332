//! TCP-Illinois against the equations of the paper, in the native module's integers.

mod common;

use ccactl_native::path::Flow;
use ccactl_native::{AckSample, CA_LOSS, Socket};
use common::{established, link, rtt};

const SLOW_START: u32 = 0;
const RENO: u32 = 1;
const LOW_DELAY: u32 = 2;
const DELAYED: u32 = 3;

/// In avoidance at this window.
fn avoiding(cwnd: u32) -> Socket {
    let mut socket = established("illinois");
    socket.tp_mut().snd_cwnd = cwnd;
    socket.tp_mut().snd_ssthresh = 2;
    socket
}

/// A round with these RTT samples, ended by an ACK for more than what had been sent when it began.
fn round(socket: &mut Socket, rtts_us: &[i32]) {
    for &sample in rtts_us {
        rtt(socket, sample);
    }
    let acked = socket.tp().snd_nxt + 1;
    socket.tp_mut().snd_nxt += 1_000_000;
    socket.cong_avoid(acked, 1);
}

/// Alpha and beta in thousandths, as published.
fn parameters(socket: &Socket) -> (i64, i64) {
    let trace = socket.trace().expect("published");
    (trace.v0, trace.v1)
}

fn mode(socket: &Socket) -> u32 {
    socket.trace().expect("published").mode
}

#[test]
fn the_first_increase_is_ten_packets_per_rtt() {
    let mut socket = avoiding(100);
    // alpha = 1280/128: 9 packets are worth 90 < 100, 10 are worth 100.
    for acked in 1..=9 {
        rtt(&mut socket, 10_000);
        socket.cong_avoid(0, 1);
        assert_eq!(socket.cwnd(), 100, "after {acked}");
    }
    rtt(&mut socket, 10_000);
    socket.cong_avoid(0, 1);
    assert_eq!((socket.cwnd(), socket.tp().snd_cwnd_cnt), (101, 0));
}

#[test]
fn one_ack_for_many_packets_counts_them_all_but_only_once() {
    let mut socket = avoiding(100);
    socket.pkts_acked(&AckSample { pkts_acked: 25, rtt_us: 10_000, in_flight: 0 });
    // 25 * 10 = 250: two packets more, and the rest of the credit is thrown away.
    socket.cong_avoid(0, 25);
    assert_eq!((socket.cwnd(), socket.tp().snd_cwnd_cnt), (102, 0));
    // Without a new pkts_acked an ACK is worth one packet.
    socket.cong_avoid(0, 25);
    assert_eq!((socket.cwnd(), socket.tp().snd_cwnd_cnt), (102, 1));
}

#[test]
fn in_the_middle_alpha_follows_the_hyperbola_and_beta_the_line() {
    let mut socket = avoiding(100);
    // Base 10 ms, maximum 20 ms, mean 15 ms: dm = 10000, da = 5000, d1 = 100, d2 = 1000, d3 = 8000.
    // alpha = 9900 * 1280 / (9900 + 4900 * 1242 / 38) = 12672000 / (9900 + 160152) = 74 of 128.
    // beta = (8 * 3000 + 32 * 4000) / 7000 = 152000 / 7000 = 21 of 64.
    round(&mut socket, &[10_000, 20_000, 15_000]);
    assert_eq!(parameters(&socket), (74 * 1000 / 128, 21 * 1000 / 64));
    assert_eq!(mode(&socket), DELAYED);
    assert_eq!(socket.trace().map(|trace| trace.min_rtt_us), Some(10_000));
    // 100 - (100 * 21 >> 6) = 100 - 32.
    assert_eq!(socket.ssthresh(), 68);
}

#[test]
fn at_the_ends_alpha_and_beta_take_their_limits() {
    let mut socket = avoiding(100);
    round(&mut socket, &[10_000, 20_000]);
    // Mean 20 ms: da = dm. alpha = 9900 * 1280 / (9900 + 9900 * 1242 / 38) = 12672000 / 333473 = 38: 0.3 rounded down.
    round(&mut socket, &[20_000]);
    assert_eq!(parameters(&socket), (38 * 1000 / 128, 500));
    assert_eq!(socket.ssthresh(), 50);
    // Mean 11 ms: da = d2, still the smallest cut. 100 - (100 * 8 >> 6) = 88.
    round(&mut socket, &[11_000]);
    assert_eq!((parameters(&socket).1, socket.ssthresh()), (125, 88));
    // Mean 18 ms: da = d3, the largest one.
    round(&mut socket, &[18_000]);
    assert_eq!(parameters(&socket).1, 500);
}

#[test]
fn a_constant_rtt_is_low_delay() {
    let mut socket = avoiding(100);
    for _ in 0..3 {
        // dm = 0: da <= d1 and da <= d2, no denominator of zero.
        round(&mut socket, &[10_000, 10_000]);
        assert_eq!((parameters(&socket), mode(&socket)), ((10_000, 125), LOW_DELAY));
    }
}

#[test]
fn after_a_delayed_round_five_good_ones_must_pass() {
    let mut socket = avoiding(100);
    round(&mut socket, &[10_000, 20_000, 15_000]);
    for good in 1..5 {
        round(&mut socket, &[10_000]);
        assert_eq!(parameters(&socket).0, 578, "good round {good}");
    }
    round(&mut socket, &[10_000]);
    assert_eq!(parameters(&socket).0, 10_000);
    // With theta = 1 the first good one is enough.
    let mut eager = avoiding(100);
    eager.set_tunable("theta", 1).expect("a tunable");
    round(&mut eager, &[10_000, 20_000, 15_000]);
    round(&mut eager, &[10_000]);
    assert_eq!(parameters(&eager).0, 10_000);
}

#[test]
fn good_rounds_need_not_be_in_a_row() {
    // As in the native module: a delayed round in between changes alpha and leaves the count.
    let mut socket = avoiding(100);
    round(&mut socket, &[10_000, 20_000, 15_000]);
    for _ in 0..4 {
        round(&mut socket, &[10_000]);
    }
    round(&mut socket, &[15_000]);
    round(&mut socket, &[10_000]);
    assert_eq!(parameters(&socket).0, 10_000);
}

#[test]
fn below_fifteen_packets_it_is_reno() {
    let mut socket = avoiding(14);
    round(&mut socket, &[10_000]);
    assert_eq!((parameters(&socket), mode(&socket)), ((1000, 500), RENO));
    assert_eq!(socket.ssthresh(), 7);
    socket.tp_mut().snd_cwnd = 15;
    round(&mut socket, &[10_000]);
    assert_eq!((parameters(&socket), mode(&socket)), ((10_000, 125), LOW_DELAY));
}

#[test]
fn a_timeout_brings_renos_parameters_and_the_next_round_its_own() {
    let mut socket = avoiding(100);
    round(&mut socket, &[10_000, 20_000, 11_000]);
    socket.set_state(CA_LOSS);
    socket.cong_avoid(0, 1);
    assert_eq!(parameters(&socket), (1000, 500));
    // Base and maximum are remembered: mean 20 ms is the full delay.
    round(&mut socket, &[20_000]);
    assert_eq!(parameters(&socket), (296, 500));
}

#[test]
fn samples_are_cut_to_three_seconds_and_missing_ones_do_not_count() {
    let mut socket = avoiding(100);
    round(&mut socket, &[-1]);
    assert_eq!(parameters(&socket), (10_000, 500), "no sample: nothing is recomputed");
    // 2^31 - 1 us count as 3355443: dm = 3345443, da = (3355443 + 10000) / 2 - 10000 = 1672721, d1 = 33454.
    // alpha = 3311989 * 1280 / (3311989 + 1639267 * 1242 / 38) = 4239345920 / 56890137 = 74.
    round(&mut socket, &[10_000, i32::MAX]);
    assert_eq!(parameters(&socket).0, 578);
}

#[test]
fn slow_start_is_renos_and_the_floor_is_two() {
    let mut socket = established("illinois");
    socket.cong_avoid(0, 5);
    assert_eq!((socket.cwnd(), mode(&socket)), (15, SLOW_START));
    socket.tp_mut().snd_cwnd = 2;
    assert_eq!(socket.ssthresh(), 2);
    socket.tp_mut().prior_cwnd = 40;
    assert_eq!(socket.undo_cwnd(), 40);
}

#[test]
fn nothing_grows_while_the_application_limits() {
    let mut socket = avoiding(100);
    socket.tp_mut().set_cwnd_limited(false);
    for _ in 0..100 {
        rtt(&mut socket, 10_000);
        socket.cong_avoid(0, 1);
    }
    assert_eq!((socket.cwnd(), socket.tp().snd_cwnd_cnt), (100, 0));
}

#[test]
fn on_a_path_it_uses_a_short_buffer_better_than_reno() {
    let delivered = |name: &str| {
        let mut flow = Flow::new(established(name), link(300), 1);
        flow.run_for_us(5_000_000, |_| {});
        let start = flow.stats();
        let (mut low, mut high) = (i64::MAX, 0);
        flow.run_for_us(60_000_000, |flow| {
            if let Some(trace) = flow.socket.trace() {
                (low, high) = (low.min(trace.v0), high.max(trace.v0));
            }
        });
        (flow.stats().since(&start).delivered_pkts, low, high)
    };
    let (reno, ..) = delivered("reno");
    let (illinois, low, high) = delivered("illinois");
    assert!(illinois > reno * 105 / 100, "{illinois} and reno's {reno}");
    // Alpha comes near its lower limit before a loss and returns to the upper one after it.
    assert!(low < 1000 && high == 10_000, "alpha {low} to {high}");
}
