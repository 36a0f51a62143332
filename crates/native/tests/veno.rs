//! Veno against hand-worked ACKs. The base RTT is 10 000 µs throughout.

mod vegas_driver;

use ccactl_native::path::{Flow, Link};
use ccactl_native::{CA_LOSS, CA_OPEN, CA_RECOVERY, EVENT_LOSS, EVENT_TX_START, Socket};
use vegas_driver::{ack_within, at, established, round, round_of, rtt, set};

const SLOW_START: u32 = 0;
const NON_CONGESTIVE: u32 = 1;
const CONGESTIVE: u32 = 2;
const RENO: u32 = 3;

fn verdict(socket: &Socket) -> (i64, u32) {
    socket.trace().map(|trace| (trace.v0, trace.mode)).expect("published")
}

#[test]
fn three_packets_queued_make_a_path_congested() {
    // Twice N = 200 - 2000000 / RTT, the quotient rounded down. The threshold is 6.
    for (rtt_us, diff, mode) in [
        (10_000, 0, NON_CONGESTIVE),
        // 195.1
        (10_250, 5, NON_CONGESTIVE),
        // 194.2
        (10_300, 6, CONGESTIVE),
        // 100
        (20_000, 100, CONGESTIVE),
    ] {
        let mut socket = at("veno", 100, 50);
        round(&mut socket, rtt_us, 1);
        assert_eq!(verdict(&socket), (diff, mode), "RTT {rtt_us}");
    }
}

#[test]
fn without_congestion_it_grows_as_reno() {
    let mut socket = at("veno", 100, 50);
    round(&mut socket, 10_100, 99);
    assert_eq!((socket.cwnd(), socket.tp().snd_cwnd_cnt), (100, 99));
    round(&mut socket, 10_100, 3);
    assert_eq!((socket.cwnd(), socket.tp().snd_cwnd_cnt), (101, 2));
}

#[test]
fn with_congestion_it_grows_in_every_second_round() {
    let mut socket = at("veno", 100, 50);
    let mut steps = Vec::new();
    // The ACK that fills the round counts for nothing more; the next one turns it into growth, or not.
    for acked in [60, 40, 7, 101, 7, 60, 41, 7] {
        round(&mut socket, 20_000, acked);
        steps.push((socket.cwnd(), socket.tp().snd_cwnd_cnt));
    }
    let expected = [(100, 60), (100, 100), (101, 0), (101, 101), (101, 0), (101, 60), (101, 101), (102, 0)];
    assert_eq!(steps, expected);
}

#[test]
fn an_ack_counts_once_where_linux_4_14_is_read() {
    for (rtt_us, ends) in [(10_100, [(100, 1), (100, 2)]), (20_000, [(100, 1), (100, 2)])] {
        let mut socket = at("veno", 100, 50);
        socket.set_tunable("count_packets", 0).expect("a tunable");
        for end in ends {
            round(&mut socket, rtt_us, 40);
            assert_eq!((socket.cwnd(), socket.tp().snd_cwnd_cnt), end, "RTT {rtt_us}");
        }
    }
    let mut socket = at("veno", 98, 100);
    socket.set_tunable("count_packets", 0).expect("a tunable");
    round(&mut socket, 10_000, 5);
    assert_eq!((socket.cwnd(), socket.tp().snd_cwnd_cnt), (100, 0), "what slow start leaves is nobody's");
}

#[test]
fn a_loss_without_congestion_costs_a_fifth_and_one_with_it_half() {
    for (rtt_us, ssthreshs) in [(10_000, [80, 8, 5, 2, 2]), (20_000, [50, 5, 3, 2, 2])] {
        let mut socket = at("veno", 100, 50);
        round(&mut socket, rtt_us, 1);
        // 7 * 4 / 5 = 5.6.
        for (cwnd, ssthresh) in [100, 10, 7, 2, 1].into_iter().zip(ssthreshs) {
            socket.tp_mut().snd_cwnd = cwnd;
            assert_eq!(socket.ssthresh(), ssthresh, "RTT {rtt_us}, cwnd {cwnd}");
        }
    }
    let mut socket = at("veno", 100, 50);
    socket.set_tunable("noncongestive_beta", 900).expect("a tunable");
    round(&mut socket, 10_000, 1);
    assert_eq!(socket.ssthresh(), 90);
}

#[test]
fn a_timeout_halves_where_the_paper_is_read_so() {
    for (timeout_halves, ssthresh) in [(0, 80), (1, 50)] {
        let mut socket = at("veno", 100, 50);
        socket.set_tunable("timeout_halves", timeout_halves).expect("a tunable");
        round(&mut socket, 10_000, 1);
        // As tcp_enter_loss() does it.
        let of_a_loss = socket.ssthresh();
        socket.tp_mut().snd_ssthresh = of_a_loss;
        socket.cwnd_event(EVENT_LOSS);
        assert_eq!((of_a_loss, socket.tp().snd_ssthresh), (80, ssthresh));
    }
}

#[test]
fn the_rtt_of_a_round_is_its_smallest_where_the_paper_is_read_so() {
    let mut socket = at("veno", 100, 50);
    socket.set_tunable("rtt_of_round", 1).expect("a tunable");
    // The first round: 10 ms; an ACK within the next one changes nothing, though its sample alone looks congested.
    round(&mut socket, 10_000, 1);
    assert_eq!(verdict(&socket), (0, NON_CONGESTIVE));
    rtt(&mut socket, 40_000);
    ack_within(&mut socket, 1);
    assert_eq!(verdict(&socket), (0, NON_CONGESTIVE));
    // Its smallest sample is 20 ms: 200 - 2000000 / 20000.
    round_of(&mut socket, &[20_000], 1);
    assert_eq!(verdict(&socket), (100, CONGESTIVE));
    round_of(&mut socket, &[], 1);
    assert_eq!(verdict(&socket), (100, CONGESTIVE), "a round without a sample keeps the verdict");
}

#[test]
fn the_smallest_sample_since_the_last_ack_counts_and_an_ack_without_one_looks_congested() {
    let mut socket = at("veno", 100, 50);
    round_of(&mut socket, &[40_000, 10_000, 40_000], 1);
    assert_eq!(verdict(&socket), (0, NON_CONGESTIVE));
    round_of(&mut socket, &[40_000], 1);
    // 200 - 50
    assert_eq!(verdict(&socket), (150, CONGESTIVE));
    round_of(&mut socket, &[], 1);
    // 200 - 2000000 / 2147483647
    assert_eq!(verdict(&socket), (200, CONGESTIVE));
}

#[test]
fn the_first_two_samples_of_a_connection_are_renos() {
    let mut socket = established("veno");
    set(socket.tp_mut(), 10, 5);
    for (acked, mode) in [(4, RENO), (4, RENO), (1, NON_CONGESTIVE)] {
        round_of(&mut socket, &[10_000], acked);
        assert_eq!(verdict(&socket), (0, mode));
    }
    assert_eq!((socket.cwnd(), socket.tp().snd_cwnd_cnt), (10, 9));
}

#[test]
fn the_count_of_samples_wraps_as_the_native_one() {
    let mut socket = at("veno", 100, 50);
    // Three so far: 65535 - 3 more are still enough, and one more makes it 0.
    for _ in 0..65_532 {
        rtt(&mut socket, 9999);
    }
    ack_within(&mut socket, 1);
    assert_eq!(verdict(&socket).1, NON_CONGESTIVE);
    for mode in [RENO, RENO, RENO, NON_CONGESTIVE] {
        rtt(&mut socket, 9999);
        ack_within(&mut socket, 1);
        assert_eq!(verdict(&socket).1, mode);
    }
}

#[test]
fn slow_start_is_renos_and_what_it_leaves_is_avoidances() {
    let mut socket = at("veno", 98, 200);
    round(&mut socket, 20_000, 5);
    assert_eq!((socket.cwnd(), verdict(&socket)), (103, (98, SLOW_START)));
    set(socket.tp_mut(), 98, 100);
    round(&mut socket, 10_000, 5);
    assert_eq!((socket.cwnd(), socket.tp().snd_cwnd_cnt, verdict(&socket)), (100, 3, (0, NON_CONGESTIVE)));
}

#[test]
fn a_flow_that_the_application_limits_neither_grows_nor_forgets_its_sample() {
    let mut socket = at("veno", 100, 50);
    socket.tp_mut().set_cwnd_limited(false);
    round(&mut socket, 20_000, 100);
    assert_eq!((socket.cwnd(), socket.tp().snd_cwnd_cnt, verdict(&socket).0), (100, 0, 0));
    socket.tp_mut().set_cwnd_limited(true);
    round_of(&mut socket, &[], 1);
    assert_eq!(verdict(&socket), (100, CONGESTIVE));
}

#[test]
fn until_the_state_is_open_again_it_grows_as_reno_and_keeps_its_verdict() {
    for state in [CA_RECOVERY, CA_LOSS] {
        let mut socket = at("veno", 100, 50);
        round(&mut socket, 20_000, 1);
        set(socket.tp_mut(), 100, 50);
        socket.set_state(state);
        round(&mut socket, 10_000, 100);
        assert_eq!((socket.cwnd(), verdict(&socket)), (101, (100, RENO)), "state {state}");
        // A second loss, in the episode or right after it, still counts as congested.
        assert_eq!(socket.ssthresh(), 50, "state {state}");
        socket.set_state(CA_OPEN);
        round(&mut socket, 10_000, 1);
        assert_eq!(verdict(&socket), (0, NON_CONGESTIVE), "state {state}");
        assert_eq!(socket.ssthresh(), 80, "state {state}");
    }
}

#[test]
fn a_restart_from_idle_forgets_the_base_rtt() {
    let mut socket = at("veno", 100, 50);
    socket.cwnd_event(EVENT_TX_START);
    assert_eq!(verdict(&socket).0, 0);
    round(&mut socket, 20_000, 1);
    assert_eq!(verdict(&socket), (0, NON_CONGESTIVE));
    assert_eq!(socket.trace().map(|trace| trace.min_rtt_us), Some(19_999));
}

#[test]
fn random_loss_costs_it_less_than_reno() {
    let delivered = |algorithm| {
        let link = Link { rate_bps: 50_000_000, base_rtt_us: 40_000, buffer_pkts: 0, loss_ppm: 500 };
        let mut flow = Flow::new(established(algorithm), link.with_buffer_milli_bdp(1000), 1);
        flow.run_for_us(60_000_000, |_| {});
        flow.stats().delivered_pkts
    };
    let (veno, reno) = (delivered("veno"), delivered("reno"));
    // Windows of about sqrt(2 / p (1 - b)): with b = 1/2 and b = 4/5 they are as 1 to 1.5.
    assert!(veno * 10 > reno * 13, "{veno} and {reno}");
}
