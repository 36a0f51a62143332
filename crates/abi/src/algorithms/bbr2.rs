//! Tunables of BBRv2 and of what builds on it. `bpf/include/bbr2_params.bpf.h` and `bbr2_rules_v2.bpf.h` declare the
//! variables, `bbr2_friendly.bpf.h` those of F-BBRv2.

use crate::registry::Tunable;
use crate::tunable::{gain, int};

const V2ALPHA: &str = "tcp_bbr2.c of google/bbr v2alpha";
const PAPER: &str = "Cho & Cho 2023";

/// BBRv2's own.
pub(super) const BBRV2: &[Tunable] = &[
    gain("startup_pacing_gain", 2887, (1000, 10_000), "pacing gain of STARTUP", V2ALPHA),
    gain("startup_cwnd_gain", 2887, (1000, 10_000), "window gain of STARTUP and DRAIN", V2ALPHA),
    gain(
        "full_bw_growth",
        1250,
        (1000, 10_000),
        "STARTUP goes on while max_bw grows by this factor per round",
        V2ALPHA,
    ),
    int("full_bw_rounds", "rounds", 3, (1, 100), "rounds without that growth that end STARTUP", V2ALPHA),
    int(
        "full_loss_count",
        "ACKs",
        8,
        (0, 15),
        "ACKs with losses in one round of recovery that end STARTUP when loss_thresh is exceeded; 0 = never",
        V2ALPHA,
    ),
    gain("drain_gain", 347, (10, 1000), "pacing gain of DRAIN; F-BBRv2's paper prints 0.75", V2ALPHA),
    gain("cwnd_gain", 2000, (1000, 10_000), "window in PROBE_BW, in BDP", V2ALPHA),
    gain("up_gain", 1250, (1000, 10_000), "pacing gain of UP", V2ALPHA),
    gain("down_gain", 750, (10, 1000), "pacing gain of DOWN", V2ALPHA),
    gain("probe_inflight_gain", 1250, (1000, 10_000), "UP ends with so much in flight, in BDP", V2ALPHA),
    gain("loss_thresh", 20, (0, 999), "share of a flight whose loss says that the flight was too large", V2ALPHA),
    gain("beta", 300, (0, 1000), "share of a bound that a lossy round takes away", V2ALPHA),
    gain("headroom", 150, (0, 1000), "share of inflight_hi left to others in CRUISE and PROBE_RTT", V2ALPHA),
    int("probe_wait_base_ms", "ms", 2000, (0, 1_000_000), "wait between two probes, fixed part", V2ALPHA),
    int("probe_wait_rand_ms", "ms", 1000, (0, 1_000_000), "wait between two probes, largest random part", V2ALPHA),
    int("probe_max_rounds", "rounds", 63, (1, 254), "a probe is due after so many rounds in any case", V2ALPHA),
    int("probe_rtt_interval_ms", "ms", 5000, (100, 1_000_000), "PROBE_RTT is due after so long", V2ALPHA),
    int(
        "probe_rtt_duration_ms",
        "ms",
        200,
        (1, 60_000),
        "shortest time that PROBE_RTT keeps the pipe drained",
        V2ALPHA,
    ),
    gain("probe_rtt_cwnd_gain", 500, (0, 1000), "window in PROBE_RTT, in BDP", V2ALPHA),
    int("min_rtt_window_ms", "ms", 10_000, (100, 1_000_000), "how long a measured min_rtt holds", V2ALPHA),
    int("min_cwnd", "packets", 4, (1, 1000), "no bound takes the window below this", V2ALPHA),
    gain("pacing_margin", 10, (0, 500), "share of the estimated rate that pacing leaves unused", V2ALPHA),
    int(
        "tlp_is_loss",
        "",
        0,
        (0, 1),
        "1 = a loss repaired by a tail-loss probe counts as one packet",
        "tcp_bbr.c of google/bbr v3",
    ),
    int("ecn_enable", "", 0, (0, 1), "1 = respond to ECN marks; for paths that mark at a shallow queue", V2ALPHA),
    gain("ecn_thresh", 500, (0, 1000), "share of marked packets that says that a flight was too large", V2ALPHA),
    gain("ecn_factor", 333, (0, 1000), "part of alpha that a marked round takes off the short-term bounds", V2ALPHA),
    int("ecn_max_rtt_us", "us", 5000, (0, 10_000_000), "largest min_rtt at which ECN marks count", V2ALPHA),
    gain(
        "ecn_reprobe_gain",
        0,
        (0, 1000),
        "part of inflight_hi with which a probe follows at once on a cycle with marks and no loss; 0 = wait",
        V2ALPHA,
    ),
];

/// What F-BBRv2 adds, on whatever version. The defaults are the literal readings of its paper.
pub(super) const F_OWN: &[Tunable] = &[
    gain(
        "alpha",
        1200,
        (1000, 100_000),
        "a loss-based flow is detected when the current RTprop exceeds the first by this factor",
        PAPER,
    ),
    gain("cruise_gain", 1150, (100, 10_000), "pacing gain of CRUISE while a loss-based flow is detected", PAPER),
    int(
        "rtprop_estimator",
        "",
        0,
        (0, 1),
        "current RTprop: 0 = min_rtt (10-s window), 1 = probe_rtt_min (5-s window)",
        "left open by the paper",
    ),
    int(
        "rtprop_anchor",
        "",
        0,
        (0, 1),
        "first RTprop: 0 = the first sample, 1 = the lowest sample of the connection",
        "left open by the paper",
    ),
    int(
        "reanchor_min",
        "min",
        0,
        (0, 100_000),
        "take the current RTprop as the first one after so long; 0 = never",
        "left open by the paper",
    ),
    int(
        "detect_rounds",
        "rounds",
        0,
        (0, 255),
        "whole rounds for which the test must hold before the gain is raised",
        "left open by the paper",
    ),
    int(
        "drop_headroom",
        "",
        0,
        (0, 1),
        "1 = no headroom below inflight_hi in CRUISE while a loss-based flow is detected",
        "left open by the paper",
    ),
];

/// F-BBRv2's own first, then BBRv2's.
pub(super) const F_BBRV2: &[Tunable] = &concat::<{ F_OWN.len() + BBRV2.len() }>(F_OWN, BBRV2);

pub(super) const fn concat<const N: usize>(first: &[Tunable], second: &[Tunable]) -> [Tunable; N] {
    assert!(N == first.len() + second.len());
    let mut all = [first[0]; N];
    let mut i = 0;
    while i < N {
        all[i] = if i < first.len() { first[i] } else { second[i - first.len()] };
        i += 1;
    }
    all
}
