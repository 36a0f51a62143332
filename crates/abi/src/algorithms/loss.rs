//! Algorithms whose signal is packet loss.

use crate::registry::{Algorithm, Family, TraceValue};
use crate::tunable::{gain, int, switch};

/// In the order in which lists show them.
pub(super) const ROWS: &[Algorithm] = &[
    Algorithm {
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
    },
    Algorithm {
        name: "cubic",
        kernel_name: "bpf_cubic",
        family: Family::Loss,
        summary: "Window along a cubic of the time since the last loss, slow start cut short by HyStart: Linux's default.",
        reference: "Ha, Rhee, Xu 2008; RFC 9438; net/ipv4/tcp_cubic.c",
        hooks: &["init", "ssthresh", "cong_avoid", "set_state", "cwnd_event", "pkts_acked", "undo_cwnd"],
        tunables: &[
            int("beta", "1/1024", 717, (1, 1023), "window after a loss as share of the window before", TCP_CUBIC),
            int("bic_scale", "1/1024", 41, (1, 4096), "C, the steepness of the cubic", TCP_CUBIC),
            switch(
                "fast_convergence",
                1,
                "give bandwidth up for newcomers when the last maximum was not reached",
                TCP_CUBIC,
            ),
            switch("tcp_friendliness", 1, "grow at least as fast as Reno with the same beta would", TCP_CUBIC),
            int(
                "initial_ssthresh",
                "packets",
                0,
                (0, 0x7fff_ffff),
                "end of slow start without HyStart, 0 = none",
                TCP_CUBIC,
            ),
            switch("hystart", 1, "leave slow start before the first loss", TCP_CUBIC),
            int(
                "hystart_detect",
                "",
                3,
                (1, 3),
                "1 = length of the ACK train, 2 = rise of the RTT, 3 = both",
                TCP_CUBIC,
            ),
            int("hystart_low_window", "packets", 16, (2, 65535), "window below which HyStart is idle", TCP_CUBIC),
            int(
                "hystart_ack_delta_us",
                "us",
                2000,
                (1, 1_000_000),
                "largest gap between the ACKs of a train",
                TCP_CUBIC,
            ),
        ],
        modes: &["slow-start", "concave", "convex", "friendly"],
        v0: Some(TraceValue { name: "origin_pkts", doc: "plateau of the cubic: the window of the last loss" }),
        v1: Some(TraceValue { name: "k_ms", doc: "K, time from the start of the epoch to the plateau" }),
        color: "#0072B2",
    },
    Algorithm {
        name: "aca",
        kernel_name: "aca",
        family: Family::Loss,
        summary: "Reno with slow start up to an estimate of the available bandwidth, renewed with every ACK; for unpaced \
                  senders.",
        reference: "Na, Park, Lee, Kim 2006",
        hooks: &["init", "ssthresh", "cong_avoid", "set_state", "cwnd_event", "pkts_acked", "undo_cwnd"],
        tunables: &[
            gain("alpha", 500, (0, 990), "weight of the old estimate in (4)", ACA_OPEN),
            int("rtt_source", "", 0, (0, 2), "RTT of (3) and (5): 0 = smoothed, 1 = minimum, 2 = latest", ACA_OPEN),
            int("min_essthresh", "packets", 2, (2, 65535), "lower bound of essthresh", ACA_OPEN),
            int(
                "low_window",
                "packets",
                0,
                (0, 65535),
                "plain Reno below this window; 38 as the paper concludes, 0 = never, as it simulates",
                "Na, Park, Lee, Kim 2006, conclusion",
            ),
            switch("count_sacked", 1, "1 = bytes (S)ACKed by the ACK, 0 = advance of the cumulative ACK", ACA_OPEN),
            switch("sample_in_recovery", 1, "the estimator goes on during recovery", ACA_OPEN),
            switch("sample_app_limited", 0, "the estimator takes ACKs of a flow that cwnd does not limit", ACA_OPEN),
            switch("forget_on_timeout", 0, "a timeout sets the estimate to 0", ACA_OPEN),
        ],
        modes: &["start", "linear", "resume"],
        v0: Some(TraceValue {
            name: "essthresh_pkts",
            doc: "window that the estimated bandwidth calls for, 0 = none yet",
        }),
        v1: Some(TraceValue { name: "ack_interval_us", doc: "time between the last two ACKs that the estimator took" }),
        color: "#BB5566",
    },
];

const TCP_CUBIC: &str = "net/ipv4/tcp_cubic.c";
const ACA_OPEN: &str = "left open by Na, Park, Lee, Kim 2006";
