//! Algorithms that weigh loss and delay together.

use crate::registry::{Algorithm, Family, TraceValue};
use crate::tunable::{gain, int};

/// In the order in which lists show them.
pub(super) const ROWS: &[Algorithm] = &[Algorithm {
    name: "veno",
    kernel_name: "bpf_veno",
    family: Family::Hybrid,
    summary: "Reno that gives up a fifth instead of half when a loss comes without a queue, as on wireless links.",
    reference: "Fu, Liew 2003; net/ipv4/tcp_veno.c",
    hooks: VEGAS_HOOKS,
    tunables: &[
        int("beta", "packets", 3, (0, 1_000_000), "with fewer packets queued the path is not congested", TCP_VENO),
        gain("noncongestive_beta", 800, (100, 1000), "window after a loss on a path that is not congested", TCP_VENO),
    ],
    modes: &["slow-start", "non-congestive", "congestive", "reno"],
    v0: Some(TraceValue { name: "diff_half_pkts", doc: "N, packets queued as of the last ACK, in halves of a packet" }),
    v1: Some(TraceValue { name: "rtt_us", doc: "RTT that N was computed from; 2147483647 = the ACK brought none" }),
    color: "#332288",
}];

const TCP_VENO: &str = "net/ipv4/tcp_veno.c";

const VEGAS_HOOKS: &[&str] = &["init", "ssthresh", "cong_avoid", "pkts_acked", "set_state", "cwnd_event", "undo_cwnd"];
