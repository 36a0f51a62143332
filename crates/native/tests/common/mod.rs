//! What the tests of several algorithms share.
#![allow(dead_code, unused_imports)] // each test file uses its part

pub use ccactl_native::properties::link;
use ccactl_native::{AckSample, RateSample, Socket};

/// An initialised, cwnd-limited socket in the build in which undefined behaviour traps, with a recorder.
pub fn established(algorithm: &str) -> Socket {
    let mut socket = Socket::checked(algorithm).expect("the algorithm exists");
    socket.tp_mut().set_cwnd_limited(true);
    socket.record(true);
    socket.init();
    socket
}

/// One `pkts_acked` call for one packet.
pub fn rtt(socket: &mut Socket, rtt_us: i32) {
    socket.pkts_acked(&AckSample { pkts_acked: 1, rtt_us, in_flight: 0 });
}

/// A sample for `delivered` packets over `interval_us`, all acknowledged by this ACK.
pub fn sample(prior_delivered: u32, delivered: i32, interval_us: i64) -> RateSample {
    RateSample::of(prior_delivered, delivered, interval_us)
}
