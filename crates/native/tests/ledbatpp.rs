//! LEDBAT++ against its formulas, and over a path.

mod common;

use ccactl_native::path::{Flow, Link};
use ccactl_native::{CA_LOSS, CA_OPEN, CA_RECOVERY, EVENT_TX_START, Socket};
use common::{established, rtt};

const START: u32 = 0;
const AVOIDANCE: u32 = 1;
const SLOWDOWN: u32 = 2;
const RAMP: u32 = 3;

const MINUTE_US: u64 = 60_000_000;

fn mode(socket: &Socket) -> u32 {
    socket.trace().expect("published").mode
}

/// Four samples, so that the smallest of the last four is this one.
fn current_rtt(socket: &mut Socket, rtt_us: i32) {
    for _ in 0..4 {
        rtt(socket, rtt_us);
    }
}

/// Base RTT 40 ms, thus GAIN = 1 / ceil(120 / 40) = 1/3, and a smoothed RTT of 40 ms.
fn on_40_ms() -> Socket {
    let mut socket = established("ledbatpp");
    socket.tp_mut().srtt_us = 40_000 << 3;
    current_rtt(&mut socket, 40_000);
    socket
}

/// In avoidance at so many packets, with the first slowdown far away.
fn avoiding(cwnd: u32, queue_us: i32) -> Socket {
    let mut socket = on_40_ms();
    socket.set_tunable("slowdown", 0).expect("a tunable");
    socket.tp_mut().snd_cwnd = cwnd;
    socket.tp_mut().snd_ssthresh = cwnd;
    current_rtt(&mut socket, 40_000 + queue_us);
    socket
}

#[test]
fn the_gain_follows_from_the_base_delay() {
    // min(16, ceil(120 ms / base))
    for (base_us, divisor) in
        [(200_000, 1), (120_000, 1), (119_999, 2), (60_000, 2), (40_000, 3), (7500, 16), (100, 16)]
    {
        let mut socket = established("ledbatpp");
        rtt(&mut socket, base_us);
        socket.cong_avoid(0, 1);
        let trace = socket.trace().expect("published");
        assert_eq!((trace.v1, trace.min_rtt_us), (divisor, base_us as u32));
    }
}

#[test]
fn it_starts_with_two_packets_and_slow_start_adds_the_gain_per_packet() {
    let mut socket = on_40_ms();
    assert_eq!(socket.cwnd(), 2);
    // No ACK counts for more than the window: two packets each time, 2 + 2/3 and then 2 + 4/3.
    for cwnd in [2, 3] {
        socket.cong_avoid(0, 6);
        assert_eq!(socket.cwnd(), cwnd);
    }
    socket.tp_mut().snd_cwnd = 30;
    socket.cong_avoid(0, 12);
    assert_eq!((socket.cwnd(), mode(&socket)), (34, START));
    let mut kernels = established("ledbatpp");
    kernels.set_tunable("init_cwnd", 0).expect("a tunable");
    kernels.tp_mut().snd_cwnd = 10;
    kernels.init();
    assert_eq!(kernels.cwnd(), 10);
}

#[test]
fn the_first_slow_start_ends_above_three_quarters_of_the_target() {
    for (queue_us, expected) in [(45_000, START), (45_001, AVOIDANCE)] {
        let mut socket = on_40_ms();
        socket.tp_mut().snd_cwnd = 90;
        current_rtt(&mut socket, 40_000 + queue_us);
        socket.cong_avoid(0, 1);
        assert_eq!((mode(&socket), socket.snd_ssthresh() == 90), (expected, expected == AVOIDANCE), "{queue_us} us");
    }
}

#[test]
fn up_to_the_target_the_window_grows_by_the_gain_per_round_trip() {
    for queue_us in [0, 30_000, 60_000] {
        let mut socket = avoiding(30, queue_us);
        // A third of a packet per 30 acknowledged: the 31st packet is complete after 90, and what rounding took.
        for _ in 0..3 {
            socket.cong_avoid(0, 30);
        }
        assert_eq!(socket.cwnd(), 30, "{queue_us} us");
        socket.cong_avoid(0, 1);
        assert_eq!((socket.cwnd(), mode(&socket)), (31, AVOIDANCE), "{queue_us} us");
    }
}

#[test]
fn above_the_target_it_shrinks_in_proportion_and_by_half_at_most() {
    // Per packet acknowledged: q / TARGET - 1 - GAIN / W, at most 1/2.
    for (queue_us, acked, cwnd) in [
        // 1/4 - 1/300 = 0.24667, times 20: 4.93
        (75_000, 20, 95),
        // times 100, a whole round trip: 24.67
        (75_000, 100, 75),
        // 1/2 - 1/300, times 10: 4.97
        (90_000, 10, 95),
        // 1 - 1/300, of which 1/2 counts
        (120_000, 10, 95),
        (600_000, 100, 50),
        // No ACK takes more than a round trip's share.
        (600_000, 1000, 50),
    ] {
        let mut socket = avoiding(100, queue_us);
        socket.cong_avoid(0, acked);
        assert_eq!((socket.cwnd(), mode(&socket)), (cwnd, AVOIDANCE), "{queue_us} us, {acked} packets");
        assert!(socket.snd_ssthresh() <= cwnd, "slow start would bring it back");
    }
}

#[test]
fn it_never_shrinks_below_two_packets_and_twice_as_fast_with_twice_the_constant() {
    let mut socket = avoiding(3, 500_000);
    for _ in 0..10 {
        socket.cong_avoid(0, 3);
    }
    assert_eq!(socket.cwnd(), 2);
    let mut socket = avoiding(100, 75_000);
    socket.set_tunable("decrease_gain", 2000).expect("a tunable");
    // 2 * 1/4 - 1/300, times 20: 9.93
    socket.cong_avoid(0, 20);
    assert_eq!(socket.cwnd(), 90);
}

#[test]
fn the_delay_is_the_smallest_of_the_last_four_samples_above_base() {
    let mut socket = on_40_ms();
    for (rtt_us, queue_us) in [(100_000, 0), (90_000, 0), (95_000, 0), (99_000, 50_000), (70_000, 30_000), (-1, 30_000)]
    {
        rtt(&mut socket, rtt_us);
        socket.cong_avoid(0, 1);
        assert_eq!(socket.trace().map(|trace| trace.v0), Some(queue_us), "after {rtt_us}");
    }
}

#[test]
fn base_is_the_lowest_sample_of_ten_minutes() {
    let base = |socket: &mut Socket| {
        socket.cong_avoid(0, 1);
        socket.trace().expect("published").min_rtt_us
    };
    let mut socket = on_40_ms();
    for minute in 1..=9 {
        socket.advance_us(MINUTE_US);
        rtt(&mut socket, 50_000 + minute);
        assert_eq!(base(&mut socket), 40_000, "minute {minute}");
    }
    socket.advance_us(MINUTE_US);
    rtt(&mut socket, 70_000);
    assert_eq!(base(&mut socket), 50_001);
    // Three minutes without a sample: each of the next samples turns one minute.
    socket.advance_us(3 * MINUTE_US);
    for lowest in [50_002, 50_003, 50_004, 50_004] {
        rtt(&mut socket, 70_000);
        assert_eq!(base(&mut socket), lowest);
    }
    socket.advance_us(10 * MINUTE_US);
    rtt(&mut socket, 90_000);
    assert_eq!(base(&mut socket), 90_000);
}

/// Has left the first slow start at 80 packets, at the returned time.
fn after_first_slow_start() -> (Socket, u64) {
    let mut socket = on_40_ms();
    socket.tp_mut().snd_cwnd = 80;
    current_rtt(&mut socket, 90_000);
    socket.cong_avoid(0, 1);
    assert_eq!(mode(&socket), AVOIDANCE);
    let left_us = socket.time_us();
    (socket, left_us)
}

/// Through the hold of a slowdown that has just begun, and the way back to `ramp` packets in so long.
fn ramp_up(socket: &mut Socket, ramp: u32, takes_us: u64) {
    socket.advance_us(79_999);
    socket.cong_avoid(0, 2);
    assert_eq!((socket.cwnd(), mode(socket)), (2, SLOWDOWN), "two round trips of 40 ms are not over");
    socket.advance_us(1);
    socket.cong_avoid(0, 1);
    assert_eq!((mode(socket), socket.snd_ssthresh()), (RAMP, ramp));
    socket.advance_us(takes_us);
    socket.tp_mut().snd_cwnd = ramp;
    socket.cong_avoid(0, 1);
    assert_eq!(mode(socket), AVOIDANCE);
}

#[test]
fn the_first_slowdown_comes_two_round_trips_after_slow_start_and_the_next_after_nine_times_its_length() {
    let (mut socket, _) = after_first_slow_start();
    current_rtt(&mut socket, 40_000);
    socket.advance_us(79_999);
    socket.cong_avoid(0, 1);
    assert_eq!((socket.cwnd(), mode(&socket)), (80, AVOIDANCE));
    socket.advance_us(1);
    socket.cong_avoid(0, 1);
    assert_eq!((socket.cwnd(), socket.snd_ssthresh(), mode(&socket)), (2, 80, SLOWDOWN));
    // 80 ms of hold and 120 ms of ramp: 9 * 200 ms.
    ramp_up(&mut socket, 80, 120_000);
    socket.advance_us(1_799_999);
    socket.cong_avoid(0, 1);
    assert_eq!(mode(&socket), AVOIDANCE);
    socket.advance_us(1);
    socket.cong_avoid(0, 1);
    assert_eq!(mode(&socket), SLOWDOWN);
}

#[test]
fn slowdowns_are_at_least_a_second_apart_unless_the_draft_is_taken_to_the_letter() {
    for (floor_ms, wait_us) in [(1000, 1_000_000), (0, 900_000)] {
        let (mut socket, _) = after_first_slow_start();
        socket.set_tunable("slowdown_min_interval_ms", floor_ms).expect("a tunable");
        current_rtt(&mut socket, 40_000);
        socket.advance_us(80_000);
        socket.cong_avoid(0, 1);
        ramp_up(&mut socket, 80, 20_000);
        socket.advance_us(wait_us - 1);
        socket.cong_avoid(0, 1);
        assert_eq!(mode(&socket), AVOIDANCE, "floor {floor_ms} ms");
        socket.advance_us(1);
        socket.cong_avoid(0, 1);
        assert_eq!(mode(&socket), SLOWDOWN, "floor {floor_ms} ms");
    }
}

#[test]
fn a_slowdown_waits_for_the_open_state_and_for_a_window_in_use() {
    let (mut socket, _) = after_first_slow_start();
    current_rtt(&mut socket, 40_000);
    socket.advance_us(80_000);
    socket.set_state(1);
    socket.cong_avoid(0, 1);
    assert_eq!(mode(&socket), AVOIDANCE);
    socket.set_state(CA_OPEN);
    socket.tp_mut().set_cwnd_limited(false);
    socket.cong_avoid(0, 1);
    assert_eq!((mode(&socket), socket.cwnd()), (AVOIDANCE, 80));
    socket.tp_mut().set_cwnd_limited(true);
    socket.cong_avoid(0, 1);
    assert_eq!(mode(&socket), SLOWDOWN);
}

#[test]
fn two_round_trips_of_silence_count_as_a_slowdown() {
    for (idle_us, slows_down) in [(40_000, true), (80_000, false)] {
        let (mut socket, _) = after_first_slow_start();
        current_rtt(&mut socket, 40_000);
        socket.advance_us(80_000);
        socket.cong_avoid(0, 1);
        ramp_up(&mut socket, 80, 120_000);
        socket.tp_mut().lsndtime = socket.jiffies() + 500 - (idle_us / 4000) as u32;
        socket.advance_us(2_000_000);
        socket.cwnd_event(EVENT_TX_START);
        socket.cong_avoid(0, 1);
        assert_eq!(mode(&socket) == SLOWDOWN, slows_down, "idle for {idle_us} us");
    }
}

#[test]
fn a_loss_halves_and_during_a_slowdown_halves_the_window_to_return_to() {
    let mut socket = avoiding(100, 0);
    for (cwnd, ssthresh) in [(100, 50), (7, 3), (3, 2), (1, 2)] {
        socket.tp_mut().snd_cwnd = cwnd;
        assert_eq!(socket.ssthresh(), ssthresh, "cwnd {cwnd}");
    }
    for undone in [false, true] {
        let (mut socket, _) = after_first_slow_start();
        current_rtt(&mut socket, 40_000);
        socket.advance_us(80_000);
        socket.cong_avoid(0, 1);
        let ssthresh = socket.ssthresh();
        socket.set_state(CA_RECOVERY);
        socket.tp_mut().snd_ssthresh = ssthresh;
        if undone {
            assert_eq!(socket.undo_cwnd(), 2);
        }
        socket.set_state(CA_OPEN);
        socket.advance_us(80_000);
        socket.cong_avoid(0, 1);
        assert_eq!((mode(&socket), socket.snd_ssthresh()), (RAMP, if undone { 80 } else { 40 }));
    }
}

#[test]
fn a_timeout_ends_a_slowdown_and_undo_of_a_loss_returns_to_the_first_slow_start() {
    let (mut socket, _) = after_first_slow_start();
    current_rtt(&mut socket, 40_000);
    socket.advance_us(80_000);
    socket.cong_avoid(0, 1);
    socket.ssthresh();
    socket.set_state(CA_LOSS);
    socket.tp_mut().snd_cwnd = 1;
    socket.cong_avoid(0, 1);
    assert_eq!((mode(&socket), socket.snd_ssthresh(), socket.cwnd()), (RAMP, 40, 2));

    let mut socket = on_40_ms();
    socket.tp_mut().snd_cwnd = 100;
    socket.tp_mut().prior_cwnd = 100;
    let ssthresh = socket.ssthresh();
    socket.tp_mut().snd_ssthresh = ssthresh;
    socket.tp_mut().snd_cwnd = 50;
    socket.cong_avoid(0, 1);
    assert_eq!(mode(&socket), AVOIDANCE);
    assert_eq!(socket.undo_cwnd(), 100);
    socket.tp_mut().snd_cwnd = 100;
    socket.tp_mut().snd_ssthresh = 0x7fff_ffff;
    socket.advance_us(1_000_000);
    socket.cong_avoid(0, 3);
    assert_eq!((mode(&socket), socket.cwnd()), (START, 101));
}

fn deep_link() -> Link {
    // 60 ms of queue are 250 packets; 1000 fit.
    Link { rate_bps: 50_000_000, base_rtt_us: 40_000, buffer_pkts: 1000, loss_ppm: 0 }
}

/// Starts of slowdowns in µs since the start of the flow, and their lengths to the end of the ramp.
fn slowdowns(flow: &mut Flow, duration_us: u64) -> Vec<(u64, u64)> {
    let start_us = flow.socket.time_us();
    let mut seen: Vec<(u64, u64)> = Vec::new();
    let mut previous = START;
    flow.run_for_us(duration_us, |flow| {
        let (now_us, mode) = (flow.socket.time_us() - start_us, mode(&flow.socket));
        if mode == SLOWDOWN && previous != SLOWDOWN {
            seen.push((now_us, 0));
        } else if mode == AVOIDANCE && previous == RAMP {
            let last = seen.last_mut().expect("a ramp follows a slowdown");
            last.1 = now_us - last.0;
        }
        previous = mode;
    });
    seen
}

#[test]
fn alone_it_keeps_the_target_and_slows_down_a_tenth_of_the_time() {
    let mut flow = Flow::new(established("ledbatpp"), deep_link(), 1);
    let seen = slowdowns(&mut flow, 100_000_000);
    eprintln!("{seen:?}");
    assert!(seen.len() >= 4, "{seen:?}");
    for pair in seen.windows(2) {
        let (start, lasted) = pair[0];
        let waited = pair[1].0 - start - lasted;
        assert!(waited.abs_diff(9 * lasted) < 200_000, "{pair:?}");
    }
    let (mut queue_us, mut largest, mut acks, mut below_base) = (0, 0, 0, 0);
    flow.run_for_us(60_000_000, |flow| {
        let trace = flow.socket.trace().expect("published");
        if trace.mode == AVOIDANCE {
            queue_us += trace.v0;
            largest = largest.max(trace.v0);
            acks += 1;
        }
        below_base += u32::from(trace.min_rtt_us.abs_diff(40_240) > 1000);
    });
    eprintln!("queue {} us, at most {largest}", queue_us / acks);
    assert!((40_000..62_000).contains(&(queue_us / acks)) && largest < 75_000, "{} {largest}", queue_us / acks);
    assert_eq!((flow.stats().lost_pkts, below_base), (0, 0));
    assert!(flow.stats().delivered_pkts * 100 > 160 * 50_000_000 / 12_000 * 85, "{:?}", flow.stats());
}

#[test]
fn when_others_fill_the_queue_it_goes_down_to_two_packets_and_comes_back() {
    let mut flow = Flow::new(established("ledbatpp"), deep_link(), 1);
    flow.run_for_us(20_000_000, |_| {});
    let before = flow.socket.cwnd();
    // A queue of 100 ms that is not ours.
    flow.link.base_rtt_us = 140_000;
    flow.run_for_us(15_000_000, |_| {});
    assert!(flow.socket.cwnd() <= 3, "{before} and then {}", flow.socket.cwnd());
    flow.link.base_rtt_us = 40_000;
    flow.run_for_us(60_000_000, |_| {});
    assert!(flow.socket.cwnd() > 170, "{before} and then {}", flow.socket.cwnd());
}
