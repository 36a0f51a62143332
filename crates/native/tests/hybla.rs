//! Hybla against hand-worked vectors. `srtt_us` is the kernel's: 8 times the smoothed RTT. Trace: v0 = rho, v1 = rho², in
//! thousandths.

mod common;
mod loss_driver;

use ccactl_native::path::{Flow, Link};
use ccactl_native::{CA_DISORDER, CA_OPEN, CA_RECOVERY, Socket};
use common::established;

const SLOW_START: u32 = 0;
const AVOIDANCE: u32 = 1;
const RENO: u32 = 2;

/// Initialised when the smoothed RTT is known, as after a handshake.
fn over_us(algorithm: &str, rtt_us: u32) -> Socket {
    let mut socket = established(algorithm);
    socket.tp_mut().srtt_us = rtt_us << 3;
    socket.init();
    socket
}

fn over_ms(rtt_ms: u32) -> Socket {
    over_us("hybla", rtt_ms * 1000)
}

fn avoiding(rtt_ms: u32, cwnd: u32) -> Socket {
    loss_driver::avoiding(over_ms(rtt_ms), cwnd)
}

fn rho(socket: &mut Socket) -> (i64, i64) {
    socket.cong_avoid(0, 1);
    let trace = socket.trace().expect("published");
    (trace.v0, trace.v1)
}

#[test]
fn the_window_starts_at_rho_packets() {
    // rho = RTT / 25 ms, at least 1.
    for (rtt_ms, cwnd) in [(0, 1), (10, 1), (49, 1), (50, 2), (200, 8), (600, 24)] {
        assert_eq!(over_ms(rtt_ms).cwnd(), cwnd, "{rtt_ms} ms");
    }
}

#[test]
fn rho_is_kept_in_eighths() {
    // 40 ms: 320000 / 25000 = 12.8 eighths, so 12: 1.5, and 2.25.
    assert_eq!(rho(&mut over_ms(40)), (1500, 2250));
    assert_eq!(rho(&mut over_ms(25)), (1000, 1000));
    assert_eq!(rho(&mut over_ms(600)), (24_000, 576_000));
}

#[test]
fn slow_start_adds_two_to_the_rho_less_one_per_ack() {
    // rho = 8: 255 packets, whatever the ACK covers.
    let mut socket = over_ms(200);
    socket.cong_avoid(0, 1);
    assert_eq!(socket.cwnd(), 8 + 255);
    socket.cong_avoid(0, 40);
    assert_eq!(socket.cwnd(), 8 + 2 * 255);
    // rho = 1: one packet.
    let mut socket = over_ms(10);
    socket.cong_avoid(0, 1);
    assert_eq!(socket.cwnd(), 2);
    // rho = 1.5: 2^1.5 = 181 · 2 / 128; 362 - 128 = 234 are a packet and 106/128, then two and 84/128.
    let mut socket = over_ms(40);
    socket.cong_avoid(0, 1);
    assert_eq!(socket.cwnd(), 2);
    socket.cong_avoid(0, 1);
    assert_eq!(socket.cwnd(), 4);
}

#[test]
fn slow_start_ends_at_ssthresh() {
    let mut socket = over_ms(200);
    socket.tp_mut().snd_ssthresh = 100;
    socket.cong_avoid(0, 1);
    assert_eq!((socket.cwnd(), socket.trace().map(|trace| trace.mode)), (100, Some(AVOIDANCE)));
}

#[test]
fn avoidance_adds_rho_squared_over_the_window_per_ack() {
    // rho² = 64: 8192 / 32 = 256 are two packets.
    let mut socket = avoiding(200, 32);
    socket.cong_avoid(0, 1);
    assert_eq!((socket.cwnd(), socket.tp().snd_cwnd_cnt), (34, 0));
    // 8192 / 100 = 81; twice that are a packet and 34/128.
    let mut socket = avoiding(200, 100);
    socket.cong_avoid(0, 1);
    assert_eq!((socket.cwnd(), socket.tp().snd_cwnd_cnt), (100, 1));
    socket.cong_avoid(0, 1);
    assert_eq!((socket.cwnd(), socket.tp().snd_cwnd_cnt), (101, 0));
}

#[test]
fn a_step_that_rounds_to_nothing_leaves_a_packet_per_window() {
    // rho = 1: 128 / 129 = 0.
    let mut socket = avoiding(25, 129);
    for _ in 0..128 {
        socket.cong_avoid(0, 1);
    }
    assert_eq!((socket.cwnd(), socket.tp().snd_cwnd_cnt), (129, 128));
    socket.cong_avoid(0, 1);
    assert_eq!((socket.cwnd(), socket.tp().snd_cwnd_cnt), (130, 0));
    // 128 / 100 = 1: a packet per 128 ACKs, not per 100.
    let mut socket = avoiding(25, 100);
    for _ in 0..127 {
        socket.cong_avoid(0, 1);
    }
    assert_eq!(socket.cwnd(), 100);
    socket.cong_avoid(0, 1);
    assert_eq!(socket.cwnd(), 101);
}

#[test]
fn rho_follows_a_falling_rtt_only() {
    let mut socket = over_ms(200);
    assert_eq!(rho(&mut socket).0, 8000);
    socket.tp_mut().srtt_us = 100_000 << 3;
    assert_eq!(rho(&mut socket).0, 4000);
    socket.tp_mut().srtt_us = 400_000 << 3;
    assert_eq!(rho(&mut socket).0, 4000);
    // Without an RTT at the start the minimum is 0, and rho stays 1.
    let mut socket = over_ms(0);
    socket.tp_mut().srtt_us = 400_000 << 3;
    assert_eq!(rho(&mut socket).0, 1000);
}

#[test]
fn outside_the_open_state_growth_is_renos() {
    let mut socket = avoiding(200, 100);
    socket.set_state(CA_DISORDER);
    socket.cong_avoid(0, 100);
    assert_eq!((socket.cwnd(), socket.trace().map(|trace| trace.mode)), (101, Some(RENO)));
    socket.set_state(CA_OPEN);
    socket.cong_avoid(0, 1);
    socket.cong_avoid(0, 1);
    assert_eq!((socket.cwnd(), socket.trace().map(|trace| trace.mode)), (102, Some(AVOIDANCE)));
}

#[test]
fn the_window_is_cut_to_65535_and_rho_to_16() {
    // rho = 40 counts as 16: 65535 packets in one ACK, and the window cannot hold more.
    let mut socket = over_ms(1000);
    socket.cong_avoid(0, 1);
    assert_eq!((socket.cwnd(), socket.trace().map(|trace| trace.mode)), (65_535, Some(SLOW_START)));
    let mut socket = over_ms(1000);
    socket.set_tunable("max_cwnd_pkts", 1_000_000).expect("a tunable");
    socket.cong_avoid(0, 1);
    assert_eq!(socket.cwnd(), 40 + 65_535);
    // Reno's growth is under the same limit.
    let mut socket = avoiding(25, 65_535);
    socket.set_state(CA_DISORDER);
    socket.cong_avoid(0, 65_535);
    assert_eq!(socket.cwnd(), 65_535);
}

#[test]
fn a_loss_halves_and_undo_returns_the_larger_window() {
    for (cwnd, ssthresh) in [(100, 50), (7, 3), (3, 2), (1, 2)] {
        assert_eq!(avoiding(200, cwnd).ssthresh(), ssthresh, "cwnd {cwnd}");
    }
    let mut socket = avoiding(200, 50);
    socket.set_state(CA_RECOVERY);
    socket.tp_mut().prior_cwnd = 100;
    assert_eq!(socket.undo_cwnd(), 100);
}

#[test]
fn nothing_grows_while_the_application_limits_but_rho_follows_the_rtt() {
    let mut socket = avoiding(200, 100);
    socket.tp_mut().set_cwnd_limited(false);
    socket.tp_mut().srtt_us = 100_000 << 3;
    assert_eq!(rho(&mut socket).0, 4000);
    assert_eq!((socket.cwnd(), socket.tp().snd_cwnd_cnt), (100, 0));
}

#[test]
fn rtt0_is_a_tunable() {
    let mut socket = over_ms(200);
    socket.set_tunable("rtt0_ms", 100).expect("a tunable");
    socket.init();
    assert_eq!((socket.cwnd(), rho(&mut socket).0), (2, 2000));
}

/// The point of Hybla: the rate grows by 1 / RTT0² = 1600 packets/s per second, whatever the RTT.
#[test]
fn the_rate_grows_alike_for_all_rtts() {
    for rtt_ms in [25, 50, 100, 200, 400] {
        let mut socket = avoiding(rtt_ms, 2 * rtt_ms); // 2000 packets/s
        for _ in 0..4000 / rtt_ms {
            for _ in 0..socket.cwnd() {
                socket.cong_avoid(0, 1);
            }
        }
        let rate = f64::from(socket.cwnd()) * 1000.0 / f64::from(rtt_ms);
        // 2000 + 4 · 1600; a step is a whole number of 1/128, which can take up to half of it away.
        assert!((5200.0..8500.0).contains(&rate), "{rtt_ms} ms: {rate} packets/s");
    }
}

#[test]
fn on_a_long_path_it_fills_the_link_sooner_than_reno() {
    let link =
        Link { rate_bps: 50_000_000, base_rtt_us: 100_000, buffer_pkts: 0, loss_ppm: 200 }.with_buffer_milli_bdp(1000);
    let delivered = |algorithm| {
        let mut flow = Flow::new(over_us(algorithm, 100_000), link, 1);
        flow.run_for_us(20_000_000, |_| {});
        flow.stats().delivered_pkts
    };
    // Reno's window at a loss rate of 2e-4 is 1.2 / sqrt(p) = 85 packets of the BDP of 416; Hybla's is 4 times that.
    let (hybla, reno) = (delivered("hybla"), delivered("reno"));
    assert!(hybla > 2 * reno, "{hybla} and {reno}");
}
