//! What the tests of the loss-based algorithms share.
#![allow(dead_code)] // each test file uses its part

use ccactl_native::path::{Flow, Stats};
use ccactl_native::{CA_OPEN, CA_RECOVERY, Socket};

/// A reduction: the window at which the loss was found, and the threshold that the algorithm answered with.
pub type Cut = (u32, u32);

/// Runs the flow for so long; returns what it did in that time and its reductions by fast recovery.
pub fn run_and_watch_cuts(flow: &mut Flow, duration_us: u64) -> (Stats, Vec<Cut>) {
    let start = flow.stats();
    let mut cuts = Vec::new();
    let mut state = flow.socket.tp().ca_state();
    flow.run_for_us(duration_us, |flow| {
        let tp = flow.socket.tp();
        if tp.ca_state() == CA_RECOVERY && state != CA_RECOVERY {
            cuts.push((tp.prior_cwnd, tp.snd_ssthresh));
        }
        state = tp.ca_state();
    });
    (flow.stats().since(&start), cuts)
}

/// Share of the link that the delivered packets are, in thousandths.
pub fn share_milli(flow: &Flow, stats: &Stats, duration_us: u64) -> u64 {
    stats.delivered_pkts * 1500 * 8 * 1_000_000 * 1000 / flow.link.rate_bps / duration_us
}

/// In congestion avoidance at `cwnd`.
pub fn avoiding(mut socket: Socket, cwnd: u32) -> Socket {
    socket.tp_mut().snd_cwnd = cwnd;
    socket.tp_mut().snd_ssthresh = 2;
    socket
}

/// Loses a packet at `cwnd` and comes out of recovery at the threshold.
pub fn lose_at(socket: &mut Socket, cwnd: u32) {
    socket.tp_mut().snd_cwnd = cwnd;
    let ssthresh = socket.ssthresh();
    socket.set_state(CA_RECOVERY);
    socket.tp_mut().snd_ssthresh = ssthresh;
    socket.tp_mut().snd_cwnd = ssthresh;
    socket.set_state(CA_OPEN);
}
