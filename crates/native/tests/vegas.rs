//! Vegas against hand-worked rounds. The base RTT is 10 000 µs throughout.

mod vegas_driver;

use ccactl_native::{
    CA_DISORDER, CA_LOSS, CA_OPEN, CA_RECOVERY, EVENT_COMPLETE_CWR, EVENT_CWND_RESTART, EVENT_TX_START, Socket,
};
use vegas_driver::{ack_within, at, end_round, established, queued_pkts, round, round_of, rtt, set, settled};

const SLOW_START: u32 = 0;
const AVOIDANCE: u32 = 1;
const RENO: u32 = 2;

const INFINITE: u32 = 0x7fff_ffff;

fn window(socket: &Socket) -> (u32, u32) {
    (socket.cwnd(), socket.snd_ssthresh())
}

fn mode(socket: &Socket) -> u32 {
    socket.trace().expect("published").mode
}

#[test]
fn avoidance_keeps_between_alpha_and_beta_packets_queued() {
    // diff = 100 * (min - 10000) / 10000, rounded down; ssthresh = max(50, cwnd / 2 + cwnd / 4).
    for (min_us, diff, cwnd, ssthresh) in [
        (10_000, 0, 101, 75),
        (10_199, 1, 101, 75),
        (10_200, 2, 100, 75),
        (10_499, 4, 100, 75),
        (10_500, 5, 99, 73),
        (30_000, 200, 99, 73),
    ] {
        let mut socket = at("vegas", 100, 50);
        round(&mut socket, min_us, 7);
        assert_eq!(window(&socket), (cwnd, ssthresh), "min RTT {min_us}");
        assert_eq!(socket.trace().map(|trace| (trace.v0, trace.mode)), Some((diff, AVOIDANCE)), "min RTT {min_us}");
    }
}

#[test]
fn the_smallest_sample_of_a_round_decides_and_the_next_round_forgets_it() {
    let mut socket = at("vegas", 100, 50);
    round_of(&mut socket, &[40_000, 10_100, 40_000], 1);
    // 100 * 100 / 10000 = 1: below alpha. Target 100 * 10000 / 10100 = 99.
    assert_eq!(socket.cwnd(), 101);
    assert_eq!(socket.trace().map(|trace| (trace.v0, trace.v1)), Some((1, 99)));
    round(&mut socket, 40_000, 1);
    // 101 * 30000 / 10000 = 303. Target 101 / 4 = 25.
    assert_eq!(socket.cwnd(), 100);
    assert_eq!(socket.trace().map(|trace| (trace.v0, trace.v1)), Some((303, 25)));
}

#[test]
fn slow_start_ends_when_more_than_gamma_packets_are_queued() {
    // 100 * 199 / 10000 = 1: not more than gamma, 8 packets acknowledged.
    let mut socket = at("vegas", 100, INFINITE);
    round(&mut socket, 10_199, 8);
    assert_eq!((window(&socket), mode(&socket)), ((108, INFINITE), SLOW_START));
    // 100 * 250 / 10000 = 2. Target 100 * 10000 / 10250 = 97, and one more.
    let mut socket = at("vegas", 100, INFINITE);
    round(&mut socket, 10_250, 8);
    assert_eq!((window(&socket), mode(&socket)), ((98, 98), AVOIDANCE));
    // Target 100 / 4 = 25; the threshold does not stay far below: max(26, 13 + 6).
    let mut socket = at("vegas", 100, INFINITE);
    round(&mut socket, 40_000, 8);
    assert_eq!(window(&socket), (26, 26));
}

#[test]
fn within_a_round_only_slow_start_grows_whoever_limits_the_flow() {
    for limited in [true, false] {
        let mut socket = at("vegas", 100, INFINITE);
        socket.tp_mut().set_cwnd_limited(limited);
        ack_within(&mut socket, 5);
        assert_eq!(window(&socket), (105, INFINITE));
        set(socket.tp_mut(), 100, 50);
        ack_within(&mut socket, 99);
        assert_eq!((window(&socket), socket.tp().snd_cwnd_cnt), ((100, 50), 0));
    }
}

#[test]
fn a_round_with_fewer_than_three_samples_is_renos() {
    let mut socket = at("vegas", 10, 5);
    round_of(&mut socket, &[90_000, 90_000], 4);
    assert_eq!((socket.cwnd(), socket.tp().snd_cwnd_cnt), (10, 4));
    round_of(&mut socket, &[], 6);
    assert_eq!((socket.cwnd(), socket.tp().snd_cwnd_cnt), (11, 0));
    // Two samples did not count for the next round: 3 of 10400 give 11 * 400 / 10000 = 0.
    round(&mut socket, 10_400, 1);
    assert_eq!(socket.cwnd(), 12);
}

#[test]
fn a_sample_of_minus_one_is_none() {
    let mut socket = at("vegas", 10, 5);
    for _ in 0..3 {
        rtt(&mut socket, -1);
    }
    end_round(&mut socket, 4);
    assert_eq!((socket.cwnd(), socket.tp().snd_cwnd_cnt), (10, 4));
}

#[test]
fn until_the_state_is_open_again_it_is_reno() {
    for state in [CA_DISORDER, CA_RECOVERY, CA_LOSS] {
        let mut socket = at("vegas", 10, 5);
        socket.set_state(state);
        round(&mut socket, 90_000, 10);
        assert_eq!((socket.cwnd(), mode(&socket)), (11, RENO), "state {state}");
        // Samples from before are gone, and the first round begins now: what is acknowledged next was sent before.
        rtt(&mut socket, 80_000);
        socket.tp_mut().snd_nxt += 1000;
        socket.set_state(CA_OPEN);
        let una = socket.tp().snd_nxt - 500;
        socket.cong_avoid(una, 10);
        assert_eq!((socket.cwnd(), mode(&socket)), (11, AVOIDANCE), "state {state}");
        // 11 * 10000 / 10000 = 11, above beta.
        round(&mut socket, 20_000, 1);
        assert_eq!(socket.cwnd(), 10, "state {state}");
    }
}

#[test]
fn loss_and_timeout_halve_and_undo_takes_it_back() {
    let mut socket = at("vegas", 100, 50);
    for (cwnd, ssthresh) in [(100, 50), (7, 3), (3, 2), (1, 2)] {
        socket.tp_mut().snd_cwnd = cwnd;
        assert_eq!(socket.ssthresh(), ssthresh, "cwnd {cwnd}");
    }
    socket.tp_mut().prior_cwnd = 100;
    socket.tp_mut().snd_cwnd = 50;
    assert_eq!(socket.undo_cwnd(), 100);
}

#[test]
fn a_restart_from_idle_forgets_the_base_rtt() {
    for (event, base_us) in [(EVENT_TX_START, 19_999), (EVENT_CWND_RESTART, 19_999), (EVENT_COMPLETE_CWR, 9999)] {
        let mut socket = at("vegas", 100, 50);
        socket.cwnd_event(event);
        round(&mut socket, 20_000, 1);
        assert_eq!(socket.trace().map(|trace| trace.min_rtt_us), Some(base_us), "event {event}");
        // On a path of 20 ms nothing is queued; on one of 10 ms a whole window is.
        assert_eq!(socket.cwnd(), if base_us == 9999 { 99 } else { 101 }, "event {event}");
    }
}

#[test]
fn the_window_stays_between_two_packets_and_the_clamp() {
    // 2 * 30000 / 10000 = 6: one less would be 1; the threshold follows that 1.
    let mut socket = at("vegas", 2, 2);
    round(&mut socket, 40_000, 1);
    assert_eq!(window(&socket), (2, 1));
    let mut socket = at("vegas", 100, 50);
    socket.tp_mut().snd_cwnd_clamp = 100;
    round(&mut socket, 10_000, 1);
    assert_eq!(socket.cwnd(), 100);
}

#[test]
fn the_diff_of_a_large_window_and_a_long_queue_does_not_wrap() {
    // 100000 * 50000 exceeds 32 bits.
    let mut socket = at("vegas", 100_000, 50);
    round(&mut socket, 60_000, 1);
    assert_eq!((socket.cwnd(), socket.trace().map(|trace| trace.v0)), (99_999, Some(500_000)));
}

#[test]
fn the_thresholds_can_be_set() {
    let mut socket = at("vegas", 100, 50);
    socket.set_tunable("alpha", 20).expect("a tunable");
    socket.set_tunable("beta", 40).expect("a tunable");
    for (min_us, cwnd) in [(11_900, 101), (12_100, 101), (14_100, 100)] {
        round(&mut socket, min_us, 1);
        assert_eq!(socket.cwnd(), cwnd, "min RTT {min_us}");
    }
    let mut socket = at("vegas", 100, INFINITE);
    socket.set_tunable("gamma", 30).expect("a tunable");
    round(&mut socket, 13_000, 1);
    assert_eq!(socket.cwnd(), 101);
    // 101 * 3070 / 10000 = 31. Target 101 * 10000 / 13070 = 77.
    round(&mut socket, 13_070, 1);
    assert_eq!(socket.cwnd(), 78);
}

#[test]
fn callbacks_before_init_are_renos() {
    let mut socket = Socket::checked("vegas").expect("vegas exists");
    socket.tp_mut().set_cwnd_limited(true);
    round(&mut socket, 10_000, 3);
    assert_eq!(socket.cwnd(), 13);
    socket.set_state(CA_OPEN);
    round(&mut socket, 10_000, 3);
    assert_eq!(socket.cwnd(), 16);
}

#[test]
fn on_a_path_it_fills_the_link_and_queues_two_to_four_packets() {
    let mut flow = settled("vegas", 20_000_000);
    assert_eq!(flow.socket.trace().map(|trace| trace.mode), Some(AVOIDANCE));
    let start = flow.stats();
    let link = flow.link;
    flow.run_for_us(20_000_000, |flow| {
        let diff = flow.socket.trace().expect("published").v0;
        assert!((1..=5).contains(&diff), "diff {diff}, cwnd {}", flow.socket.cwnd());
    });
    let stats = flow.stats().since(&start);
    let ideal = 20 * link.rate_bps / 8 / 1500;
    assert!(stats.delivered_pkts * 1000 >= ideal * 995, "{stats:?} of {ideal}");
    assert_eq!(stats.retrans_pkts, 0);
    let queued = queued_pkts(&link, stats.mean_rtt_us());
    assert!((2.0..8.0).contains(&queued), "{queued} packets queued, cwnd {}", flow.socket.cwnd());
}

#[test]
fn a_flow_that_joins_a_filled_queue_takes_it_for_the_path() {
    let mut late = established("vegas");
    set(late.tp_mut(), 100, 50);
    // It has never seen less than 20 ms: 10 ms of them are queue, of which its diff shows nothing.
    round(&mut late, 20_000, 1);
    assert_eq!((late.cwnd(), late.trace().map(|trace| trace.v0)), (101, Some(0)));
}
