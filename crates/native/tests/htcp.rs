//! H-TCP against hand-worked vectors. HZ is 250, a jiffy 4 ms. Trace: v0 = alpha, v1 = beta, in thousandths.

mod common;
mod loss_driver;

use ccactl_native::path::Flow;
use ccactl_native::{AckSample, CA_DISORDER, CA_LOSS, CA_OPEN, CA_RECOVERY, Socket};
use common::{established, link, rtt};
use loss_driver::{run_and_watch_cuts, share_milli};

const SLOW_START: u32 = 0;
const LOW_SPEED: u32 = 1;
const HIGH_SPEED: u32 = 2;

fn avoiding(cwnd: u32) -> Socket {
    loss_driver::avoiding(established("htcp"), cwnd)
}

fn acked(socket: &mut Socket, pkts_acked: u32, rtt_us: i32) {
    socket.pkts_acked(&AckSample { pkts_acked, rtt_us, in_flight: 0 });
}

/// Makes the window grow by a packet, after which alpha is computed anew.
fn grow_once(socket: &mut Socket) {
    let cwnd = socket.cwnd();
    socket.tp_mut().snd_cwnd_cnt = 1000 * cwnd;
    socket.cong_avoid(0, 1);
    assert_eq!((socket.cwnd(), socket.tp().snd_cwnd_cnt), (cwnd + 1, 0));
}

fn alpha(socket: &mut Socket) -> i64 {
    grow_once(socket);
    socket.trace().expect("published").v0
}

/// Threshold of a loss at 1000 packets, and a recovery.
fn lose(socket: &mut Socket) -> u32 {
    socket.tp_mut().snd_cwnd = 1000;
    let ssthresh = socket.ssthresh();
    socket.set_state(CA_RECOVERY);
    socket.set_state(CA_OPEN);
    ssthresh
}

#[test]
fn right_after_a_loss_the_window_grows_by_one_packet_per_window() {
    let mut socket = avoiding(100);
    // Each call counts one packet; the call after the hundredth finds 100 · 1.0 ≥ 100.
    for _ in 0..100 {
        socket.cong_avoid(0, 1);
    }
    assert_eq!((socket.cwnd(), socket.tp().snd_cwnd_cnt), (100, 100));
    socket.cong_avoid(0, 1);
    assert_eq!((socket.cwnd(), socket.tp().snd_cwnd_cnt), (101, 0));
}

#[test]
fn an_ack_counts_by_the_packets_that_the_last_sample_covered_once() {
    let mut socket = avoiding(100);
    acked(&mut socket, 40, 40_000);
    socket.cong_avoid(0, 40);
    socket.cong_avoid(0, 40);
    assert_eq!(socket.tp().snd_cwnd_cnt, 41);
    // Only samples of the open state set the number.
    socket.set_state(CA_DISORDER);
    acked(&mut socket, 40, 40_000);
    socket.cong_avoid(0, 40);
    assert_eq!(socket.tp().snd_cwnd_cnt, 42);
}

#[test]
fn alpha_grows_with_the_square_of_the_time_since_the_loss() {
    // Without RTT scaling: f(D) = 1 + 10 (D - 1) + ((D - 1) / 2)², alpha = 2 (1 - 1/2) f.
    for (seconds, f) in [(1, 1), (2, 1 + 10), (3, 1 + 20 + 1), (5, 1 + 40 + 4), (21, 1 + 200 + 100)] {
        let mut socket = avoiding(1000);
        socket.set_tunable("use_rtt_scaling", 0).expect("a tunable");
        socket.advance_us(seconds * 1_000_000);
        assert_eq!(alpha(&mut socket), f * 1000, "{seconds} s");
    }
}

#[test]
fn alpha_is_scaled_by_the_rtt_between_a_tenth_and_twice() {
    let scaled = |rtt_us, seconds: u64| {
        let mut socket = avoiding(1000);
        rtt(&mut socket, rtt_us);
        socket.advance_us(seconds * 1_000_000);
        alpha(&mut socket)
    };
    // f(3 s) = 22. 40 ms = 10 jiffies: scale 2000 / 100 = 20 eighths, 176 / 20 = 8.
    assert_eq!(scaled(40_000, 3), 8000);
    // 200 ms = 50 jiffies: scale 4, 176 / 4 = 44. 400 ms: the scale stays 4.
    assert_eq!(scaled(200_000, 3), 44_000);
    assert_eq!(scaled(400_000, 3), 44_000);
    // 4 ms, one jiffy: 200 is cut to 80, 176 / 80 = 2.
    assert_eq!(scaled(4000, 3), 2000);
    // At least 1: 8 / 20 = 0.
    assert_eq!(scaled(40_000, 0), 1000);
    // Reno's phase is scaled as well: 8 / 4 = 2.
    assert_eq!(scaled(200_000, 0), 2000);
}

#[test]
fn the_first_loss_halves_and_a_later_one_leaves_the_share_of_the_smallest_rtt() {
    let mut socket = avoiding(1000);
    rtt(&mut socket, 40_000);
    assert_eq!(lose(&mut socket), 500);
    // 10 and 15 jiffies: 1280 / 15 = 85; 85 · 1000 / 128 = 664.
    rtt(&mut socket, 60_000);
    assert_eq!(lose(&mut socket), 664);
    // RTTmax has faded to 10 + 5 · 95 / 100 = 14: 1280 / 14 = 91; 710.
    assert_eq!(lose(&mut socket), 710);
}

#[test]
fn beta_lies_between_a_half_and_four_fifths() {
    // RTTs in ms after the first of 40: none = an empty queue, 128 is cut to 102; 25 jiffies = 51 is raised to 64.
    for (rtts, ssthresh) in [(&[][..], 796), (&[60, 80, 100][..], 500)] {
        let mut socket = avoiding(1000);
        rtt(&mut socket, 40_000);
        lose(&mut socket);
        for ms in rtts {
            rtt(&mut socket, ms * 1000);
        }
        assert_eq!(lose(&mut socket), ssthresh);
    }
}

#[test]
fn a_jump_of_the_rtt_is_not_believed_and_only_the_open_state_raises_the_maximum() {
    let left = |state, rtt_us| {
        let mut socket = avoiding(1000);
        rtt(&mut socket, 40_000);
        lose(&mut socket);
        socket.set_state(state);
        rtt(&mut socket, rtt_us);
        socket.set_state(CA_OPEN);
        lose(&mut socket)
    };
    // 20 ms above RTTmax are 5 jiffies: 15 is believed, 16 is not.
    assert_eq!((left(CA_OPEN, 60_000), left(CA_OPEN, 64_000)), (664, 796));
    assert_eq!(left(CA_DISORDER, 60_000), 796);
}

#[test]
fn on_a_short_path_every_loss_halves() {
    // 10 ms are 3 jiffies; the adaptive share needs more.
    for (rtt_us, ssthresh) in [(12_000, 500), (13_000, 796)] {
        let mut socket = avoiding(1000);
        rtt(&mut socket, rtt_us);
        lose(&mut socket);
        assert_eq!(lose(&mut socket), ssthresh, "RTT {rtt_us}");
    }
}

/// Lets the first rounds after a recovery measure so many packets in 10 jiffies = 40 ms, that is 25 times as many per
/// second.
fn measure(socket: &mut Socket, pkts: u32) {
    socket.tp_mut().snd_cwnd = 10;
    socket.set_state(CA_RECOVERY);
    acked(socket, 1, -1);
    socket.set_state(CA_OPEN);
    socket.advance_us(40_000);
    acked(socket, pkts, 40_000);
}

#[test]
fn the_bandwidth_is_averaged_after_three_rounds() {
    let mut socket = avoiding(10);
    measure(&mut socket, 100);
    grow_once(&mut socket);
    assert_eq!(socket.trace().map(|trace| trace.bw_bps), Some(2500 * 1448 * 8));
    // 40 jiffies later: 200 · 250 / 40 = 1250; (3 · 2500 + 1250) / 4 = 2187.
    socket.advance_us(160_000);
    acked(&mut socket, 200, 40_000);
    grow_once(&mut socket);
    assert_eq!(socket.trace().map(|trace| trace.bw_bps), Some(2187 * 1448 * 8));
}

#[test]
fn a_sample_takes_a_window_less_its_growth_and_an_rtt() {
    let mut socket = avoiding(10);
    measure(&mut socket, 100);
    let bw = |socket: &mut Socket| {
        socket.cong_avoid(0, 0);
        socket.trace().expect("published").bw_bps / 1448 / 8
    };
    socket.tp_mut().snd_cwnd = 101;
    socket.advance_us(40_000);
    acked(&mut socket, 99, 40_000);
    assert_eq!(bw(&mut socket), 2500, "99 packets are less than 101 - 1");
    acked(&mut socket, 1, 40_000);
    assert_eq!(bw(&mut socket), 2500, "100 in 10 jiffies");
    socket.advance_us(36_000);
    acked(&mut socket, 400, 40_000);
    assert_eq!(bw(&mut socket), 2500, "9 jiffies are less than an RTT");
    socket.advance_us(4000);
    acked(&mut socket, 100, 40_000);
    assert_eq!(bw(&mut socket), 12_500, "500 in 10 jiffies, still within three rounds");
}

#[test]
fn a_bandwidth_that_has_changed_by_more_than_a_fifth_halves_the_window() {
    for (pkts, ssthresh) in [(100, 796), (120, 796), (121, 500), (80, 796), (79, 500)] {
        let mut socket = avoiding(10);
        measure(&mut socket, 100);
        assert_eq!(lose(&mut socket), 500, "nothing to compare with");
        assert_eq!(lose(&mut socket), 500, "stable for the first time");
        measure(&mut socket, pkts);
        assert_eq!(lose(&mut socket), ssthresh, "{pkts} after 100");
    }
    // Without the switch the bandwidth does not matter.
    let mut socket = avoiding(10);
    socket.set_tunable("use_bandwidth_switch", 0).expect("a tunable");
    measure(&mut socket, 100);
    lose(&mut socket);
    measure(&mut socket, 10);
    assert_eq!(lose(&mut socket), 796);
}

#[test]
fn a_smaller_reduction_grows_more_slowly() {
    let mut socket = avoiding(1000);
    socket.set_tunable("use_rtt_scaling", 0).expect("a tunable");
    rtt(&mut socket, 40_000);
    lose(&mut socket);
    assert_eq!(lose(&mut socket), 796); // beta 102/128
    // 2 · 26 / 128 = 0.406
    assert_eq!((alpha(&mut socket), socket.trace().map(|trace| trace.v1)), (406, Some(796)));
}

#[test]
fn the_clock_starts_anew_when_recovery_ends() {
    let mut socket = avoiding(1000);
    socket.set_tunable("use_rtt_scaling", 0).expect("a tunable");
    socket.advance_us(5_000_000);
    socket.ssthresh();
    socket.set_state(CA_RECOVERY);
    socket.advance_us(2_000_000);
    socket.set_state(CA_OPEN);
    socket.advance_us(2_000_000);
    assert_eq!(alpha(&mut socket), 11_000);
    // A mere disorder does not touch it.
    socket.set_state(CA_DISORDER);
    socket.set_state(CA_OPEN);
    assert_eq!(alpha(&mut socket), 11_000);
}

#[test]
fn an_undone_loss_gives_the_time_since_the_one_before_back() {
    let mut socket = avoiding(1000);
    socket.set_tunable("use_rtt_scaling", 0).expect("a tunable");
    socket.advance_us(3_000_000);
    let ssthresh = socket.ssthresh();
    socket.tp_mut().prior_cwnd = 1000;
    socket.set_state(CA_LOSS);
    socket.tp_mut().snd_cwnd = ssthresh;
    assert_eq!(socket.undo_cwnd(), 1000);
    socket.set_state(CA_OPEN);
    assert_eq!(alpha(&mut socket), 22_000);
}

#[test]
fn slow_start_ends_at_ssthresh_without_counting_the_rest() {
    let mut socket = established("htcp");
    socket.tp_mut().snd_ssthresh = 12;
    socket.cong_avoid(0, 5);
    assert_eq!((socket.cwnd(), socket.tp().snd_cwnd_cnt), (12, 0));
    socket.tp_mut().set_cwnd_limited(false);
    socket.cong_avoid(0, 5);
    assert_eq!(socket.tp().snd_cwnd_cnt, 0);
}

#[test]
fn the_trace_says_which_law_holds() {
    let mut socket = established("htcp");
    let mode = |socket: &mut Socket| {
        socket.cong_avoid(0, 0);
        socket.trace().expect("published").mode
    };
    assert_eq!(mode(&mut socket), SLOW_START);
    socket.tp_mut().snd_ssthresh = 2;
    socket.advance_us(1_000_000);
    assert_eq!(mode(&mut socket), LOW_SPEED);
    socket.advance_us(4000);
    assert_eq!(mode(&mut socket), HIGH_SPEED);
}

/// A buffer of half a BDP: RTTmin / RTTmax is 2/3, so that a loss empties the queue and no more.
#[test]
fn on_a_path_a_loss_leaves_what_fits_without_a_queue() {
    let mut flow = Flow::new(established("htcp"), link(500), 1);
    flow.run_for_us(30_000_000, |_| {});
    let (stats, cuts) = run_and_watch_cuts(&mut flow, 60_000_000);
    assert!(share_milli(&flow, &stats, 60_000_000) >= 990, "{stats:?}");
    let shares: Vec<f64> = cuts.iter().map(|&(cwnd, cut)| f64::from(cut) / f64::from(cwnd)).collect();
    assert!(shares.len() >= 5 && shares.iter().all(|share| (0.49..0.8).contains(share)), "{shares:?}");
    let mean = shares.iter().sum::<f64>() / shares.len() as f64;
    assert!((0.62..0.74).contains(&mean), "{shares:?}");
}
