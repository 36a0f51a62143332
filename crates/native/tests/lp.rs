//! TCP-LP against hand-worked sequences of timestamps. All clocks in ms; the native reading unless a test says otherwise.

mod common;

use ccactl_native::path::Flow;
use ccactl_native::{AckSample, Socket};
use common::{established, link};

const SLOW_START: u32 = 0;
const AVOIDANCE: u32 = 1;
const INFERENCE: u32 = 2;

/// In avoidance at this window, with timestamps.
fn avoiding(cwnd: u32) -> Socket {
    let mut socket = established("lp");
    socket.tp_mut().snd_cwnd = cwnd;
    socket.tp_mut().snd_ssthresh = 2;
    socket.tp_mut().rx_opt.flags = 3;
    socket
}

/// Our clock, as timestamps carry it.
fn now_ms(socket: &Socket) -> u32 {
    (socket.time_us() / 1000) as u32
}

/// Moves on by `after_ms`, then an ACK for data of `rtt_ms` ago, sent by a receiver whose clock is `offset` ahead of ours,
/// after a way of `owd_ms`.
fn ack(socket: &mut Socket, after_ms: u64, rtt_ms: u32, owd_ms: u32, offset: u32) {
    socket.advance_us(after_ms * 1000);
    let echo = now_ms(socket) - rtt_ms;
    let rx_opt = &mut socket.tp_mut().rx_opt;
    (rx_opt.rcv_tsval, rx_opt.rcv_tsecr) = (echo.wrapping_add(owd_ms).wrapping_add(offset), echo);
    socket.pkts_acked(&AckSample { pkts_acked: 1, rtt_us: (rtt_ms * 1000) as i32, in_flight: 0 });
}

/// Mode, smoothed delay and limit, published without growth.
fn look(socket: &mut Socket) -> (u32, i64, i64) {
    socket.cong_avoid(0, 0);
    let trace = socket.trace().expect("published");
    (trace.mode, trace.v0, trace.v1)
}

#[test]
fn without_timestamps_it_is_reno() {
    let mut socket = avoiding(100);
    socket.tp_mut().rx_opt.flags = 0;
    for _ in 0..10 {
        ack(&mut socket, 10, 10, 500, 0);
    }
    assert_eq!((socket.cwnd(), look(&mut socket)), (100, (AVOIDANCE, 0, 0)));
    socket.cong_avoid(0, 100);
    assert_eq!(socket.cwnd(), 101);
    for (cwnd, ssthresh) in [(100, 50), (3, 2), (1, 2)] {
        socket.tp_mut().snd_cwnd = cwnd;
        assert_eq!(socket.ssthresh(), ssthresh);
    }
    socket.tp_mut().prior_cwnd = 60;
    assert_eq!(socket.undo_cwnd(), 60);
}

#[test]
fn the_first_delay_counts_as_congestion_and_sets_the_range() {
    let mut socket = avoiding(100);
    // No rate of the remote clock yet: no delay. The second ACK gives 1000 * 10 / 10 = 1000 Hz and a delay of 100.
    ack(&mut socket, 10, 10, 100, 0);
    assert_eq!((socket.cwnd(), look(&mut socket)), (100, (AVOIDANCE, 0, 0)));
    ack(&mut socket, 10, 10, 100, 0);
    // owd = min = max, so 100 < 100 + 0 fails: half, min = 100, max = 200, limit 100 + 15 * 100 / 100.
    assert_eq!((socket.cwnd(), look(&mut socket)), (50, (AVOIDANCE, 100, 115)));
    // Within three RTTs of that nothing grows; 100 < 115.
    ack(&mut socket, 1, 10, 100, 0);
    assert_eq!((socket.cwnd(), look(&mut socket)), (50, (INFERENCE, 100, 115)));
    socket.cong_avoid(0, 1000);
    assert_eq!(socket.cwnd(), 50);
}

#[test]
fn inference_ends_after_three_rtts() {
    let mut socket = avoiding(100);
    ack(&mut socket, 10, 10, 100, 0);
    ack(&mut socket, 10, 10, 100, 0);
    ack(&mut socket, 29, 10, 100, 0);
    assert_eq!(look(&mut socket).0, INFERENCE);
    ack(&mut socket, 1, 10, 100, 0);
    assert_eq!(look(&mut socket).0, AVOIDANCE);
    socket.cong_avoid(0, 50);
    assert_eq!(socket.cwnd(), 51);
}

/// A rise of the delay within an RTT looks like a faster remote clock (below), so these two let it rise over minutes: with
/// an RTT of 100 s, inference takes 300.
fn at_one_hundred_ms() -> Socket {
    let mut socket = avoiding(100);
    ack(&mut socket, 90_000, 100_000, 100, 0);
    ack(&mut socket, 90_000, 100_000, 100, 0);
    assert_eq!((socket.cwnd(), look(&mut socket)), (50, (AVOIDANCE, 100, 115)));
    socket
}

#[test]
fn a_second_indication_during_inference_leaves_one_packet() {
    let mut socket = at_one_hundred_ms();
    // 1000 * 90080 / 90000 is still 1000 Hz. Smoothed: 800 + 180 - 100 = 880, 110 ms: below 115.
    ack(&mut socket, 90_000, 100_000, 180, 0);
    assert_eq!((socket.cwnd(), look(&mut socket)), (50, (INFERENCE, 110, 115)));
    // 880 + 180 - 110 = 950, 118 ms: above. New range 118 to 950 >> 2 = 237: limit 118 + 15 * 119 / 100 = 135.
    ack(&mut socket, 90_000, 100_000, 180, 0);
    assert_eq!((socket.cwnd(), look(&mut socket)), (1, (INFERENCE, 118, 135)));
}

#[test]
fn the_same_indication_after_inference_halves() {
    let mut socket = at_one_hundred_ms();
    ack(&mut socket, 400_000, 100_000, 180, 0);
    ack(&mut socket, 90_000, 100_000, 180, 0);
    assert_eq!((socket.cwnd(), look(&mut socket).1), (25, 118));
}

#[test]
fn a_window_of_one_stays() {
    let mut socket = avoiding(1);
    ack(&mut socket, 10, 10, 100, 0);
    ack(&mut socket, 10, 10, 100, 0);
    assert_eq!(socket.cwnd(), 1);
}

#[test]
fn with_a_random_offset_the_smoothed_delay_overflows_and_the_flow_is_reno() {
    let mut socket = avoiding(100);
    for _ in 0..10 {
        ack(&mut socket, 10, 10, 100, 1 << 30);
    }
    // 2^30 + 100, kept times 8 in 32 bits, is 800: far below the minimum of 2^30 + 100.
    for _ in 0..50 {
        ack(&mut socket, 10, 10, 900, 1 << 30);
    }
    assert_eq!(socket.cwnd(), 100);
    assert!(look(&mut socket).2 >= 1 << 30);
}

#[test]
fn a_rise_of_the_delay_is_taken_for_a_faster_remote_clock_and_that_for_a_stopped_one() {
    let mut socket = avoiding(100);
    ack(&mut socket, 10, 10, 100, 0);
    ack(&mut socket, 10, 10, 100, 0);
    assert_eq!(socket.cwnd(), 50);
    // Progress of 11 against 10: (64000 + 1100 - 1000) / 64 = 1001 Hz, and 1000 / 1001 = 0. The delay is minus our clock,
    // nearly 2^32, and of 800 + owd - 100, in 32 bits, three bits are fraction.
    ack(&mut socket, 10, 10, 101, 0);
    let owd = 0_u32.wrapping_sub(now_ms(&socket) - 10);
    assert_eq!(look(&mut socket).1, i64::from(owd.wrapping_add(700) >> 3));
}

/// As [`avoiding`], with the paper's delay.
fn paper(cwnd: u32) -> Socket {
    let mut socket = avoiding(cwnd);
    socket.set_tunable("owd_reading", 1).expect("a tunable");
    socket
}

#[test]
fn the_papers_delay_needs_no_offset_and_no_rate() {
    for offset in [0, 1 << 30, 0u32.wrapping_sub(5)] {
        let mut socket = paper(100);
        for _ in 0..20 {
            ack(&mut socket, 10, 10, 100, offset);
        }
        // One ms more is the clocks' resolution.
        ack(&mut socket, 10, 10, 101, offset);
        assert_eq!((socket.cwnd(), look(&mut socket)), (100, (AVOIDANCE, 1 << 20, (1 << 20) + 1)), "offset {offset}");
    }
}

#[test]
fn the_papers_limit_is_fifteen_percent_of_the_range() {
    let mut socket = paper(100);
    ack(&mut socket, 10, 10, 100, 7777);
    // A rise of 40 sets the range: limit 6. Smoothed, in 1/8 ms: 40, 40 + 40 - 5 = 75, hence 5 and 9 ms.
    ack(&mut socket, 50, 50, 140, 7777);
    assert_eq!((socket.cwnd(), look(&mut socket)), (100, (AVOIDANCE, (1 << 20) + 5, (1 << 20) + 6)));
    ack(&mut socket, 50, 50, 140, 7777);
    assert_eq!((socket.cwnd(), look(&mut socket)), (50, (AVOIDANCE, (1 << 20) + 9, (1 << 20) + 6)));
    // Data sent before the reaction says nothing new, 50 ms after it either.
    ack(&mut socket, 50, 50, 140, 7777);
    assert_eq!((socket.cwnd(), look(&mut socket).0), (50, INFERENCE));
    // What was sent after it does; two packets are acknowledged at once, one alone would be delayed.
    ack(&mut socket, 1, 50, 140, 7777);
    assert_eq!((socket.cwnd(), look(&mut socket).0), (2, INFERENCE));
}

#[test]
fn the_papers_delay_survives_a_clock_that_is_set() {
    let mut socket = paper(100);
    ack(&mut socket, 10, 10, 100, 0);
    ack(&mut socket, 10, 10, 100, 1 << 30);
    ack(&mut socket, 10, 10, 100, 0);
    assert_eq!(socket.cwnd(), 100);
}

#[test]
fn slow_start_is_renos() {
    let mut socket = established("lp");
    socket.cong_avoid(0, 5);
    assert_eq!((socket.cwnd(), look(&mut socket).0), (15, SLOW_START));
    socket.tp_mut().set_cwnd_limited(false);
    socket.cong_avoid(0, 5);
    assert_eq!(socket.cwnd(), 15);
}

#[test]
fn on_a_path_without_timestamps_it_does_what_reno_does() {
    let run = |name| {
        let mut flow = Flow::new(established(name), link(1000), 1);
        flow.run_for_us(10_000_000, |_| {});
        (flow.stats(), flow.socket.cwnd())
    };
    assert_eq!(run("lp"), run("reno"));
}
