//! Algorithms whose signal is queueing delay.

use crate::registry::{Algorithm, Family, TraceValue};
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
        hooks: &["init", "cong_control", "ssthresh", "pkts_acked", "set_state", "cwnd_event", "undo_cwnd"],
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
];

const OWN_READING: &str = "own reading of Sing, Soh 2005";
const VEGAS_A: &str = "Srijith, Jacob, Ananda 2005";
const TCP_VEGAS: &str = "net/ipv4/tcp_vegas.c";

const VEGAS_HOOKS: &[&str] = &["init", "ssthresh", "cong_avoid", "pkts_acked", "set_state", "cwnd_event", "undo_cwnd"];

const DIFF: TraceValue =
    TraceValue { name: "diff_pkts", doc: "packets queued, as of the last round: window * (RTT - base RTT) / base RTT" };
