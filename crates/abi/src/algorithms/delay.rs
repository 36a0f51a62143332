//! Algorithms whose signal is queueing delay.

use crate::registry::{Algorithm, Family, TraceValue, Tunable};
use crate::tunable::{gain, int, switch};

/// In the order in which lists show them.
pub(super) const ROWS: &[Algorithm] = &[
    Algorithm {
        name: "nv",
        kernel_name: "bpf_nv",
        family: Family::Delay,
        summary: "Window that the measured rate needs at the minimum RTT, and ten packets of queue: Vegas for data centres.",
        reference: "Brakmo 2010, TCP-NV; net/ipv4/tcp_nv.c",
        hooks: &["init", "ssthresh", "cong_avoid", "set_state", "pkts_acked", "undo_cwnd"],
        tunables: NV,
        modes: &["slow-start", "grow", "hold"],
        v0: Some(TraceValue {
            name: "max_win_pkts",
            doc: "window beyond which there is congestion, at the last evaluation",
        }),
        v1: Some(TraceValue {
            name: "growth",
            doc: "growth per RTT is 2 to this power, in packets; below 0 after timeouts",
        }),
        color: "#CCBB44",
    },
    Algorithm {
        name: "lp",
        kernel_name: "bpf_lp",
        family: Family::Delay,
        summary: "Takes the bandwidth that others leave: halves and pauses as soon as the one-way delay rises.",
        reference: "Kuzmanovic, Knightly 2003; net/ipv4/tcp_lp.c",
        hooks: &["init", "ssthresh", "cong_avoid", "pkts_acked", "undo_cwnd"],
        tunables: &[
            int(
                "threshold_pct",
                "%",
                15,
                (0, 100),
                "early congestion: so much of the range of the one-way delay above its minimum",
                TCP_LP,
            ),
            int("inference_rtts", "RTTs", 3, (0, 1000), "time without growth after a reaction", TCP_LP),
            int(
                "owd_reading",
                "",
                0,
                (0, 1),
                "one-way delay: 0 = as the native module, with the clocks' offset, 1 = as the paper, without",
                "Kuzmanovic, Knightly 2003",
            ),
        ],
        modes: &["slow-start", "avoidance", "inference"],
        v0: Some(TraceValue {
            name: "owd_ms",
            doc: "smoothed one-way delay with an unknown constant in it, 0 = no timestamps",
        }),
        v1: Some(TraceValue { name: "limit_ms", doc: "one-way delay at which early congestion begins" }),
        color: "#AABBCC",
    },
    Algorithm {
        name: "fast",
        kernel_name: "fast",
        family: Family::Delay,
        summary: "Steers the window to a fixed number of packets in the queue, by steps that shrink near the goal.",
        reference: "Jin, Wei, Low 2004; Wei, Jin, Low, Hegde 2006",
        hooks: &["init", "ssthresh", "cong_avoid", "set_state", "cwnd_event", "pkts_acked", "undo_cwnd"],
        tunables: &[
            int(
                "alpha",
                "packets",
                20,
                (0, 100_000),
                "packets that the flow keeps in the queue; 0 = 8, 20 or 200 by its rate",
                FAST_PAPER,
            ),
            gain("gamma", 500, (1, 1000), "part of the way to the law's window that an update goes", FAST_PAPER),
            int("update_rtts", "RTTs", 2, (1, 100), "RTTs from one update to the next", FAST_PAPER),
            gain("mi_threshold", 500, (0, 100_000), "part of alpha whose queueing ends slow start", FAST_PAPER),
        ],
        modes: &["slow-start", "increase", "decrease"],
        v0: Some(TraceValue {
            name: "queue_pkts",
            doc: "packets of the window that wait, by the RTT of the last update",
        }),
        v1: Some(TraceValue { name: "avg_rtt_us", doc: "averaged RTT" }),
        color: "#EE6677",
    },
    Algorithm {
        name: "cdg",
        kernel_name: "bpf_cdg",
        family: Family::Delay,
        summary: "Backs off, with a probability, when the delay rises from round to round, whatever its level.",
        reference: "Hayes, Armitage 2011; net/ipv4/tcp_cdg.c",
        hooks: &["init", "release", "ssthresh", "cong_avoid", "set_state", "cwnd_event", "pkts_acked", "undo_cwnd"],
        tunables: &[
            int("window", "rounds", 8, (1, 256), "rounds over which gradients are summed; 1 = no sum", TCP_CDG),
            int(
                "backoff_beta",
                "1/1024",
                724,
                (1, 1024),
                "window after a back-off as share of the one before",
                TCP_CDG,
            ),
            int(
                "backoff_factor",
                "",
                42,
                (0, 100_000),
                "scale of the probability: 1000 / (G * window), G of the paper",
                TCP_CDG,
            ),
            int(
                "hystart_detect",
                "",
                3,
                (0, 3),
                "0 = off, 1 = length of the ACK train, 2 = rise of the RTT, 3 = both",
                TCP_CDG,
            ),
            int(
                "use_ineff",
                "",
                5,
                (0, 60_000),
                "back-offs without a fall of the delay until they stop; 0 = never",
                TCP_CDG,
            ),
            switch("use_shadow", 1, "a loss cuts to half of what Reno would have, not of cwnd", TCP_CDG),
            switch(
                "use_tolerance",
                0,
                "a loss while the gradients say that the queue is not full cuts nothing",
                TCP_CDG,
            ),
        ],
        modes: &["slow-start", "avoidance", "back-off"],
        v0: Some(TraceValue {
            name: "gradient_us",
            doc: "sum of the gradients of the delay at the end of the last round",
        }),
        v1: Some(TraceValue { name: "shadow_pkts", doc: "shadow window: what Reno would have without back-offs" }),
        color: "#004488",
    },
];

const TCP_CDG: &str = "net/ipv4/tcp_cdg.c";
const FAST_PAPER: &str = "Wei, Jin, Low, Hegde 2006";
const TCP_LP: &str = "net/ipv4/tcp_lp.c";
const TCP_NV: &str = "net/ipv4/tcp_nv.c";

const NV: &[Tunable] = &[
    int("pad", "packets", 10, (0, 100_000), "packets in the queue that are no congestion", TCP_NV),
    int("pad_buffer", "packets", 2, (0, 100_000), "packets below that limit at which growth stops", TCP_NV),
    int("reset_period_s", "s", 5, (1, 3600), "mean time between two replacements of the minimum RTT", TCP_NV),
    int("min_cwnd", "packets", 2, (1, 100_000), "congestion does not take the window below this", TCP_NV),
    int("cong_dec_mult", "1/128", 38, (0, 128), "share of the excess over max_win given up per decision", TCP_NV),
    int("ssthresh_factor", "1/8", 8, (1, 64), "share of max_win that becomes ssthresh on congestion", TCP_NV),
    int("rtt_factor", "1/256", 128, (0, 256), "weight of a new RTT sample in the average; 0 = no averaging", TCP_NV),
    int("loss_dec_factor", "1/1024", 819, (1, 1024), "window after a loss as share of the window before", TCP_NV),
    int(
        "growth_rate_neg",
        "decisions",
        8,
        (0, 100_000),
        "until growth slowed by timeouts doubles; 0 = never slowed",
        TCP_NV,
    ),
    int("growth_rate_pos", "decisions", 0, (0, 100_000), "until normal growth doubles; 0 = never", TCP_NV),
    int("dec_eval_min_calls", "samples", 60, (1, 255), "RTT samples before the window shrinks", TCP_NV),
    int("inc_eval_min_calls", "samples", 20, (1, 255), "RTT samples before growth is allowed", TCP_NV),
    int("ssthresh_eval_min_calls", "samples", 30, (1, 255), "RTT samples before the first slow start ends", TCP_NV),
    int("stop_rtt_cnt", "rounds", 10, (0, 254), "rounds above max_win with too few samples that stop growth", TCP_NV),
    int("rtt_min_cnt", "rounds", 2, (0, 255), "rounds between two decisions to shrink", TCP_NV),
    int(
        "base_rtt_us",
        "us",
        0,
        (0, 10_000_000),
        "bound of the minimum RTT: at most this, at least 80 % of it; 0 = none",
        "net/ipv4/tcp_nv.c, BPF_SOCK_OPS_BASE_RTT",
    ),
];
