//! LIA against increases worked out from RFC 6356 by hand, and against Reno on one path.

mod mptcp_driver;

use ccactl_native::CA_OPEN;
use ccactl_native::path::Link;
use mptcp_driver::{
    acks_per_packet, connection, is_reno_on_a_path, is_reno_on_one_path, lose, seen, side_by_side, subflow,
    survives_anything, token,
};

/// sum cwnd / alpha = (10 + 10)^2 / 10 = 40, where Reno needs 10.
#[test]
fn two_equal_paths_grow_a_quarter_as_fast_each() {
    let [mut a, mut b] = connection("lia", [(10, 50_000), (10, 50_000)]);
    assert_eq!(acks_per_packet(&mut a), 40);
    // Now 11 and 10: (11 + 10)^2 / 11 = 40.09.
    assert_eq!(acks_per_packet(&mut b), 40);
    // Two windows of 11: (22)^2 / 11 = 44.
    assert_eq!(acks_per_packet(&mut a), 44);
}

/// alpha is 1 / 2: in four round trips of 100 packets each path grows by one. A Reno flow of both windows grows by one per
/// round trip, after 200, 201 and 202 of the 800 packets.
#[test]
fn equal_paths_together_grow_by_alpha_per_round_trip() {
    let [mut a, mut b] = connection("lia", [(100, 50_000), (100, 50_000)]);
    let mut reno = subflow("reno", 0, 200, 50_000);
    for _ in 0..400 {
        a.cong_avoid(0, 1);
        b.cong_avoid(0, 1);
        reno.cong_avoid(0, 2);
    }
    assert_eq!((a.cwnd(), b.cwnd(), reno.cwnd()), (101, 101, 203));
}

/// max(cwnd / rtt^2) is that of the second path, 20 / 50^2 = 0.008; (10 / 100 + 20 / 50)^2 = 0.25; 0.25 / 0.008 = 31.25.
#[test]
fn unequal_rtts_are_weighed_as_the_rfc_says() {
    let [mut a, mut b] = connection("lia", [(10, 100_000), (20, 50_000)]);
    assert_eq!((acks_per_packet(&mut b), b.cwnd()), (31, 21));
    // Of the first path: max = 21 / 50^2 = 0.0084; (0.1 + 0.42)^2 = 0.2704; 32.19.
    assert_eq!(acks_per_packet(&mut a), 32);
}

/// The best path is chosen by cwnd / rtt^2 and not by the window: 10 / 10^2 = 0.1 beats 90 / 100^2 = 0.009. The total is
/// (10 / 10 + 90 / 100)^2 = 3.61, so a step is 36.1 packets; the second path is bound by its own window.
#[test]
fn no_subflow_grows_faster_than_reno_would() {
    let [mut short, mut long] = connection("lia", [(10, 10_000), (90, 100_000)]);
    assert_eq!(acks_per_packet(&mut short), 36);
    // 11 / 10^2 = 0.11, (1.1 + 0.9)^2 / 0.11 = 36.4 is less than 90.
    assert_eq!(acks_per_packet(&mut long), 90);
}

#[test]
fn a_stretch_ack_counts_what_it_acknowledges() {
    let [mut a, _b] = connection("lia", [(10, 50_000), (10, 50_000)]);
    a.cong_avoid(0, 39);
    assert_eq!(a.cwnd(), 10);
    a.cong_avoid(0, 1);
    assert_eq!(a.cwnd(), 11);
}

#[test]
fn slow_start_is_not_coupled() {
    let [mut a, _b] = connection("lia", [(10, 50_000), (10, 50_000)]);
    a.tp_mut().snd_ssthresh = 14;
    a.cong_avoid(0, 3);
    assert_eq!(a.cwnd(), 13);
    // One of 40 leads to the threshold; the others count for avoidance, where a packet takes (14 + 10)^2 / 14 = 41.1.
    a.cong_avoid(0, 40);
    a.cong_avoid(0, 1);
    assert_eq!(a.cwnd(), 14);
    a.cong_avoid(0, 1);
    assert_eq!(a.cwnd(), 15);
}

#[test]
fn nothing_grows_while_the_application_limits() {
    let [mut a, _b] = connection("lia", [(10, 50_000), (10, 50_000)]);
    a.tp_mut().set_cwnd_limited(false);
    a.cong_avoid(0, 1000);
    assert_eq!(a.cwnd(), 10);
}

/// The window of a reduction is the one that it leads to, from the moment at which it begins.
#[test]
fn a_loss_halves_one_subflow_and_the_others_see_it() {
    let [mut a, mut b] = connection("lia", [(20, 50_000), (10, 50_000)]);
    assert_eq!((lose(&mut a), a.cwnd(), b.cwnd()), (10, 10, 10));
    assert_eq!(acks_per_packet(&mut b), 40);
}

#[test]
fn who_is_released_no_longer_counts() {
    let [mut a, mut b, mut c] = connection("lia", [(10, 50_000), (10, 50_000), (10, 50_000)]);
    assert_eq!((seen(&mut a).0, seen(&mut b).0, seen(&mut c).0), (3, 3, 3));
    b.release();
    assert_eq!((seen(&mut a).0, acks_per_packet(&mut a)), (2, 40));
    drop(c);
    assert_eq!((seen(&mut a).0, acks_per_packet(&mut a)), (1, 11), "alone: Reno at a window of 11");
}

/// The kernel disconnects the first subflow of a connection that lives on: release, the private bytes cleared, set_state.
#[test]
fn before_init_and_after_release_nobody_joins() {
    let [mut a, mut b] = connection("lia", [(10, 50_000), (10, 50_000)]);
    b.release();
    b.set_ca_priv([0; 13]);
    b.set_state(CA_OPEN);
    b.cong_avoid(0, 1);
    assert_eq!(seen(&mut a).0, 1);
    b.init();
    assert_eq!((seen(&mut b).0, seen(&mut a).0), (2, 2));
}

#[test]
fn a_number_that_was_given_up_is_taken_again() {
    let token = token();
    let mut first = subflow("lia", token, 10, 50_000);
    first.cong_avoid(0, 0);
    for _ in 0..100 {
        let mut other = subflow("lia", token, 10, 50_000);
        assert_eq!(seen(&mut other), (2, i64::from(token)));
        other.release();
    }
    assert_eq!(seen(&mut first).0, 1);
}

#[test]
fn other_connections_and_plain_tcp_are_not_seen() {
    let [mut a, _b] = connection("lia", [(10, 50_000), (10, 50_000)]);
    let [mut c] = connection("lia", [(10, 50_000)]);
    let mut plain = subflow("lia", 0, 10, 50_000);
    assert_eq!((seen(&mut a).0, seen(&mut c).0, seen(&mut plain)), (2, 1, (0, 0)));
    assert_eq!((acks_per_packet(&mut c), acks_per_packet(&mut plain)), (10, 10));
}

#[test]
fn the_tenth_subflow_is_uncoupled_and_says_so() {
    let token = token();
    let mut sockets: Vec<_> = (0..10).map(|_| subflow("lia", token, 10, 50_000)).collect();
    let seen: Vec<_> = sockets.iter_mut().map(|socket| seen(socket).0).collect();
    assert_eq!(seen, [1, 2, 3, 4, 5, 6, 7, 8, 9, 0]);
    assert_eq!(acks_per_packet(&mut sockets[9]), 10);
    // (9 * 10)^2 / 10
    assert_eq!(acks_per_packet(&mut sockets[0]), 810);
    drop(sockets.pop());
    let mut next = subflow("lia", token, 10, 50_000);
    assert_eq!(mptcp_driver::seen(&mut next).0, 0, "nine are still there");
}

#[test]
fn without_room_in_the_map_a_subflow_is_uncoupled_and_says_so() {
    let token = token();
    let mut first = subflow("lia", token, 10, 50_000);
    first.cong_avoid(0, 0);
    let mut second = subflow("lia", token, 10, 50_000);
    second.fail_storage(true);
    assert_eq!(seen(&mut second), (0, i64::from(token)));
    assert_eq!((acks_per_packet(&mut second), seen(&mut first).0), (10, 1));
    second.fail_storage(false);
    assert_eq!((seen(&mut second).0, seen(&mut first).0), (2, 2));
}

/// The map of a full host drops what is idle; its owner comes back with its next ACK.
#[test]
fn an_element_that_gave_way_is_made_again() {
    let [mut a, mut b] = connection("lia", [(10, 50_000), (10, 50_000)]);
    a.drop_storage();
    assert_eq!((seen(&mut b).0, seen(&mut a).0, seen(&mut b).0), (1, 2, 2));
}

#[test]
fn a_child_that_inherits_its_listeners_bytes_starts_alone() {
    let [mut a, mut b] = connection("lia", [(10, 50_000), (10, 50_000)]);
    // As if `a` were a listener: its bytes in a socket of another connection, released before its init.
    let mut child = subflow("lia", token(), 10, 50_000);
    child.set_ca_priv(*a.ca_priv());
    child.release();
    assert_eq!((seen(&mut a).0, seen(&mut b).0), (2, 2), "its release took nothing of theirs");
    child.set_ca_priv(*a.ca_priv());
    child.init_inherited();
    assert_eq!(seen(&mut child).0, 1);
}

#[test]
fn another_algorithm_takes_its_place_and_leaves_it() {
    let [mut a, mut b] = connection("lia", [(10, 50_000), (10, 50_000)]);
    b.swap("reno").unwrap();
    assert_eq!(seen(&mut a).0, 1);
    b.swap("lia").unwrap();
    assert_eq!((seen(&mut b).0, seen(&mut a).0), (2, 2));
}

/// Above 4 s all RTTs are counted in a coarser unit, with the same result.
#[test]
fn rtts_of_minutes_keep_their_ratio() {
    let [mut a, _b] = connection("lia", [(10, 100_000_000), (20, 50_000_000)]);
    assert_eq!(acks_per_packet(&mut a), 31);
}

#[test]
fn on_one_path_it_is_reno_ack_by_ack() {
    is_reno_on_one_path("lia");
    is_reno_on_a_path("lia");
}

#[test]
fn no_sequence_of_events_on_three_subflows_leaves_one_without_a_window() {
    survives_anything("lia");
}

fn link(rate_bps: u64, base_rtt_us: u64, loss_ppm: u32) -> Link {
    Link { rate_bps, base_rtt_us, buffer_pkts: 0, loss_ppm }.with_buffer_milli_bdp(1000)
}

/// Goal 3: the path with fifty times the losses carries far less than half, and less than it would uncoupled.
#[test]
fn traffic_moves_away_from_losses() {
    let links = [link(1_000_000_000, 50_000, 200), link(1_000_000_000, 50_000, 10_000)];
    let [good, bad] = side_by_side("lia", links, 60_000_000).map(|stats| stats.delivered_pkts);
    let [_, alone] = side_by_side("reno", links, 60_000_000).map(|stats| stats.delivered_pkts);
    assert!(bad * 5 < good && bad < alone, "{good} on the good path, {bad} on the bad one, {alone} uncoupled");
}

/// Goal 1, with losses that do not depend on the load: as much as one Reno on the better path, within the spread of 10 %.
#[test]
fn two_lossy_paths_carry_as_much_as_reno_on_the_better_one() {
    for loss_ppm in [[500, 500], [300, 3000]] {
        let links = loss_ppm.map(|loss_ppm| link(1_000_000_000, 50_000, loss_ppm));
        let both: u64 = side_by_side("lia", links, 120_000_000).iter().map(|stats| stats.delivered_pkts).sum();
        let [best] = side_by_side("reno", [links[0]], 120_000_000).map(|stats| stats.delivered_pkts);
        let share = both as f64 / best as f64;
        assert!((0.9..1.25).contains(&share), "{loss_ppm:?} ppm: {share:.2} of {best}");
    }
}

/// Where the subflows share nothing, both paths are filled.
#[test]
fn two_paths_of_their_own_are_both_filled() {
    let links = [link(20_000_000, 30_000, 0), link(20_000_000, 60_000, 0)];
    let ideal = 20_000_000 / 8 / 1500 * 30;
    for stats in side_by_side("lia", links, 60_000_000) {
        assert!(stats.delivered_pkts * 100 > ideal * 85, "{stats:?} of {ideal}");
    }
}
