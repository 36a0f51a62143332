//! Algorithms whose signal is explicit congestion notification.

use crate::registry::{Algorithm, Family, TraceValue};
use crate::tunable::int;

/// In the order in which lists show them.
pub(super) const ROWS: &[Algorithm] = &[Algorithm {
    name: "dctcp",
    kernel_name: "bpf_dctcp",
    family: Family::Ecn,
    summary: "Reduces the window by half the share of packets that a switch has marked; for data centres.",
    reference: "Alizadeh et al., SIGCOMM 2010; RFC 8257; net/ipv4/tcp_dctcp.c",
    hooks: &["init", "in_ack_event", "cwnd_event", "ssthresh", "cong_avoid", "set_state", "undo_cwnd"],
    tunables: &[
        int("shift_g", "", 4, (0, 10), "weight of the last window in alpha is 2^-shift_g", TCP_DCTCP),
        int("alpha_on_init", "1/1024", 1024, (0, 1024), "alpha before the first window has passed", TCP_DCTCP),
    ],
    modes: &["slow-start", "avoidance", "no-ecn"],
    v0: Some(TraceValue { name: "alpha_1024", doc: "smoothed share of marked packets, in 1/1024" }),
    v1: Some(TraceValue { name: "marked_1024", doc: "share of marked packets in the last window, in 1/1024" }),
    color: "#661100",
}];

const TCP_DCTCP: &str = "net/ipv4/tcp_dctcp.c";
