//! YeAH against hand-worked rounds. The base RTT is 10 000 µs throughout.

mod vegas_driver;

use ccactl_native::path::{Flow, Link};
use ccactl_native::{CA_LOSS, CA_OPEN, EVENT_TX_START, Socket};
use vegas_driver::{ack_within, at, established, link, queued_pkts, round, round_of, rtt, set};

const SLOW_START: u32 = 0;
const FAST: u32 = 1;
const SLOW: u32 = 2;

/// Window, threshold.
fn window(socket: &Socket) -> (u32, u32) {
    (socket.cwnd(), socket.snd_ssthresh())
}

/// Queue, reno_count, mode.
fn state(socket: &Socket) -> (i64, i64, u32) {
    socket.trace().map(|trace| (trace.v0, trace.v1, trace.mode)).expect("published")
}

#[test]
fn fast_mode_grows_by_one_per_hundred_packets_or_per_window_if_that_is_less() {
    let mut socket = at("yeah", 1000, 500);
    ack_within(&mut socket, 99);
    assert_eq!((socket.cwnd(), socket.tp().snd_cwnd_cnt), (1000, 99));
    ack_within(&mut socket, 250);
    assert_eq!((socket.cwnd(), socket.tp().snd_cwnd_cnt), (1003, 49));
    set(socket.tp_mut(), 50, 25);
    ack_within(&mut socket, 50);
    assert_eq!((socket.cwnd(), state(&socket).2), (51, FAST));
    socket.set_tunable("ai_cnt", 10).expect("a tunable");
    ack_within(&mut socket, 50);
    assert_eq!(socket.cwnd(), 56);
}

#[test]
fn a_long_queueing_delay_means_slow_mode_and_a_long_queue_is_drained() {
    // Window, min RTT; window and threshold after the round, queue, reno_count, mode.
    for (cwnd, min_us, after, queue, reno_count, mode) in [
        // 1000 * 500 / 10500 = 47; 500 is not above 10000 / 8.
        (1000, 10_500, (1000, 500), 47, 2, FAST),
        // 100 * 1250 / 11250 = 11
        (100, 11_250, (100, 500), 11, 2, SLOW_START),
        (600, 11_250, (600, 500), 66, 2, FAST),
        // 600 * 1251 / 11251 = 66: not drained, but slow. reno_count = 600 / 2.
        (600, 11_251, (600, 500), 66, 300, SLOW),
        // 1000 * 1250 / 11250 = 111: 1000 - 111, reno_count = 889 / 2.
        (1000, 11_250, (889, 889), 111, 444, SLOW),
        // 1000 * 30000 / 40000 = 750, of which at most 1000 / 2.
        (1000, 40_000, (500, 500), 750, 250, SLOW),
        // 890 * 1000 / 11000 = 80: not above alpha.
        (890, 11_000, (890, 500), 80, 2, FAST),
        // 891 * 1000 / 11000 = 81.
        (891, 11_000, (810, 810), 81, 405, SLOW),
    ] {
        let mut socket = at("yeah", cwnd, 500);
        round(&mut socket, min_us, 0);
        assert_eq!((window(&socket), state(&socket)), (after, (queue, reno_count, mode)), "{cwnd}, {min_us}");
    }
}

#[test]
fn draining_stops_at_what_reno_would_have() {
    let mut socket = at("yeah", 1000, 500);
    let mut steps = Vec::new();
    for _ in 0..4 {
        round(&mut socket, 40_000, 0);
        steps.push((socket.cwnd(), state(&socket).1));
    }
    // 1000 - 500; 500 - min(375, 250) = 250, which is reno_count; then 250 is not above 251.
    assert_eq!(steps, [(500, 250), (250, 251), (250, 252), (250, 253)]);
    assert_eq!(socket.snd_ssthresh(), 250);
}

#[test]
fn slow_mode_grows_as_reno_until_a_fast_round() {
    let mut socket = at("yeah", 600, 500);
    round(&mut socket, 11_251, 0);
    ack_within(&mut socket, 599);
    assert_eq!((socket.cwnd(), socket.tp().snd_cwnd_cnt), (600, 599));
    ack_within(&mut socket, 1);
    assert_eq!((socket.cwnd(), state(&socket).2), (601, SLOW));
    round(&mut socket, 10_000, 0);
    assert_eq!((socket.cwnd(), state(&socket)), (601, (0, 300, FAST)));
    ack_within(&mut socket, 100);
    assert_eq!(socket.cwnd(), 602);
}

#[test]
fn reno_count_is_forgotten_after_more_than_fifty_fast_rounds() {
    let mut socket = at("yeah", 600, 500);
    round(&mut socket, 11_251, 0);
    // One fast round was before it, in at().
    for fast in 2..=50 {
        round(&mut socket, 10_000, 0);
        assert_eq!(state(&socket).1, 300, "fast round {fast}");
    }
    round(&mut socket, 10_000, 0);
    assert_eq!(state(&socket).1, 2);
}

#[test]
fn a_loss_costs_the_queue_but_an_eighth_at_least_and_half_at_most() {
    for (min_us, ssthresh) in [
        // Queue 47, an eighth is 125.
        (10_500, 875),
        // Queue 1000 * 2500 / 12500 = 200.
        (12_500, 800),
        // Queue 750.
        (40_000, 500),
    ] {
        let mut socket = at("yeah", 1000, 500);
        round(&mut socket, min_us, 0);
        socket.tp_mut().snd_cwnd = 1000;
        assert_eq!(socket.ssthresh(), ssthresh, "min RTT {min_us}");
    }
    // With a queue from larger days, at the lower end: at most max(cwnd / 2, 2), and never below 2.
    let mut socket = at("yeah", 1000, 500);
    round(&mut socket, 40_000, 0);
    for (cwnd, ssthresh) in [(7, 4), (4, 2), (3, 2), (2, 2), (1, 2)] {
        socket.tp_mut().snd_cwnd = cwnd;
        assert_eq!(socket.ssthresh(), ssthresh, "cwnd {cwnd}");
    }
}

#[test]
fn after_sixteen_slow_rounds_a_loss_costs_half() {
    let mut socket = at("yeah", 600, 500);
    for slow in 1..=15 {
        round(&mut socket, 11_251, 0);
        // Queue 66, an eighth is 75. The call itself halves reno_count.
        assert_eq!(socket.ssthresh(), 525, "after {slow} slow rounds");
    }
    round(&mut socket, 11_251, 0);
    assert_eq!(socket.ssthresh(), 300);
}

#[test]
fn a_loss_halves_reno_count_and_starts_the_fast_rounds_anew() {
    let mut socket = at("yeah", 600, 500);
    round(&mut socket, 11_251, 0);
    for _ in 0..49 {
        round(&mut socket, 10_000, 0);
    }
    socket.ssthresh();
    for _ in 0..50 {
        round(&mut socket, 10_000, 0);
    }
    assert_eq!(state(&socket).1, 150);
    round(&mut socket, 10_000, 0);
    assert_eq!(state(&socket).1, 2);
}

#[test]
fn slow_start_hands_its_rest_to_avoidance_and_rounds_end_in_it() {
    let mut socket = at("yeah", 98, 100);
    ack_within(&mut socket, 5);
    assert_eq!((socket.cwnd(), socket.tp().snd_cwnd_cnt), (100, 3));
    // Slow start needs all of it; the round is judged all the same: 1010 * 10000 / 20000 = 505, half of it is drained.
    let mut socket = at("yeah", 1000, 0x7fff_ffff);
    round(&mut socket, 20_000, 10);
    assert_eq!((window(&socket), state(&socket)), ((505, 505), (505, 252, SLOW)));
}

#[test]
fn rounds_with_few_samples_or_without_use_of_the_window_decide_nothing() {
    let mut socket = at("yeah", 1000, 500);
    round_of(&mut socket, &[40_000, 40_000], 0);
    assert_eq!((socket.cwnd(), state(&socket)), (1000, (0, 2, FAST)));
    socket.tp_mut().set_cwnd_limited(false);
    round(&mut socket, 40_000, 200);
    assert_eq!((socket.cwnd(), socket.tp().snd_cwnd_cnt, state(&socket)), (1000, 0, (0, 2, FAST)));
    // That round has not ended: its samples are judged with the next ACK that finds the window used.
    socket.tp_mut().set_cwnd_limited(true);
    round_of(&mut socket, &[], 0);
    assert_eq!((socket.cwnd(), state(&socket)), (500, (750, 250, SLOW)));
}

#[test]
fn a_restart_forgets_the_base_rtt_only_and_a_recovery_the_samples_only() {
    let mut socket = at("yeah", 1000, 500);
    round(&mut socket, 40_000, 0);
    socket.cwnd_event(EVENT_TX_START);
    round_of(&mut socket, &[20_000], 0);
    assert_eq!((socket.trace().map(|trace| trace.min_rtt_us), state(&socket)), (Some(19_999), (750, 250, SLOW)));

    let mut socket = at("yeah", 1000, 500);
    for _ in 0..3 {
        rtt(&mut socket, 39_999);
    }
    socket.set_state(CA_LOSS);
    socket.set_state(CA_OPEN);
    round_of(&mut socket, &[], 0);
    assert_eq!((socket.trace().map(|trace| trace.min_rtt_us), state(&socket)), (Some(9999), (0, 2, FAST)));
}

#[test]
fn undo_returns_the_larger_of_the_two_windows() {
    let mut socket = at("yeah", 5, 5);
    socket.tp_mut().prior_cwnd = 10;
    assert_eq!(socket.undo_cwnd(), 10);
}

/// A flow that leaves slow start at this window.
fn after_slow_start_to(ssthresh: u32, link: Link) -> Flow {
    let mut socket = established("yeah");
    socket.tp_mut().snd_ssthresh = ssthresh;
    Flow::new(socket, link, 1)
}

#[test]
fn on_a_long_fat_path_it_drains_the_queue_beyond_eighty_packets_and_never_overflows_the_buffer() {
    // BDP 834 packets: 80 packets of queue come before an eighth of the base RTT, so that fast mode lasts until then.
    let link = Link { rate_bps: 100_000_000, base_rtt_us: 100_000, buffer_pkts: 200, loss_ppm: 0 };
    let mut flow = after_slow_start_to(800, link);
    flow.run_for_us(10_000_000, |_| {});
    let start = flow.stats();
    let bdp_pkts = link.bdp_pkts() as u32;
    let (mut smallest, mut largest, mut drained) = (u32::MAX, 0, 0);
    let mut last = flow.socket.cwnd();
    flow.run_for_us(15_000_000, |flow| {
        let cwnd = flow.socket.cwnd();
        smallest = smallest.min(cwnd);
        largest = largest.max(cwnd);
        drained += u32::from(cwnd + 70 < last);
        last = cwnd;
    });
    let stats = flow.stats().since(&start);
    let ideal = 15 * link.rate_bps / 8 / 1500;
    assert!(stats.delivered_pkts * 1000 >= ideal * 995, "{stats:?} of {ideal}");
    assert_eq!(stats.retrans_pkts, 0);
    // Fast mode grows by a hundredth per round, and a round passes until its queue is known.
    assert!((bdp_pkts + 80..bdp_pkts + 110).contains(&largest), "largest window {largest}, BDP {bdp_pkts}");
    assert!(smallest + 10 >= bdp_pkts, "smallest window {smallest}, BDP {bdp_pkts}");
    assert!(drained >= 5, "drained {drained} times");
    assert!(queued_pkts(&link, stats.mean_rtt_us()) < 80.0, "{stats:?}");
}

#[test]
fn an_overshoot_of_slow_start_makes_it_reno_in_a_deep_buffer() {
    // reno_count becomes half of a window of three BDP, and then grows in step with cwnd, which so never exceeds it: no
    // draining. Half of the window of a loss still queues more than an eighth of the base RTT: no fast round.
    let mut flow = after_slow_start_to(u32::MAX >> 1, link(2000));
    flow.run_for_us(10_000_000, |_| {});
    let lost = flow.stats().lost_pkts;
    flow.run_for_us(30_000_000, |flow| {
        let (_, reno_count, mode) = state(&flow.socket);
        assert_eq!(mode, SLOW);
        assert!(i64::from(flow.socket.cwnd()) <= reno_count + 1 || flow.socket.tp().ca_state() != CA_OPEN);
    });
    assert!(flow.stats().lost_pkts > lost);
}
