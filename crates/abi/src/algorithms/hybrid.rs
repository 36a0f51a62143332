//! Algorithms that weigh loss and delay together.

use crate::registry::{Algorithm, Family, TraceValue};
use crate::tunable::int;

/// In the order in which lists show them.
pub(super) const ROWS: &[Algorithm] = &[Algorithm {
    name: "illinois",
    kernel_name: "bpf_illinois",
    family: Family::Hybrid,
    summary: "Loss decides when the window falls; the queueing delay decides how far, and how fast it grows.",
    reference: "Liu, Basar, Srikant 2008; net/ipv4/tcp_illinois.c",
    hooks: &["init", "ssthresh", "cong_avoid", "set_state", "pkts_acked", "undo_cwnd"],
    tunables: &[
        int("win_thresh", "packets", 15, (0, 100_000), "window below which it behaves as Reno", TCP_ILLINOIS),
        int(
            "theta",
            "rounds",
            5,
            (1, 255),
            "rounds of low delay before the increase jumps back to alpha_max",
            TCP_ILLINOIS,
        ),
        int("alpha_min", "1/128", 38, (1, 128), "increase per RTT at the highest delay", TCP_ILLINOIS),
        int("alpha_max", "1/128", 1280, (128, 12_800), "increase per RTT at the lowest delay", TCP_ILLINOIS),
        int("beta_min", "1/64", 8, (0, 32), "share of the window that a loss takes at low delay", TCP_ILLINOIS),
        int("beta_max", "1/64", 32, (32, 63), "share of the window that a loss takes at high delay", TCP_ILLINOIS),
        int("alpha_low_pct", "%", 1, (0, 99), "d1: up to this part of the largest delay, alpha_max", TCP_ILLINOIS),
        int("beta_low_pct", "%", 10, (0, 100), "d2: up to this part of the largest delay, beta_min", TCP_ILLINOIS),
        int("beta_high_pct", "%", 80, (0, 100), "d3: from this part of the largest delay on, beta_max", TCP_ILLINOIS),
    ],
    modes: &["slow-start", "reno", "low-delay", "delayed"],
    v0: Some(TraceValue { name: "alpha_milli", doc: "increase in thousandths of a packet per RTT" }),
    v1: Some(TraceValue { name: "beta_milli", doc: "share of the window that a loss would take now, in thousandths" }),
    color: "#CC3311",
}];

const TCP_ILLINOIS: &str = "net/ipv4/tcp_illinois.c";
