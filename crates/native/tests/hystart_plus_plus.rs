//! HyStart++ (RFC 9406) in CUBIC, `hystart=2`, against the steps of its section 4.2.

mod common;

use ccactl_native::path::Flow;
use ccactl_native::{CA_LOSS, Socket};
use common::{established, link, rtt};

const SLOW_START: u32 = 0;
const CSS: u32 = 4;
const INFINITE: u32 = 0x7fff_ffff;

fn slow_starting(cwnd: u32) -> Socket {
    let mut socket = established("cubic");
    socket.set_tunable("hystart", 2).expect("a tunable");
    socket.init();
    socket.tp_mut().snd_cwnd = cwnd;
    socket
}

/// A round of so many samples: its first ACK acknowledges what was sent when the round before began.
fn round(socket: &mut Socket, rtt_us: i32, samples: u32) {
    let sent = socket.tp().snd_nxt;
    socket.tp_mut().snd_una = sent + 1;
    socket.tp_mut().snd_nxt = sent + 1000;
    for _ in 0..samples {
        rtt(socket, rtt_us);
    }
}

fn mode(socket: &mut Socket) -> u32 {
    socket.cong_avoid(0, 0);
    socket.trace().expect("published").mode
}

/// In CSS since the round in which the RTT rose from 10 to 15 ms.
fn conservative() -> Socket {
    let mut socket = slow_starting(100);
    round(&mut socket, 10_000, 8);
    round(&mut socket, 15_000, 8);
    assert_eq!(mode(&mut socket), CSS);
    socket
}

#[test]
fn a_rise_of_the_rtt_by_an_eighth_within_bounds_leads_to_css() {
    // Thresholds: an eighth of 10 ms is less than 4 ms; of 80 ms 10 ms; of 200 ms more than 16 ms.
    for (before, after, expected) in [
        (10_000, 13_999, SLOW_START),
        (10_000, 14_000, CSS),
        (80_000, 89_999, SLOW_START),
        (80_000, 90_000, CSS),
        (200_000, 215_999, SLOW_START),
        (200_000, 216_000, CSS),
    ] {
        let mut socket = slow_starting(100);
        round(&mut socket, before, 8);
        round(&mut socket, after, 8);
        assert_eq!(mode(&mut socket), expected, "{before} to {after} us");
        assert_eq!(socket.snd_ssthresh(), INFINITE);
    }
}

#[test]
fn it_takes_eight_samples_and_a_round_before() {
    let mut socket = slow_starting(100);
    round(&mut socket, 10_000, 1);
    round(&mut socket, 20_000, 7);
    assert_eq!(mode(&mut socket), SLOW_START);
    rtt(&mut socket, 20_000);
    assert_eq!(mode(&mut socket), CSS);
    // One small sample keeps the minimum of the round down.
    let mut socket = slow_starting(100);
    round(&mut socket, 10_000, 8);
    round(&mut socket, 10_500, 1);
    for _ in 0..50 {
        rtt(&mut socket, 30_000);
    }
    assert_eq!(mode(&mut socket), SLOW_START);
    // The comparison is with the round before, not with the smallest RTT ever.
    let mut socket = slow_starting(100);
    for rtt_us in [10_000, 13_000, 16_000, 19_000] {
        round(&mut socket, rtt_us, 8);
    }
    assert_eq!(mode(&mut socket), SLOW_START);
}

#[test]
fn css_grows_by_a_quarter_and_keeps_the_parts() {
    let mut socket = conservative();
    for (acked, cwnd) in [(1, 100), (2, 100), (1, 101), (5, 102), (3, 103)] {
        socket.cong_avoid(0, acked);
        assert_eq!(socket.cwnd(), cwnd);
    }
}

#[test]
fn an_unpaced_flow_counts_eight_packets_of_an_ack() {
    let mut socket = slow_starting(100);
    socket.cong_avoid(0, 8);
    assert_eq!(socket.cwnd(), 108);
    socket.cong_avoid(0, 44);
    assert_eq!(socket.cwnd(), 116);
    socket.tp_mut().inet_conn.sk.sk_pacing_status = 1;
    socket.cong_avoid(0, 44);
    assert_eq!(socket.cwnd(), 160);
    let mut socket = conservative();
    socket.cong_avoid(0, 44);
    assert_eq!(socket.cwnd(), 102, "8 / 4");
    socket.tp_mut().inet_conn.sk.sk_pacing_status = 2;
    socket.cong_avoid(0, 44);
    assert_eq!(socket.cwnd(), 113, "44 / 4");
}

#[test]
fn after_five_rounds_with_the_first_one_in_part_the_window_is_the_threshold() {
    let mut socket = conservative();
    // Each round that begins ends one: the partial one and four whole ones are left after the fifth.
    for ended in 1..=4 {
        round(&mut socket, 15_000, 8);
        assert_eq!((mode(&mut socket), socket.snd_ssthresh()), (CSS, INFINITE), "{ended} rounds");
    }
    round(&mut socket, 15_000, 1);
    assert_eq!(socket.snd_ssthresh(), socket.cwnd());
    assert_ne!(mode(&mut socket), CSS);
}

#[test]
fn a_smaller_rtt_than_the_one_that_led_to_css_resumes_slow_start() {
    let mut socket = conservative();
    round(&mut socket, 15_000, 8);
    round(&mut socket, 14_999, 7);
    assert_eq!(mode(&mut socket), CSS);
    rtt(&mut socket, 14_999);
    assert_eq!(mode(&mut socket), SLOW_START);
    let before = socket.cwnd();
    socket.cong_avoid(0, 4);
    assert_eq!(socket.cwnd(), before + 4);
    // Another rise leads to CSS again, with all of its rounds.
    round(&mut socket, 19_000, 8);
    for _ in 0..4 {
        round(&mut socket, 19_000, 8);
        assert_eq!(mode(&mut socket), CSS);
    }
    round(&mut socket, 19_000, 8);
    assert_eq!(socket.snd_ssthresh(), socket.cwnd());
}

#[test]
fn it_is_for_the_initial_slow_start_only() {
    let mut socket = slow_starting(100);
    socket.tp_mut().snd_ssthresh = 1000;
    round(&mut socket, 10_000, 8);
    round(&mut socket, 50_000, 20);
    assert_eq!((mode(&mut socket), socket.snd_ssthresh()), (SLOW_START, 1000));
    socket.cong_avoid(0, 44);
    assert_eq!(socket.cwnd(), 144);
    // A timeout forgets CSS.
    let mut socket = conservative();
    socket.set_state(CA_LOSS);
    assert_eq!(mode(&mut socket), SLOW_START);
}

#[test]
fn the_constants_are_tunables() {
    let mut socket = slow_starting(100);
    for (name, value) in [("hspp_rtt_thresh_min_us", 1000), ("hspp_rtt_divisor", 100), ("hspp_rtt_samples", 2)] {
        socket.set_tunable(name, value).expect("a tunable");
    }
    for (name, value) in [("css_growth_divisor", 2), ("css_rounds", 1), ("hspp_ack_limit", 4)] {
        socket.set_tunable(name, value).expect("a tunable");
    }
    round(&mut socket, 10_000, 1);
    round(&mut socket, 11_000, 2);
    assert_eq!(mode(&mut socket), CSS);
    socket.cong_avoid(0, 44);
    assert_eq!(socket.cwnd(), 102, "4 / 2");
    round(&mut socket, 11_000, 1);
    assert_eq!(socket.snd_ssthresh(), 102);
}

/// Unpaced slow start sends a round's growth as a burst, so the queue rises before the link is full; CSS goes on from there.
#[test]
fn on_a_path_it_goes_through_css_and_loses_less_than_slow_start() {
    let run = |hystart| {
        let mut socket = established("cubic");
        socket.set_tunable("hystart", hystart).expect("a tunable");
        let mut flow = Flow::new(socket, link(2000), 1);
        let mut css = false;
        flow.run_for_us(3_000_000, |flow| css |= flow.socket.trace().is_some_and(|trace| trace.mode == CSS));
        (css, flow.stats())
    };
    let (none, with) = (run(0), run(2));
    assert!(!none.0 && with.0, "CSS: {} and {}", none.0, with.0);
    assert!(with.1.lost_pkts * 2 < none.1.lost_pkts, "{:?} and {:?}", with.1, none.1);
    assert!(with.1.delivered_pkts * 10 > none.1.delivered_pkts * 9, "{:?} and {:?}", with.1, none.1);
}
