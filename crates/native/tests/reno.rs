//! Reno against hand-worked vectors.

use ccactl_native::path::{Flow, Link};
use ccactl_native::{CA_OPEN, Socket};

fn established() -> Socket {
    let mut socket = Socket::checked("reno").expect("reno exists");
    socket.init();
    socket.tp_mut().set_cwnd_limited(true);
    socket
}

#[test]
fn slow_start_grows_by_the_packets_acknowledged() {
    let mut socket = established();
    socket.cong_avoid(0, 3);
    socket.cong_avoid(0, 7);
    assert_eq!(socket.cwnd(), 20);
}

#[test]
fn slow_start_ends_at_ssthresh_and_the_rest_counts_for_avoidance() {
    let mut socket = established();
    socket.tp_mut().snd_ssthresh = 12;
    socket.cong_avoid(0, 5);
    assert_eq!((socket.cwnd(), socket.tp().snd_cwnd_cnt), (12, 3));
}

#[test]
fn avoidance_adds_one_packet_per_window() {
    let mut socket = established();
    socket.tp_mut().snd_ssthresh = 10;
    for _ in 0..9 {
        socket.cong_avoid(0, 1);
    }
    assert_eq!(socket.cwnd(), 10);
    socket.cong_avoid(0, 1);
    assert_eq!(socket.cwnd(), 11);
}

#[test]
fn nothing_grows_while_the_application_limits() {
    let mut socket = established();
    socket.tp_mut().set_cwnd_limited(false);
    socket.tp_mut().max_packets_out = 4;
    socket.cong_avoid(0, 5);
    assert_eq!(socket.cwnd(), 10);
}

#[test]
fn loss_halves_and_never_goes_below_two() {
    let mut socket = established();
    for (cwnd, ssthresh) in [(100, 50), (7, 3), (3, 2), (1, 2)] {
        socket.tp_mut().snd_cwnd = cwnd;
        assert_eq!(socket.ssthresh(), ssthresh, "cwnd {cwnd}");
    }
}

#[test]
fn undo_returns_the_larger_of_the_two_windows() {
    let mut socket = established();
    socket.tp_mut().snd_cwnd = 5;
    socket.tp_mut().prior_cwnd = 10;
    assert_eq!(socket.undo_cwnd(), 10);
    socket.tp_mut().snd_cwnd = 15;
    assert_eq!(socket.undo_cwnd(), 15);
}

#[test]
fn the_trace_says_the_phase_and_only_while_somebody_records() {
    let mut socket = established();
    socket.cong_avoid(0, 1);
    assert_eq!(socket.trace(), None);
    socket.record(true);
    socket.cong_avoid(0, 1);
    assert_eq!(socket.trace().map(|trace| (trace.mode, trace.updates)), Some((0, 1)));
    socket.tp_mut().snd_ssthresh = 2;
    socket.cong_avoid(0, 1);
    assert_eq!(socket.trace().map(|trace| (trace.mode, trace.updates)), Some((1, 2)));
}

#[test]
fn a_full_buffer_is_used_by_more_than_ninety_eight_percent() {
    let link =
        Link { rate_bps: 100_000_000, base_rtt_us: 10_000, buffer_pkts: 0, loss_ppm: 0 }.with_buffer_milli_bdp(5000);
    let mut flow = Flow::new(established(), link, 1);
    flow.run_for_us(30_000_000, |_| {});
    let stats = flow.stats();
    let ideal = 30 * link.rate_bps / 8 / 1500;
    assert!(stats.delivered_pkts * 100 > ideal * 98 && stats.delivered_pkts <= ideal, "{stats:?} of {ideal}");
    assert_eq!(stats.timeouts, 0, "{stats:?}");
    assert!(stats.retrans_pkts > 0 && stats.retrans_pkts == stats.lost_pkts, "{stats:?}");
    assert_eq!(flow.socket.tp().ca_state(), CA_OPEN);
}
