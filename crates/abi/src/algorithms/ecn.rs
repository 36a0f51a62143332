//! Algorithms whose signal is explicit congestion notification.

use crate::registry::{Algorithm, Family, TraceValue};
use crate::tunable::{int, switch};

/// In the order in which lists show them.
pub(super) const ROWS: &[Algorithm] = &[
    Algorithm {
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
    },
    Algorithm {
        name: "prague",
        kernel_name: "bpf_prague",
        family: Family::Ecn,
        summary: "DCTCP made fit for unequal round trips: fractional window, growth as if every path took 25 ms, paced.",
        reference: "draft-briscoe-iccrg-prague-congestion-control; RFC 9331; tcp_prague.c 0.7 of the L4S tree",
        hooks: &["init", "release", "cong_control", "ssthresh", "set_state", "cwnd_event", "undo_cwnd", "min_tso_segs"],
        tunables: &[
            int(
                "rtt_target_us",
                "us",
                25_000,
                (0, 100_000),
                "RTT below which all flows grow alike, 0 = off",
                TCP_PRAGUE,
            ),
            int(
                "rtt_transition_rounds",
                "rounds",
                4,
                (0, 1_000_000),
                "rounds after slow start before growth becomes independent of the RTT",
                TCP_PRAGUE,
            ),
            switch("alpha_from_one", 0, "alpha starts at 1; otherwise at 0, and the first mark halves", TCP_PRAGUE),
            int(
                "cwnd_mode",
                "",
                2,
                (0, 2),
                "0 = keep the window, 1 = keep the rate, 2 = the rate at small windows",
                TCP_PRAGUE,
            ),
            int(
                "cwnd_transit_pkts",
                "packets",
                4,
                (1, 1000),
                "largest small window, in packets of 1500 bytes",
                TCP_PRAGUE,
            ),
            int("burst_shift", "", 12, (0, 20), "bursts of 2^-burst_shift s at the least, or one packet", TCP_PRAGUE),
        ],
        modes: &["slow-start", "window", "rate", "no-ecn"],
        v0: Some(TraceValue { name: "alpha_ppm", doc: "smoothed share of marked packets, in millionths" }),
        v1: Some(TraceValue { name: "window_milli", doc: "fractional window, in thousandths of a packet" }),
        color: "#4477AA",
    },
];

const TCP_DCTCP: &str = "net/ipv4/tcp_dctcp.c";

const TCP_PRAGUE: &str = "net/ipv4/tcp_prague.c 0.7 (L4S tree)";
