//! BIC against hand-worked vectors. Trace: v0 = Wmax, v1 = cnt, packets acknowledged per packet of growth.

mod common;
mod loss_driver;

use ccactl_native::path::Flow;
use ccactl_native::{AckSample, CA_DISORDER, CA_LOSS, Socket};
use common::{established, link};
use loss_driver::{lose_at, run_and_watch_cuts, share_milli};

const SLOW_START: u32 = 0;
const RENO: u32 = 1;
const LINEAR: u32 = 2;
const SEARCH: u32 = 3;
const PLATEAU: u32 = 4;
const PROBE: u32 = 5;

fn acked(socket: &mut Socket, pkts_acked: u32) {
    socket.pkts_acked(&AckSample { pkts_acked, rtt_us: 10_000, in_flight: 0 });
}

/// Mode and cnt at `cwnd`, the last loss having been at `wmax` (0 = none), with the initial 2 packets per ACK.
fn law(wmax: u32, cwnd: u32) -> (u32, i64) {
    let mut socket = established("bic");
    if wmax > 0 {
        lose_at(&mut socket, wmax);
    }
    socket.tp_mut().snd_ssthresh = 1;
    socket.tp_mut().snd_cwnd = cwnd;
    // Nothing acknowledged: the law is computed, the window stays.
    socket.cong_avoid(0, 0);
    let trace = socket.trace().expect("published");
    assert_eq!((socket.cwnd(), trace.v0), (cwnd, i64::from(wmax)));
    (trace.mode, trace.v1)
}

#[test]
fn a_loss_takes_a_fifth_and_half_of_a_small_window() {
    // 1000 * 819 / 1024 = 799.8; 100: 79.98; 15: 11.997; up to 14 packets half, at least 2.
    for (cwnd, ssthresh) in [(1000, 799), (100, 79), (15, 11), (14, 7), (5, 2), (2, 2), (1, 2)] {
        let mut socket = established("bic");
        socket.tp_mut().snd_cwnd = cwnd;
        assert_eq!(socket.ssthresh(), ssthresh, "cwnd {cwnd}");
    }
}

#[test]
fn far_below_the_last_maximum_the_window_grows_by_sixteen_per_round() {
    // (1000 - 799) / 4 = 50 > 16: 799 / 16 = 49, halved by 2 packets per ACK.
    assert_eq!(law(1000, 799), (LINEAR, 24));
    // The last window with a step above 16: (1000 - 932) / 4 = 17; 932 / 16 = 58.
    assert_eq!(law(1000, 932), (LINEAR, 29));
}

#[test]
fn near_the_last_maximum_it_goes_a_quarter_of_the_way() {
    // Steps 16, 12, 2: 933 / 16 = 58; 950 / 12 = 79; 990 / 2 = 495; each halved.
    assert_eq!(law(1000, 933), (SEARCH, 29));
    assert_eq!(law(1000, 950), (SEARCH, 39));
    assert_eq!(law(1000, 990), (SEARCH, 247));
}

#[test]
fn around_the_last_maximum_it_takes_twenty_rounds_for_four_packets() {
    // cwnd * 20 / 4, halved: 993 * 5 / 2 = 2482; 1000 * 5 / 2; 1003 * 5 / 2 = 2507.
    assert_eq!(law(1000, 993), (PLATEAU, 2482));
    assert_eq!(law(1000, 1000), (PLATEAU, 2500));
    assert_eq!(law(1000, 1003), (PLATEAU, 2507));
}

#[test]
fn above_it_the_search_runs_backwards_and_ends_in_linear_growth() {
    // 3 * cwnd / (cwnd - Wmax), halved: 1004 * 3 / 4 = 753; 1010 * 3 / 10 = 303; 1047 * 3 / 47 = 66.
    assert_eq!(law(1000, 1004), (PROBE, 376));
    assert_eq!(law(1000, 1010), (PROBE, 151));
    assert_eq!(law(1000, 1047), (PROBE, 33));
    // 1048 / 16 = 65
    assert_eq!(law(1000, 1048), (LINEAR, 32));
}

#[test]
fn a_small_window_grows_as_renos_whatever_the_acks_cover() {
    assert_eq!(law(1000, 14), (RENO, 14));
    assert_eq!(law(1000, 1), (RENO, 1));
    assert_eq!(law(1000, 15), (LINEAR, 1)); // 15 / 16 = 0, at least 1
}

#[test]
fn before_the_first_loss_the_window_grows_by_at_least_five_percent_per_round() {
    // 1000 / 16 = 62 is more than 20; 20 / 2 = 10. At 160 packets 16 per round are more than 5 %.
    assert_eq!(law(0, 1000), (LINEAR, 10));
    assert_eq!(law(0, 160), (LINEAR, 5));
}

#[test]
fn growth_counts_packets() {
    let mut socket = established("bic");
    lose_at(&mut socket, 1000);
    // cnt 24 at 799: 23 packets are not enough; the ACK that completes 24 brings the window to 800.
    socket.cong_avoid(0, 23);
    assert_eq!(socket.cwnd(), 799);
    socket.cong_avoid(0, 1);
    assert_eq!(socket.cwnd(), 800);
}

#[test]
fn fast_convergence_remembers_less_than_the_window_of_a_second_loss() {
    // 900 * 1843 / 2048 = 809.9
    for (fast, wmax) in [(1, 809), (0, 900)] {
        let mut socket = established("bic");
        socket.set_tunable("fast_convergence", fast).expect("a tunable");
        lose_at(&mut socket, 1000);
        lose_at(&mut socket, 900);
        socket.cong_avoid(0, 1);
        assert_eq!(socket.trace().map(|trace| trace.v0), Some(wmax));
    }
}

#[test]
fn the_packets_per_ack_are_averaged_in_the_open_state_only() {
    let cnt_after = |state, sizes: &[u32]| {
        let mut socket = established("bic");
        lose_at(&mut socket, 1000);
        socket.set_state(state);
        for &size in sizes {
            acked(&mut socket, size);
        }
        socket.cong_avoid(0, 0);
        socket.trace().expect("published").v1
    };
    // Unscaled 49 at 799 packets. From 32 sixteenths: one ACK of 10 packets adds 10 - 2; 49 * 16 / 40 = 19.
    assert_eq!(cnt_after(0, &[10]), 19);
    assert_eq!(cnt_after(CA_DISORDER, &[10]), 24);
    // ACKs of one packet settle at 31, where the integer average no longer falls: 49 * 16 / 31 = 25.
    assert_eq!(cnt_after(0, &[1; 100]), 25);
    // ACKs of 8 packets at 8 * 16: 49 * 16 / 128 = 6.
    assert_eq!(cnt_after(0, &[8; 100]), 6);
}

#[test]
fn the_law_is_computed_anew_when_the_window_changes_or_after_a_thirty_second_of_a_second() {
    let mut socket = established("bic");
    lose_at(&mut socket, 1000);
    socket.cong_avoid(0, 0);
    for _ in 0..100 {
        acked(&mut socket, 8);
    }
    // HZ / 32 = 7 jiffies of 4 ms.
    socket.advance_us(28_000);
    socket.cong_avoid(0, 0);
    assert_eq!(socket.trace().map(|trace| trace.v1), Some(24));
    socket.advance_us(4000);
    socket.cong_avoid(0, 0);
    assert_eq!(socket.trace().map(|trace| trace.v1), Some(6));
}

#[test]
fn a_timeout_forgets_the_last_maximum() {
    let mut socket = established("bic");
    lose_at(&mut socket, 1000);
    assert_eq!(socket.ssthresh(), 639); // 799 * 819 / 1024 = 639.04
    socket.set_state(CA_LOSS);
    socket.tp_mut().snd_cwnd = 1;
    socket.cong_avoid(0, 1);
    assert_eq!(socket.trace().map(|trace| (trace.mode, trace.v0)), Some((SLOW_START, 0)));
}

#[test]
fn undo_returns_the_larger_window() {
    let mut socket = established("bic");
    socket.tp_mut().prior_cwnd = 1000;
    socket.tp_mut().snd_cwnd = 799;
    assert_eq!(socket.undo_cwnd(), 1000);
}

#[test]
fn nothing_grows_while_the_application_limits() {
    let mut socket = established("bic");
    lose_at(&mut socket, 1000);
    socket.tp_mut().set_cwnd_limited(false);
    socket.cong_avoid(0, 1000);
    assert_eq!((socket.cwnd(), socket.tp().snd_cwnd_cnt), (799, 0));
}

#[test]
fn initial_ssthresh_ends_slow_start_early() {
    let mut socket = established("bic");
    assert_eq!(socket.snd_ssthresh(), 0x7fff_ffff);
    socket.set_tunable("initial_ssthresh", 100).expect("a tunable");
    socket.init();
    assert_eq!(socket.snd_ssthresh(), 100);
}

#[test]
fn on_a_path_the_window_dwells_at_the_last_maximum() {
    let mut flow = Flow::new(established("bic"), link(1000), 1);
    flow.run_for_us(10_000_000, |_| {});
    let mut modes = [0_u32; 6];
    let (stats, cuts) = {
        let mut watched = Vec::new();
        let result = run_and_watch_cuts(&mut flow, 10_000_000);
        flow.run_for_us(60_000_000, |flow| watched.push(flow.socket.trace().expect("published").mode));
        for mode in watched {
            modes[mode as usize] += 1;
        }
        result
    };
    assert!(share_milli(&flow, &stats, 10_000_000) >= 999, "{stats:?}");
    assert!(cuts.iter().all(|&(cwnd, cut)| cut == cwnd * 819 / 1024), "{cuts:?}");
    assert!(modes[SEARCH as usize] > 0 && modes[PLATEAU as usize] > modes[LINEAR as usize], "{modes:?}");
}
