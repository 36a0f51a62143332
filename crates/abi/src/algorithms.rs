//! The registry: one row per file of `bpf/cc/`.

use crate::registry::{Algorithm, Family};

/// Every algorithm, in the order in which lists show them.
pub const ALGORITHMS: &[Algorithm] = &[Algorithm {
    name: "reno",
    kernel_name: "bpf_reno",
    family: Family::Loss,
    summary: "Additive increase, halving on loss: the baseline of every comparison.",
    reference: "RFC 5681, RFC 6582; net/ipv4/tcp_cong.c",
    hooks: &["ssthresh", "cong_avoid", "undo_cwnd"],
    tunables: &[],
    modes: &["slow-start", "avoidance"],
    v0: None,
    v1: None,
    color: "#777777",
}];
