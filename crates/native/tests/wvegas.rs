//! wVegas against hand-worked rounds. The base RTT is 10 000 µs throughout.

mod mptcp_driver;
mod vegas_driver;

use ccactl_native::path::{Flow, Link};
use ccactl_native::{CA_LOSS, CA_OPEN, CA_RECOVERY, EVENT_CWND_RESTART, EVENT_LOSS, Socket};
use mptcp_driver::{side_by_side, survives_anything, token};
use vegas_driver::{at, link, queued_pkts, round, round_of, set, settled};

const SLOW_START: u32 = 0;
const AVOIDANCE: u32 = 1;
const RENO: u32 = 2;

/// Window and alpha after a round with this RTT.
fn after(socket: &mut Socket, rtt_us: i32) -> (u32, i64) {
    round(socket, rtt_us, 1);
    (socket.cwnd(), socket.trace().expect("published").v0)
}

fn mode(socket: &Socket) -> u32 {
    socket.trace().expect("published").mode
}

/// Subflows of one connection in avoidance.
fn connection<const N: usize>(cwnd: [u32; N]) -> [Socket; N] {
    let token = token();
    cwnd.map(|cwnd| {
        let mut socket = at("wvegas", cwnd, 50);
        socket.set_mptcp_token(token);
        socket.tp_mut().srtt_us = 10_000 << 3;
        socket
    })
}

/// diff = 100 * 100 / 10100 = 0; 101 * 150 / 10150 = 1; 102 * 200 / 10200 = 2 reaches alpha, which becomes the whole of 10.
#[test]
fn on_one_path_alpha_is_the_total_once_it_has_been_reached() {
    let mut socket = at("wvegas", 100, 50);
    assert_eq!(after(&mut socket, 10_100), (101, 2));
    assert_eq!((after(&mut socket, 10_150), mode(&socket)), ((102, 2), AVOIDANCE));
    // Twice the lowest queueing delay would drain the queue: see below.
    let mut socket = at("wvegas", 102, 50);
    assert_eq!(after(&mut socket, 10_200), (103, 10));
}

/// With cwnd 400 and q = 300: 400 * 300 / 10300 = 11 > 10. At 343, 9.99, which is 9; at 344, 10: neither up nor down.
#[test]
fn on_one_path_it_is_vegas_with_both_thresholds_at_ten() {
    let mut socket = at("wvegas", 400, 50);
    assert_eq!(after(&mut socket, 10_300), (399, 10));
    for (cwnd, next) in [(378, 377), (344, 344), (343, 344)] {
        set(socket.tp_mut(), cwnd, 50);
        assert_eq!(after(&mut socket, 10_300).0, next, "{cwnd}");
    }
}

/// The mean of the samples counts: 10 000, 10 000 and 10 900 are 10 300.
#[test]
fn the_rtt_of_a_round_is_its_mean() {
    let mut socket = at("wvegas", 400, 50);
    round_of(&mut socket, &[10_000, 10_000, 10_900], 1);
    assert_eq!(socket.cwnd(), 399);
    round_of(&mut socket, &[10_000, 10_000, 10_000, 10_300], 1);
    assert_eq!(socket.cwnd(), 400, "a mean of 10 075 makes a diff of 2");
}

/// Rates of 400 and 80 per round trip: 10 * 400 / 480 = 8 and 10 * 80 / 480 = 1.7, at least 2; then 200: 10 * 200 / 600 = 3.
#[test]
fn the_total_is_shared_out_by_the_rates() {
    let [mut a, mut b] = connection([400, 80]);
    // 80 * 300 / 10300 = 2 reaches alpha. Nobody else has a rate yet.
    assert_eq!(after(&mut b, 10_300), (81, 10));
    // 400 * 300 / 10300 = 11, more than 8.
    assert_eq!(after(&mut a, 10_300), (399, 8));
    // Below its alpha of 10 a subflow does not ask again: 81 * 300 / 10300 = 2.
    assert_eq!(after(&mut b, 10_300), (82, 10));
    // 200 * 590 / 10590 = 11 does: 10 * (200 / 10.59) / (200 / 10.59 + 400 / 10.3) = 3.27.
    set(b.tp_mut(), 200, 50);
    assert_eq!(after(&mut b, 10_590), (199, 3));
}

#[test]
fn after_a_timeout_a_subflow_has_no_rate_and_the_others_get_its_share() {
    let [mut a, mut b] = connection([400, 400]);
    assert_eq!(after(&mut a, 10_300), (399, 10));
    assert_eq!(after(&mut b, 10_300), (399, 5));
    a.cwnd_event(EVENT_LOSS);
    a.set_state(CA_LOSS);
    assert_eq!(after(&mut b, 10_300), (398, 10), "11 of at most 10");
    b.release();
    a.set_state(CA_OPEN);
    assert_eq!((after(&mut a, 10_000).1, mode(&a)), (2, AVOIDANCE));
}

/// q = 150 after 100 is not twice as much, 200 is: 102 * 10000 / 10200 = 100, and half of that.
#[test]
fn twice_the_lowest_queueing_delay_drains_the_queue() {
    let mut socket = at("wvegas", 100, 50);
    assert_eq!(after(&mut socket, 10_100).0, 101);
    assert_eq!(after(&mut socket, 10_150).0, 102);
    // 102 * 200 / 10200 = 2: alpha becomes 10, cwnd 103; then 103 * 10000 / 10200 = 100, half of it.
    assert_eq!(after(&mut socket, 10_200).0, 50);
    // The lowest queueing delay is forgotten: 400 is the new one.
    assert_eq!(after(&mut socket, 10_400).0, 51);
    assert_eq!(after(&mut socket, 10_400).0, 52);
}

#[test]
fn an_empty_queue_is_not_drained() {
    let mut socket = at("wvegas", 100, 50);
    assert_eq!([10_000; 3].map(|rtt_us| after(&mut socket, rtt_us).0), [101, 102, 103]);
}

/// diff = 20 * 2000 / 12000 = 3 > gamma = 1: 20 * 10000 / 12000 + 1 = 17.
#[test]
fn slow_start_ends_with_more_than_gamma_packets_queued() {
    let mut socket = at("wvegas", 20, 1000);
    round(&mut socket, 10_000, 5);
    assert_eq!((socket.cwnd(), mode(&socket)), (25, SLOW_START));
    set(socket.tp_mut(), 20, 1000);
    round(&mut socket, 12_000, 5);
    assert_eq!((socket.cwnd(), mode(&socket)), (17, AVOIDANCE));
}

#[test]
fn losses_are_renos() {
    let mut socket = at("wvegas", 100, 50);
    assert_eq!(socket.ssthresh(), 50);
    socket.set_state(CA_RECOVERY);
    socket.cong_avoid(0, 100);
    assert_eq!((socket.cwnd(), mode(&socket)), (101, RENO));
}

#[test]
fn an_idle_time_forgets_the_base_rtt() {
    let mut socket = at("wvegas", 100, 50);
    socket.cwnd_event(EVENT_CWND_RESTART);
    // A base of 20 ms and no queue: up, where 100 packets at twice the base would be 50 queued.
    assert_eq!(after(&mut socket, 20_000), (101, 2));
}

/// Where nothing but its own packets makes a queue, the lowest queueing delay is that of a fraction of a packet. Twice that is
/// soon reached, so it drains long before alpha: the link is filled to 3/4 and more, and nothing is lost.
#[test]
fn on_a_path_of_its_own_it_drains_every_queue_and_loses_nothing() {
    let (mut flow, link): (Flow, Link) = (settled("wvegas", 20_000_000), link(2000));
    let start = flow.stats();
    flow.run_for_us(20_000_000, |_| {});
    let stats = flow.stats().since(&start);
    let queued = queued_pkts(&link, stats.mean_rtt_us());
    let ideal = 20 * link.rate_bps / 8 / 1500;
    assert!((0.1..10.0).contains(&queued) && stats.lost_pkts == 0, "{queued:.1} packets queued, {stats:?}");
    assert!(stats.delivered_pkts * 100 > ideal * 75, "{stats:?} of {ideal}");
}

#[test]
fn on_two_paths_of_their_own_both_are_filled() {
    let links = [40_000_000, 10_000_000].map(|rate_bps| {
        Link { rate_bps, base_rtt_us: 40_000, buffer_pkts: 0, loss_ppm: 0 }.with_buffer_milli_bdp(2000)
    });
    let stats = side_by_side("wvegas", links, 60_000_000);
    let queued = [0, 1].map(|index| queued_pkts(&links[index], stats[index].mean_rtt_us()));
    let filled =
        [0, 1].map(|index| stats[index].delivered_pkts as f64 * 12_000.0 / 30.0 / links[index].rate_bps as f64);
    assert!(queued[0] + queued[1] < 10.0 && stats.iter().all(|of| of.lost_pkts == 0), "{queued:.1?} queued, {stats:?}");
    assert!(filled.iter().all(|share| *share > 0.75), "{filled:.2?} of the links");
}

#[test]
fn no_sequence_of_events_on_three_subflows_leaves_one_without_a_window() {
    survives_anything("wvegas");
}
