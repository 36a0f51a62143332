//! Algorithms whose signal is queueing delay.

use crate::registry::{Algorithm, Family, TraceValue};
use crate::tunable::int;

/// In the order in which lists show them.
pub(super) const ROWS: &[Algorithm] = &[Algorithm {
    name: "vegas",
    kernel_name: "bpf_vegas",
    family: Family::Delay,
    summary: "Keeps two to four packets queued, by comparing the RTT of a round with the lowest one ever.",
    reference: "Brakmo, Peterson 1995; net/ipv4/tcp_vegas.c",
    hooks: VEGAS_HOOKS,
    tunables: &[
        int("alpha", "packets", 2, (0, 1_000_000), "with fewer packets queued the window grows", TCP_VEGAS),
        int("beta", "packets", 4, (0, 1_000_000), "with more packets queued the window shrinks", TCP_VEGAS),
        int("gamma", "packets", 1, (0, 1_000_000), "with more packets queued slow start ends", TCP_VEGAS),
    ],
    modes: &["slow-start", "avoidance", "reno"],
    v0: Some(DIFF),
    v1: Some(TraceValue { name: "target_pkts", doc: "window that would leave the queue empty" }),
    color: "#117733",
}];

const TCP_VEGAS: &str = "net/ipv4/tcp_vegas.c";

const VEGAS_HOOKS: &[&str] = &["init", "ssthresh", "cong_avoid", "pkts_acked", "set_state", "cwnd_event", "undo_cwnd"];

const DIFF: TraceValue =
    TraceValue { name: "diff_pkts", doc: "packets queued, as of the last round: window * (RTT - base RTT) / base RTT" };
