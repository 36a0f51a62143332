//! OLIA against increases worked out by hand, and against Reno on one path.

mod mptcp_driver;

use ccactl_native::Socket;
use ccactl_native::path::Link;
use mptcp_driver::{
    acks_per_packet, connection, grows_when_limited_and_alone_in_slow_start, is_reno_on_a_path, is_reno_on_one_path,
    lose, seen, side_by_side, survives_anything,
};

/// Data that is acknowledged without letting the window grow; the others see the new distance since the last loss.
fn acknowledge(socket: &mut Socket, bytes: u64) {
    socket.tp_mut().bytes_acked += bytes;
    socket.cong_avoid(0, 0);
}

/// 16 / (16 + 16)^2 = 1 / 64 per packet acknowledged; no path is better than the widest, for both are the widest.
#[test]
fn equal_paths_have_the_first_term_alone() {
    let [mut a, mut b] = connection("olia", [(16, 50_000), (16, 50_000)]);
    acknowledge(&mut a, 1_000_000);
    assert_eq!(acks_per_packet(&mut a), 64);
    assert_eq!(seen(&mut b).0, 2);
}

/// cwnd / (sum cwnd_k rtt / rtt_k)^2: 16 / (16 + 32 * 100 / 50)^2 = 16 / 6400 and 32 / (32 + 16 * 50 / 100)^2 = 32 / 1600.
#[test]
fn unequal_rtts_are_weighed_as_the_draft_says() {
    let [mut a, mut b] = connection("olia", [(16, 100_000), (32, 50_000)]);
    // The second is the widest, and the best: alpha is 0 on both.
    acknowledge(&mut b, 1_000_000);
    assert_eq!(acks_per_packet(&mut a), 401, "400, and a fraction that is rounded down");
    let [_a, mut b] = connection("olia", [(16, 100_000), (32, 50_000)]);
    acknowledge(&mut b, 1_000_000);
    assert_eq!(acks_per_packet(&mut b), 51);
}

/// The better path is not the widest. n = 2: 16 / 48^2 + 1 / 2 / 16 = 1 / 26.2 on it; 32 / 48^2 - 1 / 2 / 32 = -1 / 576 on
/// the widest.
#[test]
fn windows_move_from_the_widest_to_the_best_path() {
    let [mut better, mut widest] = connection("olia", [(16, 50_000), (32, 50_000)]);
    acknowledge(&mut widest, 100_000);
    acknowledge(&mut better, 1_000_000);
    widest.cong_avoid(0, 0);
    assert_eq!(widest.cwnd(), 32);
    widest.cong_avoid(0, 1);
    assert_eq!(widest.cwnd(), 31, "31 and 575 / 576");
    widest.tp_mut().snd_cwnd = 32;
    widest.cong_avoid(0, 0);
    assert_eq!(acks_per_packet(&mut better), 27);
}

/// The distance counts per RTT^2: four times the bytes at twice the RTT are as good, one byte more per path is better.
#[test]
fn the_best_path_is_the_one_with_the_longest_distance_per_square_of_the_rtt() {
    for (bytes, best) in [(3_000_000, false), (5_000_000, true)] {
        let [mut far, mut near] = connection("olia", [(16, 100_000), (64, 50_000)]);
        acknowledge(&mut near, 1_000_000);
        acknowledge(&mut far, bytes);
        // 16 / (16 + 128)^2 = 1 / 1296, and 1 / 32 on top of it where `far` is the best path.
        let acks = acks_per_packet(&mut far);
        assert_eq!(acks < 100, best, "{bytes}: {acks}");
    }
}

/// Three paths, of which two are the widest: -1 / 3 / 2 on each of these, 1 / 3 on the third.
#[test]
fn several_widest_paths_share_the_loss() {
    let [mut best, mut one, mut two] = connection("olia", [(8, 50_000), (16, 50_000), (16, 50_000)]);
    acknowledge(&mut best, 1_000_000);
    for socket in [&mut one, &mut two] {
        socket.cong_avoid(0, 0);
    }
    // 8 / 40^2 + 1 / 3 / 8 = 0.046667: 21.4
    assert_eq!(acks_per_packet(&mut best), 22);
    let [mut best, mut one, mut two] = connection("olia", [(8, 50_000), (16, 50_000), (16, 50_000)]);
    acknowledge(&mut best, 1_000_000);
    two.cong_avoid(0, 0);
    // 16 / 40^2 - 1 / 3 / 2 / 16 = 0.01 - 0.0104167 < 0
    one.cong_avoid(0, 1);
    assert_eq!(one.cwnd(), 15);
}

/// l is the longer one of the current and the last distance.
#[test]
fn a_loss_does_not_make_a_path_worse_at_once() {
    let [mut a, mut b] = connection("olia", [(16, 50_000), (32, 50_000)]);
    acknowledge(&mut b, 100_000);
    acknowledge(&mut a, 1_000_000);
    lose(&mut a);
    a.tp_mut().snd_cwnd = 16;
    a.cong_avoid(0, 0);
    assert_eq!(acks_per_packet(&mut a), 27, "1 000 000 bytes between the last two losses");
    // Two losses with little between them: now the other path is the better one, and the widest.
    acknowledge(&mut a, 1000);
    lose(&mut a);
    (a.tp_mut().snd_cwnd, a.tp_mut().snd_cwnd_cnt) = (16, 0);
    acknowledge(&mut a, 1000);
    assert!(acks_per_packet(&mut a) > 100);
}

#[test]
fn a_loss_halves_down_to_one_packet_with_several_paths_and_to_two_with_one() {
    let [mut a, _b] = connection("olia", [(16, 50_000), (16, 50_000)]);
    a.cong_avoid(0, 0);
    for (cwnd, ssthresh) in [(17, 8), (3, 1), (2, 1), (1, 1)] {
        a.tp_mut().snd_cwnd = cwnd;
        assert_eq!(a.ssthresh(), ssthresh, "{cwnd}");
    }
    let [mut alone] = connection("olia", [(3, 50_000)]);
    assert_eq!(alone.ssthresh(), 2);
}

#[test]
fn the_window_never_falls_below_one_packet() {
    let [mut better, mut widest] = connection("olia", [(1, 50_000), (2, 50_000)]);
    acknowledge(&mut better, 1_000_000);
    for _ in 0..100 {
        widest.cong_avoid(0, 1);
        assert!(widest.cwnd() >= 1);
    }
}

#[test]
fn nothing_grows_while_the_application_limits_and_slow_start_is_not_coupled() {
    grows_when_limited_and_alone_in_slow_start("olia");
}

#[test]
fn on_one_path_it_is_reno_ack_by_ack() {
    is_reno_on_one_path("olia");
    is_reno_on_a_path("olia");
}

#[test]
fn no_sequence_of_events_on_three_subflows_leaves_one_without_a_window() {
    survives_anything("olia");
}

/// Next to nothing goes over the path with fifty times the losses.
#[test]
fn traffic_moves_away_from_losses() {
    let link = |loss_ppm| {
        Link { rate_bps: 1_000_000_000, base_rtt_us: 50_000, buffer_pkts: 0, loss_ppm }.with_buffer_milli_bdp(1000)
    };
    let [good, bad] = side_by_side("olia", [link(200), link(10_000)], 60_000_000).map(|stats| stats.delivered_pkts);
    assert!(bad * 10 < good, "{good} on the good path, {bad} on the bad one");
}
