//! Vegas-A against hand-worked rounds. The base RTT is 10 000 µs throughout.

mod vegas_driver;

use ccactl_native::path::Flow;
use ccactl_native::{CA_LOSS, CA_OPEN, EVENT_TX_START, Socket};
use vegas_driver::{at, established, link, queued_pkts, round, round_of, set};

const UP: u32 = 1;
const STAY: u32 = 2;
const DOWN: u32 = 3;
const RENO: u32 = 4;

const INFINITE: u32 = 0x7fff_ffff;

/// Window, alpha, what the round did to the window.
fn state(socket: &Socket) -> (u32, i64, u32) {
    let trace = socket.trace().expect("published");
    (socket.cwnd(), trace.v1, trace.mode)
}

/// A round in which so many packets were delivered.
fn delivering(socket: &mut Socket, pkts: u32, rtt_us: i32) -> (u32, i64, u32) {
    socket.tp_mut().delivered += pkts;
    round(socket, rtt_us, pkts);
    state(socket)
}

/// At 100 packets, after a round of 100 packets in 10 200 µs that a first one preceded: diff = 100 * 200 / 10000 = 2.
fn between() -> Socket {
    let mut socket = at("vegas-a", 100, 50);
    assert_eq!(delivering(&mut socket, 100, 10_200), (100, 1, STAY));
    socket
}

/// The same with alpha = 3 and 102 packets: throughput has risen twice while diff was between the thresholds.
fn raised() -> Socket {
    let mut socket = between();
    // 100 / 10200 < 101 / 10200: up. 101 * 300 / 10000 = 3, 104 / 10300 is more than 101 / 10200.
    assert_eq!(delivering(&mut socket, 101, 10_200), (101, 2, UP));
    assert_eq!(delivering(&mut socket, 104, 10_300), (102, 3, UP));
    socket
}

#[test]
fn between_the_thresholds_a_rising_throughput_raises_window_and_thresholds() {
    raised();
}

#[test]
fn between_the_thresholds_an_equal_or_falling_throughput_changes_nothing() {
    for (pkts, rtt_us) in [(100, 10_200), (99, 10_200), (100, 10_300)] {
        let mut socket = between();
        assert_eq!(delivering(&mut socket, pkts, rtt_us), (100, 1, STAY), "{pkts} in {rtt_us}");
    }
    let mut socket = between();
    socket.set_tunable("equal_is_rise", 1).expect("a tunable");
    assert_eq!(delivering(&mut socket, 100, 10_200), (101, 2, UP));
}

#[test]
fn the_thresholds_themselves_are_between() {
    // diff 1 = alpha and 3 = beta: up because of the throughput.
    for rtt_us in [10_100, 10_300] {
        let mut socket = between();
        assert_eq!(delivering(&mut socket, 110, rtt_us), (101, 2, UP), "{rtt_us}");
    }
}

#[test]
fn below_the_lowest_alpha_the_window_grows_whatever_the_throughput() {
    for pkts in [50, 100, 150] {
        let mut socket = between();
        assert_eq!(delivering(&mut socket, pkts, 10_050), (101, 1, UP), "{pkts}");
    }
}

#[test]
fn below_a_raised_alpha_the_throughput_decides() {
    // 102 * 200 / 10000 = 2 < 3. The last round had 104 / 10300.
    let mut socket = raised();
    assert_eq!(delivering(&mut socket, 104, 10_200), (103, 3, UP));
    let mut socket = raised();
    assert_eq!(delivering(&mut socket, 102, 10_200), (101, 2, DOWN));
    // Exactly equal has not risen: 208 / 20600, with a window of 2 packets and diff 2 * 10600 / 10000 = 2.
    let mut socket = raised();
    set(socket.tp_mut(), 2, 2);
    assert_eq!(delivering(&mut socket, 208, 20_600), (2, 2, DOWN));
}

#[test]
fn above_beta_the_window_shrinks_and_the_thresholds_follow_down_to_the_first() {
    let mut socket = raised();
    // alpha 3, beta 5: 102 * 600 / 10000 = 6.
    let mut states = Vec::new();
    for _ in 0..4 {
        states.push(delivering(&mut socket, 200, 10_600));
    }
    assert_eq!(states, [(101, 2, DOWN), (100, 1, DOWN), (99, 1, DOWN), (98, 1, DOWN)]);
}

#[test]
fn without_a_round_to_compare_with_nothing_has_risen_or_fallen() {
    // After a recovery: alpha 3, diff 2 below it, diff 3 and 4 between.
    for rtt_us in [10_200, 10_300, 10_400] {
        let mut socket = raised();
        socket.set_state(CA_LOSS);
        socket.set_state(CA_OPEN);
        assert_eq!(delivering(&mut socket, 500, rtt_us), (102, 3, STAY), "{rtt_us}");
    }
    // After a round with two samples: what it delivered is not compared.
    let mut socket = raised();
    socket.tp_mut().delivered += 1;
    round_of(&mut socket, &[10_300, 10_300], 1);
    assert_eq!(delivering(&mut socket, 500, 10_300), (102, 3, STAY));
    assert_eq!(delivering(&mut socket, 501, 10_300), (103, 4, UP));
}

#[test]
fn alpha_has_an_upper_bound() {
    let mut socket = between();
    socket.set_tunable("alpha_max", 2).expect("a tunable");
    assert_eq!(delivering(&mut socket, 101, 10_200), (101, 2, UP));
    assert_eq!(delivering(&mut socket, 102, 10_200), (102, 2, UP));
}

#[test]
fn slow_start_ends_as_vegas_does() {
    // 100 * 250 / 10000 = 2 > gamma. Target 100 * 10000 / 10250 = 97, and one more.
    let mut socket = at("vegas-a", 100, INFINITE);
    assert_eq!(delivering(&mut socket, 100, 10_250).0, 98);
    assert_eq!(socket.snd_ssthresh(), 98);
    let mut socket = at("vegas-a", 100, INFINITE);
    assert_eq!(delivering(&mut socket, 8, 10_199).0, 108);
}

#[test]
fn loss_and_timeout_halve_and_leave_the_thresholds() {
    let mut socket = raised();
    assert_eq!(socket.ssthresh(), 51);
    socket.tp_mut().snd_ssthresh = 51;
    socket.tp_mut().snd_cwnd = 1;
    socket.set_state(CA_LOSS);
    assert_eq!(delivering(&mut socket, 3, 50_000), (4, 3, RENO));
    socket.tp_mut().prior_cwnd = 102;
    assert_eq!(socket.undo_cwnd(), 102);
}

#[test]
fn a_restart_from_idle_begins_with_the_first_thresholds() {
    let mut socket = raised();
    socket.cwnd_event(EVENT_TX_START);
    assert_eq!(delivering(&mut socket, 100, 20_000), (103, 1, UP));
    assert_eq!(socket.trace().map(|trace| trace.min_rtt_us), Some(19_999));
}

#[test]
fn alone_on_a_path_it_fills_the_link_with_a_short_queue() {
    let mut flow = Flow::new(established("vegas-a"), link(2000), 1);
    flow.run_for_us(20_000_000, |_| {});
    let start = flow.stats();
    flow.run_for_us(20_000_000, |_| {});
    let stats = flow.stats().since(&start);
    let ideal = 20 * flow.link.rate_bps / 8 / 1500;
    assert!(stats.delivered_pkts * 1000 >= ideal * 990, "{stats:?} of {ideal}");
    assert_eq!(stats.retrans_pkts, 0);
    let queued = queued_pkts(&flow.link, stats.mean_rtt_us());
    assert!(queued < 20.0, "{queued} packets queued, {:?}", state(&flow.socket));
}
