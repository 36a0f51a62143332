//! What the tests of several algorithms share.
#![allow(dead_code)] // each test file uses its part

use ccactl_native::path::Link;
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
    RateSample {
        prior_delivered,
        delivered,
        interval_us,
        rtt_us: interval_us,
        acked_sacked: delivered as u32,
        prior_in_flight: delivered as u32,
        ..RateSample::default()
    }
}

/// 50 Mbit/s and 40 ms with a buffer in thousandths of the bandwidth-delay product.
pub fn link(buffer_milli_bdp: u64) -> Link {
    Link { rate_bps: 50_000_000, base_rtt_us: 40_000, buffer_pkts: 0, loss_ppm: 0 }
        .with_buffer_milli_bdp(buffer_milli_bdp)
}
