//! Scalable TCP against hand-worked vectors: a = 1/100 per acknowledged packet, b = 1/8.

mod common;
mod loss_driver;

use ccactl_native::path::Flow;
use ccactl_native::{CA_LOSS, Socket};
use common::{established, link};
use loss_driver::{run_and_watch_cuts, share_milli};

const SLOW_START: u32 = 0;
const RENO: u32 = 1;
const PROPORTIONAL: u32 = 2;

fn avoiding(cwnd: u32) -> Socket {
    loss_driver::avoiding(established("scalable"), cwnd)
}

#[test]
fn a_large_window_grows_by_one_packet_per_hundred_acknowledged() {
    let mut socket = avoiding(1000);
    for _ in 0..99 {
        socket.cong_avoid(0, 1);
    }
    assert_eq!((socket.cwnd(), socket.tp().snd_cwnd_cnt), (1000, 99));
    socket.cong_avoid(0, 1);
    assert_eq!((socket.cwnd(), socket.tp().snd_cwnd_cnt), (1001, 0));
    // A stretch ACK counts by its packets: 250 = 2 * 100 + 50.
    socket.cong_avoid(0, 250);
    assert_eq!((socket.cwnd(), socket.tp().snd_cwnd_cnt), (1003, 50));
}

#[test]
fn a_window_below_a_hundred_grows_by_one_packet_per_window() {
    let mut socket = avoiding(50);
    socket.cong_avoid(0, 49);
    assert_eq!(socket.cwnd(), 50);
    socket.cong_avoid(0, 1);
    assert_eq!(socket.cwnd(), 51);
    // From 100 on the divisor stays: 100 packets, then 100 again and not 101.
    let mut socket = avoiding(100);
    socket.cong_avoid(0, 100);
    assert_eq!((socket.cwnd(), socket.tp().snd_cwnd_cnt), (101, 0));
    socket.cong_avoid(0, 100);
    assert_eq!((socket.cwnd(), socket.tp().snd_cwnd_cnt), (102, 0));
}

#[test]
fn slow_start_ends_at_ssthresh_and_the_rest_counts_for_avoidance() {
    let mut socket = established("scalable");
    socket.tp_mut().snd_cwnd = 190;
    socket.tp_mut().snd_ssthresh = 200;
    // 10 of 130 reach ssthresh, 120 are left: one packet and 20.
    socket.cong_avoid(0, 130);
    assert_eq!((socket.cwnd(), socket.tp().snd_cwnd_cnt), (201, 20));
}

#[test]
fn nothing_grows_while_the_application_limits() {
    let mut socket = avoiding(1000);
    socket.tp_mut().set_cwnd_limited(false);
    socket.cong_avoid(0, 1000);
    assert_eq!((socket.cwnd(), socket.tp().snd_cwnd_cnt), (1000, 0));
}

#[test]
fn a_loss_takes_an_eighth_rounded_down_and_never_goes_below_two() {
    // 1000 - 125; 100 - 12; 15 - 1; 7 - 0; then the floor.
    for (cwnd, ssthresh) in [(1000, 875), (100, 88), (15, 14), (8, 7), (7, 7), (2, 2), (1, 2)] {
        let mut socket = avoiding(cwnd);
        assert_eq!(socket.ssthresh(), ssthresh, "cwnd {cwnd}");
    }
    // No multiplication, so no window is too large: 2^30 - 2^27.
    assert_eq!(avoiding(1 << 30).ssthresh(), (1 << 30) - (1 << 27));
}

#[test]
fn a_timeout_has_the_same_threshold_and_undo_returns_the_larger_window() {
    let mut socket = avoiding(800);
    assert_eq!(socket.ssthresh(), 700);
    socket.set_state(CA_LOSS);
    socket.tp_mut().prior_cwnd = 800;
    socket.tp_mut().snd_cwnd = 1;
    assert_eq!(socket.undo_cwnd(), 800);
    socket.tp_mut().snd_cwnd = 900;
    assert_eq!(socket.undo_cwnd(), 900);
}

#[test]
fn tunables_set_both_constants() {
    let mut socket = avoiding(1000);
    socket.set_tunable("ai_cnt", 50).expect("a tunable");
    socket.set_tunable("md_shift", 1).expect("a tunable");
    socket.cong_avoid(0, 100);
    assert_eq!(socket.cwnd(), 1002);
    assert_eq!(socket.ssthresh(), 501);
}

#[test]
fn the_trace_says_which_law_holds() {
    let mode = |cwnd, ssthresh| {
        let mut socket = avoiding(cwnd);
        socket.tp_mut().snd_ssthresh = ssthresh;
        socket.cong_avoid(0, 1);
        socket.trace().expect("published").mode
    };
    assert_eq!((mode(10, 100), mode(99, 2), mode(100, 2)), (SLOW_START, RENO, PROPORTIONAL));
}

/// Rounds from 7/8 of a window back to it do not depend on the window: ln(8/7) / ln(1.01) = 13.4.
#[test]
fn recovery_takes_as_many_rounds_for_any_window() {
    for window in [1000, 8000, 64_000, 512_000] {
        let mut socket = avoiding(window);
        let reduced = socket.ssthresh();
        socket.tp_mut().snd_cwnd = reduced;
        let mut rounds = 0;
        while socket.cwnd() < window {
            let acked = socket.cwnd();
            socket.cong_avoid(0, acked);
            rounds += 1;
        }
        assert_eq!(rounds, 14, "window {window}");
    }
}

#[test]
fn on_a_path_every_loss_takes_an_eighth_and_the_link_stays_full() {
    let mut flow = Flow::new(established("scalable"), link(1000), 1);
    flow.run_for_us(5_000_000, |_| {});
    let (stats, cuts) = run_and_watch_cuts(&mut flow, 30_000_000);
    assert!(share_milli(&flow, &stats, 30_000_000) >= 999, "{stats:?}");
    // 14 rounds of 70 to 80 ms and the round of the recovery are 1.1 s.
    assert!((24..=30).contains(&cuts.len()), "{cuts:?}");
    assert!(cuts.iter().all(|&(cwnd, cut)| cut == cwnd - cwnd / 8), "{cuts:?}");
}
