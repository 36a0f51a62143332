//! Algorithms that weigh loss and delay together.

use crate::registry::{Algorithm, Family, TraceValue};
use crate::tunable::{gain, int, switch};

/// In the order in which lists show them.
pub(super) const ROWS: &[Algorithm] = &[
    Algorithm {
        name: "veno",
        kernel_name: "bpf_veno",
        family: Family::Hybrid,
        summary: "Reno that gives up a fifth instead of half when a loss comes without a queue, as on wireless links.",
        reference: "Fu, Liew 2003; net/ipv4/tcp_veno.c",
        hooks: VEGAS_HOOKS,
        tunables: &[
            int("beta", "packets", 3, (0, 1_000_000), "with fewer packets queued the path is not congested", TCP_VENO),
            gain(
                "noncongestive_beta",
                800,
                (100, 1000),
                "window after a loss on a path that is not congested",
                TCP_VENO,
            ),
        ],
        modes: &["slow-start", "non-congestive", "congestive", "reno"],
        v0: Some(TraceValue {
            name: "diff_half_pkts",
            doc: "N, packets queued as of the last ACK, in halves of a packet",
        }),
        v1: Some(TraceValue { name: "rtt_us", doc: "RTT that N was computed from; 2147483647 = the ACK brought none" }),
        color: "#332288",
    },
    Algorithm {
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
            int(
                "beta_high_pct",
                "%",
                80,
                (0, 100),
                "d3: from this part of the largest delay on, beta_max",
                TCP_ILLINOIS,
            ),
        ],
        modes: &["slow-start", "reno", "low-delay", "delayed"],
        v0: Some(TraceValue { name: "alpha_milli", doc: "increase in thousandths of a packet per RTT" }),
        v1: Some(TraceValue {
            name: "beta_milli",
            doc: "share of the window that a loss would take now, in thousandths",
        }),
        color: "#CC3311",
    },
    Algorithm {
        name: "yeah",
        kernel_name: "bpf_yeah",
        family: Family::Hybrid,
        summary: "Grows as Scalable while the queue is short, as Reno while it is not, and drains it beyond 80 packets.",
        reference: "Baiocchi, Castellani, Vacirca 2007; net/ipv4/tcp_yeah.c",
        hooks: VEGAS_HOOKS,
        tunables: &[
            int("alpha", "packets", 80, (0, 1_000_000), "with more packets queued the queue is drained", TCP_YEAH),
            int("gamma", "", 1, (1, 1000), "one part in so many of the queue is drained per round", TCP_YEAH),
            int("delta", "log2", 3, (1, 16), "a loss costs at least 2^-delta of the window", TCP_YEAH),
            int("epsilon", "log2", 1, (1, 16), "draining takes at most 2^-epsilon of the window", TCP_YEAH),
            int("phy", "", 8, (1, 1000), "queueing delay above base RTT / phy means slow mode", TCP_YEAH),
            int("rho", "rounds", 16, (0, 1_000_000), "slow rounds in a row that mean that Reno competes", TCP_YEAH),
            int("zeta", "rounds", 50, (0, 1_000_000), "fast rounds after which that is forgotten", TCP_YEAH),
            int(
                "ai_cnt",
                "packets",
                100,
                (1, 1_000_000),
                "fast mode: acknowledged packets per packet of growth, at most",
                "TCP_SCALABLE_AI_CNT of net/ipv4/tcp_yeah.c and tcp_scalable.c",
            ),
        ],
        modes: &["slow-start", "fast", "slow"],
        v0: Some(TraceValue { name: "queue_pkts", doc: "packets queued, as of the last round" }),
        v1: Some(TraceValue { name: "reno_count_pkts", doc: "what a competing Reno flow is thought to have" }),
        color: "#EE3377",
    },
    Algorithm {
        name: "compound",
        kernel_name: "compound",
        family: Family::Hybrid,
        summary: "Reno with a second window that grows fast while the queue is short and vanishes when it is not (CTCP).",
        reference: "Tan, Song, Zhang, Sridharan 2006; draft-sridharan-tcpm-ctcp-02",
        hooks: VEGAS_HOOKS,
        tunables: &[
            gain("alpha", 125, (0, 1000), "growth of dwnd per round as part of window^0.75", CTCP),
            gain("beta", 500, (100, 900), "part of the window that a loss takes", CTCP),
            gain("eta", 1000, (0, 10_000), "dwnd gives back what is queued, times this", CTCP),
            int("gamma", "packets", 30, (0, 1_000_000), "with so many packets queued dwnd shrinks", CTCP),
            int("low_window", "packets", 41, (2, 1_000_000), "below this window dwnd is 0; the paper has 38", CTCP),
            switch("gamma_tuning", 0, "gamma follows 3/4 of the queue that the Reno part had at losses", CTCP),
            int("gamma_low", "packets", 5, (0, 1_000_000), "lower bound of the tuned gamma", CTCP),
            int("gamma_high", "packets", 30, (0, 1_000_000), "upper bound of the tuned gamma", CTCP),
            gain("gamma_lambda", 800, (0, 1000), "weight of the newest loss in the tuned gamma", CTCP),
            switch("rto_forgets_base", 1, "a timeout starts the base RTT anew", CTCP),
            switch("idle_forgets_base", 0, "a restart from idle does so, too", "net/ipv4/tcp_compound.c of 2006"),
        ],
        modes: &["slow-start", "reno", "grow", "shrink"],
        v0: Some(TraceValue { name: "dwnd_pkts", doc: "delay-driven part of the window; the rest is the Reno part" }),
        v1: Some(TraceValue { name: "diff_pkts", doc: "packets queued, as of the last round; gamma or more: shrink" }),
        color: "#6699CC",
    },
];

const CTCP: &str = "draft-sridharan-tcpm-ctcp-02";

const TCP_YEAH: &str = "net/ipv4/tcp_yeah.c";

const TCP_VENO: &str = "net/ipv4/tcp_veno.c";

const VEGAS_HOOKS: &[&str] = &["init", "ssthresh", "cong_avoid", "pkts_acked", "set_state", "cwnd_event", "undo_cwnd"];

const TCP_ILLINOIS: &str = "net/ipv4/tcp_illinois.c";
