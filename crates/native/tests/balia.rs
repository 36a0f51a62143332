//! BALIA against increases and decreases worked out by hand, and against Reno on one path.

mod mptcp_driver;

use ccactl_native::path::Link;
use mptcp_driver::{
    acks_per_packet, connection, grows_when_limited_and_alone_in_slow_start, is_reno_on_a_path, is_reno_on_one_path,
    lose, side_by_side, survives_anything,
};

/// alpha = 1 and s = 2 on both: 10 * 10 * 2^2 / (2 * 5) = 40.
#[test]
fn equal_paths_grow_as_with_lia() {
    let [mut a, mut b] = connection("balia", [(10, 50_000), (10, 50_000)]);
    assert_eq!(acks_per_packet(&mut a), 40);
    // Now alpha = 11 / 10 and s = 2.1: 10 * 10 * 2.1^2 / (2.1 * 5.1) = 41.2
    assert_eq!(acks_per_packet(&mut b), 41);
}

/// x = 0.1 and 0.4 packets/ms. The slow one has alpha = 4, s = 5: 10 * 10 * 25 / (5 * 8) = 62.5. The fast one has alpha = 1,
/// s = 1.25: 20 * 10 * 1.5625 / (2 * 5) = 31.25.
#[test]
fn increases_depend_on_the_rate_beside_the_fastest() {
    let [mut slow, _fast] = connection("balia", [(10, 100_000), (20, 50_000)]);
    assert_eq!(acks_per_packet(&mut slow), 62);
    let [_slow, mut fast] = connection("balia", [(10, 100_000), (20, 50_000)]);
    assert_eq!(acks_per_packet(&mut fast), 31);
}

/// cwnd / 2 * min(alpha, 1.5): the fastest loses half, one with alpha 1.2 six tenths, all others three quarters.
#[test]
fn decreases_depend_on_the_rate_beside_the_fastest() {
    for (others_cwnd, ssthresh) in [(5, 5), (10, 5), (12, 4), (15, 2), (40, 2)] {
        let [mut a, _b] = connection("balia", [(10, 50_000), (others_cwnd, 50_000)]);
        assert_eq!(lose(&mut a), ssthresh, "beside a window of {others_cwnd}");
    }
}

#[test]
fn a_loss_leaves_one_packet_with_several_paths_and_two_with_one() {
    let [mut a, _b] = connection("balia", [(2, 50_000), (40, 50_000)]);
    assert_eq!(a.ssthresh(), 1);
    let [mut alone] = connection("balia", [(2, 50_000)]);
    assert_eq!(alone.ssthresh(), 2);
}

/// A window of 1 after a timeout, beside one of a million packets: the ratios are cut, and nothing overflows.
#[test]
fn extreme_ratios_are_cut() {
    let [mut a, mut b] = connection("balia", [(1, 4_000_000), (1_000_000, 1)]);
    a.cong_avoid(0, 1_000_000);
    assert!(a.cwnd() >= 1);
    b.cong_avoid(0, 1_000_000);
    let left = (a.cwnd() / 4).max(1);
    assert_eq!((a.ssthresh(), b.cwnd()), (left, 1_000_001), "the fastest hardly notices the other");
}

#[test]
fn nothing_grows_while_the_application_limits_and_slow_start_is_not_coupled() {
    grows_when_limited_and_alone_in_slow_start("balia");
}

#[test]
fn on_one_path_it_is_reno_ack_by_ack() {
    is_reno_on_one_path("balia");
    is_reno_on_a_path("balia");
}

#[test]
fn no_sequence_of_events_on_three_subflows_leaves_one_without_a_window() {
    survives_anything("balia");
}

#[test]
fn traffic_moves_away_from_losses() {
    let link = |loss_ppm| {
        Link { rate_bps: 1_000_000_000, base_rtt_us: 50_000, buffer_pkts: 0, loss_ppm }.with_buffer_milli_bdp(1000)
    };
    let [good, bad] = side_by_side("balia", [link(200), link(10_000)], 60_000_000).map(|stats| stats.delivered_pkts);
    assert!(bad * 5 < good, "{good} on the good path, {bad} on the bad one");
}
