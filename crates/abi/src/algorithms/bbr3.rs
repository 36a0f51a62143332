//! Tunables of BBRv3 and of what builds on it. The variables are those of BBRv2 (`bpf/include/bbr2_params.bpf.h`) with
//! the defaults of `bpf/include/bbr2_version.bpf.h`, and the own ones of `bpf/include/bbr2_rules_v3.bpf.h`.
//!
//! Defaults are Google's. Where the draft (draft-ietf-ccwg-bbr) has another value, the line says which.

use super::bbr2::{F_OWN, concat};
use crate::registry::Tunable;
use crate::tunable::{gain, int, switch};

const V3: &str = "tcp_bbr.c of google/bbr v3";
const DRAFT: &str = "draft-ietf-ccwg-bbr";

/// BBRv3's own.
pub(super) const BBRV3: &[Tunable] = &[
    gain("startup_pacing_gain", 2773, (1000, 10_000), "pacing gain of STARTUP, 4 ln 2; the draft prints 2.77", V3),
    gain("startup_cwnd_gain", 2000, (1000, 10_000), "window gain of STARTUP and DRAIN", V3),
    gain(
        "full_bw_growth",
        1250,
        (1000, 10_000),
        "STARTUP and UP go on while a rate sample exceeds the last such sample by this factor",
        V3,
    ),
    int("full_bw_rounds", "rounds", 3, (1, 100), "rounds without that growth that end STARTUP and UP", V3),
    int(
        "full_loss_count",
        "ACKs",
        6,
        (0, 15),
        "ACKs with losses in one round of recovery that end STARTUP when loss_thresh is exceeded; 0 = never",
        V3,
    ),
    gain("drain_gain", 347, (10, 1000), "pacing gain of DRAIN; the draft has 0.5", V3),
    int(
        "drain_max_rounds",
        "rounds",
        0,
        (0, 254),
        "DRAIN ends after more than so many rounds in any case; 0 = never, the draft has 3",
        DRAFT,
    ),
    gain("cwnd_gain", 2000, (1000, 10_000), "window in PROBE_BW except UP, in BDP", V3),
    gain("up_gain", 1250, (1000, 10_000), "pacing gain of UP", V3),
    gain("up_cwnd_gain", 2250, (1000, 10_000), "window in UP, in BDP", V3),
    gain("down_gain", 910, (10, 1000), "pacing gain of DOWN; the draft has 0.9", V3),
    gain("loss_thresh", 20, (0, 999), "share of a flight whose loss says that the flight was too large", V3),
    gain("beta", 300, (0, 1000), "share of a bound that a lossy round takes away", V3),
    gain("headroom", 150, (0, 1000), "share of inflight_hi left to others in CRUISE and PROBE_RTT", V3),
    int("probe_wait_base_ms", "ms", 2000, (0, 1_000_000), "wait between two probes, fixed part", V3),
    int("probe_wait_rand_ms", "ms", 1000, (0, 1_000_000), "wait between two probes, largest random part", V3),
    int("probe_max_rounds", "rounds", 63, (1, 254), "a probe is due after so many rounds in any case", V3),
    int("probe_rtt_interval_ms", "ms", 5000, (100, 1_000_000), "PROBE_RTT is due so long after the last lower RTT", V3),
    int("probe_rtt_duration_ms", "ms", 200, (1, 60_000), "shortest time that PROBE_RTT keeps the pipe drained", V3),
    gain("probe_rtt_cwnd_gain", 500, (0, 1000), "window in PROBE_RTT, in BDP", V3),
    int("min_rtt_window_ms", "ms", 10_000, (100, 1_000_000), "how long a measured min_rtt holds", V3),
    int("min_cwnd", "packets", 4, (1, 1000), "no bound takes the window below this", V3),
    gain("pacing_margin", 10, (0, 500), "share of the estimated rate that pacing leaves unused", V3),
    switch("tlp_is_loss", 1, "a loss repaired by a tail-loss probe counts as one packet; 0 = ignored, as in v2", V3),
    switch(
        "ecn_enable",
        0,
        "respond to ECN marks; v3 does so on routes marked for shallow-threshold ECN, the draft never",
        V3,
    ),
    gain("ecn_thresh", 500, (0, 1000), "share of marked packets above which a flight was too large", V3),
    gain("ecn_factor", 333, (0, 1000), "part of alpha that a marked round takes off inflight_lo", V3),
    int("ecn_max_rtt_us", "us", 5000, (0, 10_000_000), "largest min_rtt at which ECN marks count; 0 = any", V3),
    gain(
        "ecn_reprobe_gain",
        500,
        (0, 1000),
        "part of inflight_hi with which a probe follows at once on a cycle with marks and no loss; 0 = wait",
        V3,
    ),
];

/// F-BBRv2's own first, then BBRv3's.
pub(super) const F_BBRV3: &[Tunable] = &concat::<{ F_OWN.len() + BBRV3.len() }>(F_OWN, BBRV3);
