//! Algorithms whose signal is queueing delay.

use crate::registry::{Algorithm, Family, TraceValue, Tunable};
use crate::tunable::{gain, int, switch};

/// In the order in which lists show them.
pub(super) const ROWS: &[Algorithm] = &[
    Algorithm {
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
    },
    Algorithm {
        name: "vegas-a",
        kernel_name: "vegas_a",
        family: Family::Delay,
        summary: "Vegas with thresholds that rise while more queue brings more throughput, to hold its own beside others.",
        reference: "Srijith, Jacob, Ananda 2005, TCP Vegas-A",
        hooks: VEGAS_HOOKS,
        tunables: &[
            int("alpha", "packets", 1, (1, 1_000_000), "lower threshold at the start; it never falls below 1", VEGAS_A),
            int("beta", "packets", 3, (0, 1_000_000), "upper threshold at the start; the distance stays", VEGAS_A),
            int("gamma", "packets", 1, (0, 1_000_000), "with more packets queued slow start ends", VEGAS_A),
            int("alpha_max", "packets", 255, (1, 1_000_000), "alpha rises no further", "left open by the paper"),
            switch("equal_is_rise", 0, "a throughput equal to the last one counts as risen", "left open by the paper"),
        ],
        modes: &["slow-start", "up", "stay", "down", "reno"],
        v0: Some(DIFF),
        v1: Some(TraceValue {
            name: "alpha_pkts",
            doc: "lower threshold; the upper one is as far above as at the start",
        }),
        color: "#66CCEE",
    },
    Algorithm {
        name: "new-vegas",
        kernel_name: "new_vegas",
        family: Family::Delay,
        summary: "Vegas for long paths: slow start paced and in pairs, then large steps that shrink. An own reading.",
        reference: "Sing, Soh 2005, TCP New Vegas; from a description, without the paper's formulas",
        hooks: &["init", "release", "cong_control", "ssthresh", "pkts_acked", "set_state", "cwnd_event", "undo_cwnd"],
        tunables: &[
            int("alpha", "packets", 2, (0, 1_000_000), "with fewer packets queued the window grows", TCP_VEGAS),
            int("beta", "packets", 4, (0, 1_000_000), "with more packets queued the window shrinks", TCP_VEGAS),
            int("gamma", "packets", 1, (0, 1_000_000), "with more packets queued slow start ends", TCP_VEGAS),
            switch("pacing", 1, "pace slow start, and the first round after an idle time", OWN_READING),
            gain("pacing_gain", 1000, (100, 10_000), "pacing rate of slow start in windows per RTT", OWN_READING),
            switch("pairing", 1, "slow start grows by two packets per two acknowledged", OWN_READING),
            int("step_divisor", "", 8, (0, 1_000_000), "convergence starts with window / this; 0 = none", OWN_READING),
            int("step_decay", "", 2, (2, 1_000_000), "divides the step when more than beta are queued", OWN_READING),
        ],
        modes: &["slow-start", "convergence", "avoidance", "reduction", "reno"],
        v0: Some(DIFF),
        v1: Some(TraceValue { name: "step_pkts", doc: "growth per round of the convergence; 0 = none, Vegas" }),
        color: "#228833",
    },
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
        name: "copa",
        kernel_name: "copa",
        family: Family::Delay,
        summary: "Steers the rate to 1 / (0.5 x queueing delay): about two packets of queue per flow; competes when others \
                  fill the buffer.",
        reference: "Arun, Balakrishnan, NSDI 2018; Copa.cpp of mvfst for the alternatives",
        hooks: &["init", "release", "ssthresh", "cong_control", "set_state", "cwnd_event", "undo_cwnd"],
        tunables: &[
            gain("delta", 500, (1, 10_000), "1 / delta is the queue aimed at, in packets; mvfst: 0.05", COPA),
            int("min_rtt_window_ms", "ms", 10_000, (100, 1_000_000), "window of RTTmin", COPA),
            gain("standing_share", 500, (0, 10_000), "window of RTTstanding, in srtt", COPA),
            switch("delay_source", 0, "queueing delay from 0 = RTTstanding, 1 = the latest RTT (mvfst)", COPA),
            int("velocity_rtts", "RTT", 3, (0, 1000), "round trips in one direction until v doubles; 0 = never", COPA),
            switch(
                "reset_on_reversal",
                1,
                "v is 1 again as soon as the law turns; 0 = only at the end of the round trip, as in the paper",
                "Copa.cpp of mvfst",
            ),
            gain("pacing_gain", 2000, (100, 10_000), "pacing rate in cwnd / RTTstanding", COPA),
            switch("mode_switch", 1, "compete when others fill the buffer; 0 as mvfst", COPA),
            gain(
                "empty_share",
                100,
                (0, 1000),
                "the queue is nearly empty below this share of RTTmax - RTTmin",
                "NSDI 2018, section 2.2",
            ),
            int(
                "empty_rtts",
                "RTT",
                5,
                (1, 1000),
                "round trips without a nearly empty queue that end the default mode",
                "NSDI 2018, section 2.2",
            ),
            int("min_cwnd", "packets", 2, (1, 10_000), "smallest window", "not in the paper"),
            int("rto_cwnd", "packets", 4, (1, 10_000), "window after a timeout", "not in the paper"),
        ],
        modes: &["slow-start", "default", "competitive"],
        v0: Some(TraceValue { name: "velocity", doc: "v, negative while the window of the last round trip shrank" }),
        v1: Some(TraceValue { name: "inv_delta_milli", doc: "1 / delta in thousandths: 2000 in the default mode" }),
        color: "#EE7733",
    },
    Algorithm {
        name: "ledbatpp",
        kernel_name: "ledbatpp",
        family: Family::Delay,
        summary: "LEDBAT++: adds at most 60 ms of queue, gives way to all other traffic, drains the queue at regular \
                  intervals.",
        reference: "draft-irtf-iccrg-ledbat-plus-plus; RFC 6817",
        hooks: &["init", "ssthresh", "cong_avoid", "set_state", "cwnd_event", "pkts_acked", "undo_cwnd"],
        tunables: &[
            int("target_ms", "ms", 60, (1, 10_000), "TARGET: queueing delay that the flow may cause", LEDBATPP),
            int("max_gain_divisor", "", 16, (1, 1024), "GAIN is 1 / min(this, ceil(2 TARGET / base))", LEDBATPP),
            gain("decrease_gain", 1000, (0, 10_000), "C of the decrease C W (q / TARGET - 1) per RTT", LEDBATPP),
            gain("ss_exit_share", 750, (0, 10_000), "share of TARGET that ends the first slow start", LEDBATPP),
            int(
                "init_cwnd",
                "packets",
                2,
                (0, 10_000),
                "window at the start, unless the kernel's is smaller; 0 = the kernel's",
                "INIT_CWND of RFC 6817",
            ),
            int("min_cwnd", "packets", 2, (1, 10_000), "no delay takes the window below", "MIN_CWND of RFC 6817"),
            switch("slowdown", 1, "periodic slowdowns", LEDBATPP),
            int("slowdown_cwnd", "packets", 2, (1, 10_000), "window during a slowdown", LEDBATPP),
            int(
                "slowdown_rtts",
                "RTT",
                2,
                (0, 1000),
                "round trips for which a slowdown holds, and from the end of the first slow start to the first slowdown",
                LEDBATPP,
            ),
            int(
                "slowdown_factor",
                "",
                9,
                (0, 1000),
                "wait for the next slowdown, in lengths of the last one",
                LEDBATPP,
            ),
            int(
                "slowdown_min_interval_ms",
                "ms",
                1000,
                (0, 1_000_000),
                "but wait at least so long; 0 = the draft to the letter",
                "deviation: LAN round trips would give hundreds per second",
            ),
            switch(
                "ramp_exit",
                0,
                "the way back from a slowdown ends when the queueing delay exceeds TARGET; 0 = only at the old window",
                "left open by the draft; Apple's tcp_ledbat.c does it",
            ),
        ],
        modes: &["start", "avoidance", "slowdown", "ramp"],
        v0: Some(TraceValue { name: "queue_us", doc: "queueing delay: smallest of the last four RTTs less base" }),
        v1: Some(TraceValue { name: "gain_divisor", doc: "1 / GAIN" }),
        color: "#33BBEE",
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

const OWN_READING: &str = "own reading of Sing, Soh 2005";

const VEGAS_A: &str = "Srijith, Jacob, Ananda 2005";

const TCP_VEGAS: &str = "net/ipv4/tcp_vegas.c";

const VEGAS_HOOKS: &[&str] = &["init", "ssthresh", "cong_avoid", "pkts_acked", "set_state", "cwnd_event", "undo_cwnd"];

const DIFF: TraceValue =
    TraceValue { name: "diff_pkts", doc: "packets queued, as of the last round: window * (RTT - base RTT) / base RTT" };

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

const COPA: &str = "NSDI 2018, section 2.1";

const LEDBATPP: &str = "draft-irtf-iccrg-ledbat-plus-plus";
