//! ACA-TCP against its equations, and over a path.

mod common;

use ccactl_native::path::{Flow, Link};
use ccactl_native::{AckSample, CA_LOSS, CA_OPEN, CA_RECOVERY, EVENT_LOSS, EVENT_TX_START, Socket};
use common::established;

const START: u32 = 0;
const LINEAR: u32 = 1;
const RESUME: u32 = 2;

const MSS: u32 = 1448;
const RTT_US: u32 = 100_000;

/// With a smoothed RTT of 100 ms and the given weight of the old estimate.
fn with_alpha(alpha_milli: i64) -> Socket {
    let mut socket = established("aca");
    socket.set_tunable("alpha", alpha_milli).expect("a tunable");
    socket.tp_mut().srtt_us = RTT_US << 3;
    socket
}

/// One ACK for so many packets, so long after the last one.
fn ack(socket: &mut Socket, gap_us: u64, pkts: u32) {
    socket.advance_us(gap_us);
    let tp = socket.tp_mut();
    tp.delivered += pkts;
    tp.snd_una += pkts * MSS;
    socket.pkts_acked(&AckSample { pkts_acked: pkts, rtt_us: RTT_US as i32, in_flight: 0 });
    socket.cong_avoid(0, pkts);
}

fn bw_bps(socket: &Socket) -> u64 {
    socket.trace().expect("published").bw_bps
}

fn essthresh(socket: &Socket) -> i64 {
    socket.trace().expect("published").v0
}

fn mode(socket: &Socket) -> u32 {
    socket.trace().expect("published").mode
}

/// Fixed point keeps 2^-20 bytes/µs, 8 bit/s, and at its fixed point (3) stops up to RTT / T of these units below it.
fn near(found: u64, formula: f64) -> bool {
    (found as f64 - formula).abs() < 24.0 + formula * 2e-4
}

#[test]
fn the_first_ack_counts_over_one_rtt_and_the_bound_of_essthresh_holds() {
    let mut socket = with_alpha(500);
    ack(&mut socket, 7, 1);
    // (3) (0 + 1448) / (RTT + RTT) = 0.00724 bytes/us; (4) half of it; (5) 0.25 packets, but at least 2.
    assert!(near(bw_bps(&socket), 28_960.0), "{}", bw_bps(&socket));
    assert_eq!((essthresh(&socket), socket.snd_ssthresh(), mode(&socket)), (2, 2, LINEAR));
    // Linear: one of ten packets of credit.
    assert_eq!((socket.cwnd(), socket.tp().snd_cwnd_cnt), (10, 1));
}

#[test]
fn acks_of_the_same_microsecond_add_their_bytes_over_the_rtt() {
    let mut socket = with_alpha(500);
    ack(&mut socket, 7, 1);
    ack(&mut socket, 0, 10);
    // BW_new = 0.00362 + 10 * 1448 / 100000 = 0.14842; BW = (0.00362 + 0.14842) / 2 = 0.07602 bytes/us.
    assert!(near(bw_bps(&socket), 608_160.0), "{}", bw_bps(&socket));
    // 7602 bytes are 5.25 packets.
    assert_eq!(essthresh(&socket), 5);
}

#[test]
fn alpha_is_the_weight_of_the_old_estimate() {
    // First ACK, 10 packets: BW_new = 14480 / 200000 = 0.0724 bytes/us, of which (4) takes 1 - alpha. Second one, 20
    // packets after 50 ms: BW_new = (BW * 100000 + 28960) / 150000.
    for (alpha, formula_bps) in [
        (0, (0.0724 * 1e5 + 28_960.0) / 1.5e5 * 8e6),
        // BW_1 = 0.0362, BW_new = 0.2172, BW_2 = 0.1267
        (500, 0.1267 * 8e6),
        // BW_1 = 0.25 * 0.0724 = 0.0181, BW_new = 0.205133, BW_2 = 0.75 * 0.0181 + 0.25 * 0.205133
        (750, 0.064_858_3 * 8e6),
    ] {
        let mut socket = with_alpha(alpha);
        ack(&mut socket, 0, 10);
        ack(&mut socket, 50_000, 20);
        assert!(near(bw_bps(&socket), formula_bps), "alpha {alpha}: {}, formula {formula_bps}", bw_bps(&socket));
        assert_eq!(socket.trace().map(|trace| trace.v1), Some(50_000));
    }
}

#[test]
fn evenly_spaced_acks_give_the_window_itself_and_linear_growth() {
    let mut socket = with_alpha(500);
    socket.tp_mut().snd_cwnd = 100;
    socket.tp_mut().snd_cwnd_clamp = 100;
    for _ in 0..2000 {
        ack(&mut socket, 1000, 1);
    }
    // Fixed point of (3): BW = bytes / T = 1.448 bytes/us; (5) 1.448 * 100000 / 1448.
    assert!(near(bw_bps(&socket), 11_584_000.0), "{}", bw_bps(&socket));
    assert_eq!((essthresh(&socket), mode(&socket)), (100, LINEAR));
}

/// At the fixed point of 100 packets per RTT, with alpha 0.
fn at_a_hundred_packets() -> Socket {
    let mut socket = with_alpha(0);
    socket.tp_mut().snd_cwnd = 100;
    socket.tp_mut().snd_cwnd_clamp = 100;
    for _ in 0..2000 {
        ack(&mut socket, 1000, 1);
    }
    assert_eq!(essthresh(&socket), 100);
    socket.tp_mut().snd_cwnd_clamp = u32::MAX;
    socket.tp_mut().snd_cwnd_cnt = 0;
    socket
}

#[test]
fn below_essthresh_the_window_grows_by_the_packets_acknowledged_and_beyond_it_by_one_per_window() {
    let mut socket = at_a_hundred_packets();
    socket.tp_mut().snd_cwnd = 90;
    ack(&mut socket, 1000, 1);
    assert_eq!((socket.cwnd(), mode(&socket)), (91, START));
    socket.tp_mut().snd_cwnd = 98;
    // Twelve packets after 12 ms: the same bandwidth. Two reach essthresh, ten are credit.
    ack(&mut socket, 12_000, 12);
    assert_eq!((socket.cwnd(), socket.tp().snd_cwnd_cnt, mode(&socket)), (100, 10, START));
}

#[test]
fn a_tie_is_linear() {
    let mut socket = at_a_hundred_packets();
    socket.tp_mut().snd_cwnd = 100;
    ack(&mut socket, 1000, 1);
    assert_eq!((socket.cwnd(), socket.tp().snd_cwnd_cnt, mode(&socket)), (100, 1, LINEAR));
}

#[test]
fn a_loss_halves_and_the_way_back_is_exponential_up_to_essthresh() {
    let mut socket = at_a_hundred_packets();
    for (cwnd, half) in [(100, 50), (7, 3), (3, 2), (1, 2)] {
        socket.tp_mut().snd_cwnd = cwnd;
        assert_eq!(socket.ssthresh(), half, "cwnd {cwnd}");
    }
    socket.set_state(CA_RECOVERY);
    socket.tp_mut().snd_ssthresh = 50;
    // The estimator goes on; what PRR works with stays.
    for _ in 0..10 {
        socket.advance_us(1000);
        socket.tp_mut().delivered += 1;
        socket.pkts_acked(&AckSample { pkts_acked: 1, rtt_us: -1, in_flight: 0 });
    }
    assert_eq!((socket.snd_ssthresh(), essthresh(&socket)), (50, 100));
    socket.set_state(CA_OPEN);
    socket.tp_mut().snd_cwnd = 50;
    ack(&mut socket, 1000, 1);
    assert_eq!((socket.snd_ssthresh(), socket.cwnd(), mode(&socket)), (100, 51, RESUME));
}

#[test]
fn recovery_can_be_left_out_of_the_estimate() {
    let mut socket = at_a_hundred_packets();
    socket.set_tunable("sample_in_recovery", 0).expect("a tunable");
    let before = bw_bps(&socket);
    socket.set_state(CA_RECOVERY);
    socket.advance_us(90_000);
    socket.tp_mut().delivered += 1;
    socket.pkts_acked(&AckSample { pkts_acked: 1, rtt_us: -1, in_flight: 0 });
    assert_eq!(bw_bps(&socket), before);
}

#[test]
fn after_a_timeout_the_estimate_stays_and_the_first_ack_counts_over_one_rtt() {
    for (forget, formula) in [
        // (1.448 * 100000 + 1448) / 200000 = 0.73124 bytes/us
        (0, 0.731_24 * 8e6),
        (1, 0.007_24 * 8e6),
    ] {
        let mut socket = at_a_hundred_packets();
        socket.set_tunable("forget_on_timeout", forget).expect("a tunable");
        socket.cwnd_event(EVENT_LOSS);
        socket.set_state(CA_LOSS);
        socket.tp_mut().snd_cwnd = 1;
        ack(&mut socket, 900_000, 1);
        assert!(near(bw_bps(&socket), formula), "{}, formula {formula}", bw_bps(&socket));
        assert_eq!((socket.cwnd(), mode(&socket)), (2, START));
    }
}

#[test]
fn an_idle_period_restarts_the_clock_without_decaying_the_estimate() {
    for (idle_us, decays) in [(50_000, true), (100_001, false), (5_000_000, false)] {
        let mut socket = at_a_hundred_packets();
        let before = bw_bps(&socket);
        socket.advance_us(idle_us);
        socket.cwnd_event(EVENT_TX_START);
        ack(&mut socket, 100_000, 10);
        assert_eq!(bw_bps(&socket) < before, decays, "idle for {idle_us} us");
        // The next gap counts again: (1.448 * 100000 + 1448) / 200000.
        if !decays {
            ack(&mut socket, 100_000, 1);
            assert!(near(bw_bps(&socket), 0.731_24 * 8e6), "{}", bw_bps(&socket));
        }
    }
}

#[test]
fn an_application_that_leaves_the_window_unused_neither_grows_nor_counts() {
    let mut socket = at_a_hundred_packets();
    let before = bw_bps(&socket);
    socket.tp_mut().set_cwnd_limited(false);
    ack(&mut socket, 90_000, 1);
    assert_eq!((bw_bps(&socket), socket.cwnd()), (before, 100));
    // The clock has gone on: this gap is 1 ms, not 91.
    socket.tp_mut().set_cwnd_limited(true);
    ack(&mut socket, 1000, 1);
    assert!(near(bw_bps(&socket), before as f64), "{} and {before}", bw_bps(&socket));
    socket.set_tunable("sample_app_limited", 1).expect("a tunable");
    socket.tp_mut().set_cwnd_limited(false);
    ack(&mut socket, 90_000, 1);
    assert!(bw_bps(&socket) < before * 6 / 10, "{} and {before}", bw_bps(&socket));
}

#[test]
fn bytes_are_those_sacked_or_only_those_of_the_cumulative_ack() {
    for (count_sacked, formula) in [
        // The SACK is an ACK: (1.448 * 100000 + 1448) / 101000 is 1.448 again.
        (1, 1.448 * 8e6),
        // It is none; the next one covers both packets after 2 ms: again the same bandwidth.
        (0, 1.448 * 8e6),
    ] {
        let mut socket = at_a_hundred_packets();
        socket.set_tunable("count_sacked", count_sacked).expect("a tunable");
        socket.advance_us(1000);
        socket.tp_mut().delivered += 1;
        socket.pkts_acked(&AckSample { pkts_acked: 0, rtt_us: -1, in_flight: 0 });
        socket.tp_mut().snd_una += MSS;
        ack(&mut socket, 1000, 1);
        assert!(near(bw_bps(&socket), formula), "{}, formula {formula}", bw_bps(&socket));
        assert_eq!(socket.trace().map(|trace| trace.v1), Some(if count_sacked == 1 { 1000 } else { 2000 }));
    }
}

#[test]
fn below_the_low_window_it_is_reno() {
    let mut socket = with_alpha(500);
    socket.set_tunable("low_window", 38).expect("a tunable");
    socket.tp_mut().snd_cwnd = 20;
    ack(&mut socket, 10, 5);
    // essthresh is at its bound of 2, but Reno has not lost anything yet.
    assert_eq!((essthresh(&socket), socket.cwnd()), (2, 25));
    let ssthresh = socket.ssthresh();
    socket.tp_mut().snd_cwnd = ssthresh;
    ack(&mut socket, 10, 5);
    assert_eq!((socket.snd_ssthresh(), socket.cwnd(), socket.tp().snd_cwnd_cnt), (12, 12, 5));
    socket.tp_mut().snd_cwnd = 38;
    ack(&mut socket, 10, 1);
    assert_eq!((socket.snd_ssthresh(), socket.cwnd()), (essthresh(&socket) as u32, 38));
    // The loss was none: Reno's threshold is again what it was.
    assert_eq!(socket.undo_cwnd(), 38);
    socket.tp_mut().snd_cwnd = 20;
    ack(&mut socket, 10, 1);
    assert_eq!(socket.cwnd(), 21);
}

#[test]
fn undo_returns_the_larger_of_the_two_windows() {
    let mut socket = at_a_hundred_packets();
    socket.tp_mut().snd_cwnd = 50;
    socket.tp_mut().prior_cwnd = 100;
    assert_eq!(socket.undo_cwnd(), 100);
}

/// The paper's shape at a fifth of its rate: 100 ms, a BDP of 1000 packets, a queue of 0.6 BDP.
fn paper_link() -> Link {
    Link { rate_bps: 120_000_000, base_rtt_us: 100_000, buffer_pkts: 600, loss_ppm: 0 }
}

/// Seconds until 95 % of the BDP, largest window and losses of the first 20 s.
fn ramp(alpha_milli: i64, paced: bool) -> (f64, u32, u64) {
    let mut socket = established("aca");
    socket.set_tunable("alpha", alpha_milli).expect("a tunable");
    if paced {
        // As SO_MAX_PACING_RATE leaves it: what the application asked for outlives a change of algorithm.
        let sk = &mut socket.tp_mut().inet_conn.sk;
        sk.sk_pacing_status = 1;
        sk.sk_max_pacing_rate = 125_000_000_000;
    }
    let start_us = socket.time_us();
    let mut flow = Flow::new(socket, paper_link(), 1);
    let (mut reached_us, mut largest) = (None, 0);
    flow.run_for_us(20_000_000, |flow| {
        let cwnd = flow.socket.cwnd();
        largest = largest.max(cwnd);
        if cwnd >= 950 && reached_us.is_none() {
            reached_us = Some(flow.socket.time_us() - start_us);
        }
    });
    let seconds = reached_us.map_or(f64::INFINITY, |us| us as f64 / 1e6);
    (seconds, largest, flow.stats().lost_pkts)
}

#[test]
fn the_start_saturates_just_above_the_bdp_without_a_loss_and_the_later_the_larger_alpha_is() {
    let mut previous = 0.0;
    for (alpha, limit_s) in [(0, 3.0), (500, 6.0), (750, 14.0)] {
        let (seconds, largest, lost) = ramp(alpha, false);
        eprintln!("alpha {alpha}: 95 % of the BDP after {seconds} s, at most {largest}, lost {lost}");
        assert_eq!(lost, 0, "alpha {alpha}");
        assert!(seconds > previous && seconds < limit_s, "alpha {alpha}: {seconds} s");
        assert!((1000..1300).contains(&largest), "alpha {alpha}: {largest}");
        previous = seconds;
    }
}

#[test]
fn a_paced_sender_leaves_no_gaps_and_stays_linear() {
    let (seconds, largest, _) = ramp(500, true);
    eprintln!("paced: {seconds} s, {largest}");
    assert!(seconds.is_infinite() && largest < 500, "{seconds} s, {largest}");
}

#[test]
fn the_estimate_follows_the_available_bandwidth_down() {
    let mut link = Link { rate_bps: 100_000_000, base_rtt_us: 20_000, buffer_pkts: 0, loss_ppm: 0 };
    link = link.with_buffer_milli_bdp(2000);
    let mut flow = Flow::new(established("aca"), link, 1);
    for mbps in [100, 90, 80, 70, 60] {
        flow.link.rate_bps = mbps * 1_000_000;
        flow.run_for_us(8_000_000, |_| {});
        let (mut sum, mut count) = (0, 0);
        flow.run_for_us(2_000_000, |flow| {
            sum += flow.socket.trace().expect("published").bw_bps;
            count += 1;
        });
        let (mean, payload) = (sum / count, mbps * 1_000_000 * u64::from(MSS) / 1500);
        eprintln!("{mbps} Mbit/s: {mean} of {payload}");
        assert!(mean.abs_diff(payload) < payload / 50, "{mbps} Mbit/s: {mean} of {payload}");
    }
}
