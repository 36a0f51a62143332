//! Rounds for the descendants of Vegas: RTT samples, then the ACK that ends the round.
#![allow(dead_code)] // each test file uses its part

#[path = "../common/mod.rs"]
mod common;

use ccactl_native::path::{Flow, Link};
use ccactl_native::{RateSample, Socket, TcpSock};

pub use common::{established, link, rtt};

/// The base RTT as the algorithms keep it, one microsecond above the sample.
pub const BASE_US: i32 = 10_000;

/// As many samples as a decision needs, all of `rtt_us` as the algorithms keep it, and the ACK that ends the round.
pub fn round(socket: &mut Socket, rtt_us: i32, acked: u32) {
    round_of(socket, &[rtt_us; 3], acked);
}

/// A round with these samples.
pub fn round_of(socket: &mut Socket, rtts_us: &[i32], acked: u32) {
    for rtt_us in rtts_us {
        rtt(socket, rtt_us - 1);
    }
    end_round(socket, acked);
}

/// An ACK for the first byte beyond what had been sent when the round began.
pub fn end_round(socket: &mut Socket, acked: u32) {
    let ack = socket.tp().snd_nxt.wrapping_add(1);
    socket.tp_mut().snd_nxt = ack.wrapping_add(1000);
    acknowledge(socket, ack, acked);
}

/// An ACK within the round.
pub fn ack_within(socket: &mut Socket, acked: u32) {
    let ack = socket.tp().snd_una.wrapping_add(1);
    acknowledge(socket, ack, acked);
}

/// To whichever of the two callbacks the algorithm has.
fn acknowledge(socket: &mut Socket, ack: u32, acked: u32) {
    socket.tp_mut().snd_una = ack;
    socket.cong_avoid(ack, acked);
    socket.cong_control(ack, 0, &RateSample { acked_sacked: acked, ..RateSample::default() });
}

/// A socket that knows [`BASE_US`], with this window and threshold, at the beginning of a round.
pub fn at(algorithm: &str, cwnd: u32, ssthresh: u32) -> Socket {
    let mut socket = established(algorithm);
    round(&mut socket, BASE_US, 2);
    set(socket.tp_mut(), cwnd, ssthresh);
    socket
}

/// Sets the window and the threshold, and forgets the credit for growth.
pub fn set(tp: &mut TcpSock, cwnd: u32, ssthresh: u32) {
    tp.snd_cwnd = cwnd;
    tp.snd_ssthresh = ssthresh;
    tp.snd_cwnd_cnt = 0;
}

/// 50 Mbit/s, 40 ms, a buffer of two bandwidth-delay products, some time after the start.
pub fn settled(algorithm: &str, after_us: u64) -> Flow {
    settled_on(algorithm, link(2000), after_us)
}

/// The same on another link.
pub fn settled_on(algorithm: &str, link: Link, after_us: u64) -> Flow {
    let mut flow = Flow::new(established(algorithm), link, 1);
    flow.run_for_us(after_us, |_| {});
    flow
}

/// Packets that wait at the bottleneck, from the RTT that a packet saw.
pub fn queued_pkts(link: &Link, rtt_us: u64) -> f64 {
    let service_us = 1500.0 * 8.0 * 1e6 / link.rate_bps as f64;
    (rtt_us as f64 - link.base_rtt_us as f64) / service_us
}
