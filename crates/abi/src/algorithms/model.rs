//! Algorithms that keep a model of the path: the BBR family.

use super::bbr2;
use super::bbr3;
use crate::registry::{Algorithm, Family, TraceValue};
use crate::tunable::{gain, int, switch};

/// In the order in which lists show them.
pub(super) const ROWS: &[Algorithm] = &[
    Algorithm {
        name: "bbr",
        kernel_name: "bpf_bbr",
        family: Family::Model,
        summary: "Paces at the measured bottleneck bandwidth and keeps up to two bandwidth-delay products in flight (version 1).",
        reference: "Cardwell et al., ACM Queue 14(5), 2016; net/ipv4/tcp_bbr.c",
        hooks: &[
            "init",
            "release",
            "cong_control",
            "ssthresh",
            "undo_cwnd",
            "set_state",
            "cwnd_event",
            "sndbuf_expand",
        ],
        tunables: &[
            gain(
                "startup_gain",
                2885,
                (1001, 3990),
                "pacing and window gain of STARTUP; DRAIN paces at its inverse",
                TCP_BBR,
            ),
            gain("cwnd_gain", 2000, (1000, 3990), "window gain of PROBE_BW", TCP_BBR),
            gain("probe_up_gain", 1250, (1000, 3990), "pacing gain of the phase that probes for bandwidth", TCP_BBR),
            gain(
                "probe_down_gain",
                750,
                (100, 1000),
                "pacing gain of the phase that drains what the probe queued",
                TCP_BBR,
            ),
            gain("pacing_margin", 10, (0, 500), "share of the estimated rate that pacing leaves unused", TCP_BBR),
            int("bw_window_rounds", "rounds", 10, (2, 1000), "length of the bandwidth filter", TCP_BBR),
            int("min_rtt_window_s", "s", 10, (1, 3600), "age at which the minimum RTT is measured anew", TCP_BBR),
            int("probe_rtt_ms", "ms", 200, (0, 10_000), "time at the small window, 0 = no PROBE_RTT", TCP_BBR),
            int("min_cwnd_pkts", "packets", 4, (2, 1000), "the small window, and the least anywhere", TCP_BBR),
            gain("full_bw_gain", 1250, (1001, 3990), "growth per round below which the pipe may be full", TCP_BBR),
            int("full_bw_rounds", "rounds", 3, (1, 3), "rounds without that growth after which it is full", TCP_BBR),
            gain(
                "extra_acked_gain",
                1000,
                (0, 4000),
                "share of the measured ACK aggregation added to the window",
                TCP_BBR,
            ),
            switch("policer_detection", 1, "believe in a policer after two lossy intervals of the same rate", TCP_BBR),
        ],
        modes: &["startup", "drain", "probe-bw", "probe-rtt"],
        v0: Some(TraceValue { name: "phase", doc: "phase of the PROBE_BW cycle, 0 = up, 1 = down, 2 to 7 = steady" }),
        v1: Some(TraceValue { name: "policed_bps", doc: "rate of the policer that replaces the bandwidth, 0 = none" }),
        color: "#D55E00",
    },
    Algorithm {
        name: "bbrv2",
        kernel_name: "bbrv2",
        family: Family::Model,
        summary: "Model of bandwidth and delay, bounded by the flights that were found too large.",
        reference: "Cardwell et al., IETF 104-106 ICCRG; tcp_bbr2.c of google/bbr v2alpha",
        hooks: BBR2_HOOKS,
        tunables: bbr2::BBRV2,
        modes: BBR2_MODES,
        v0: BBR2_LOSS,
        v1: BBR2_BOUNDS,
        color: "#009E73",
    },
    Algorithm {
        name: "bbrv3",
        kernel_name: "bbrv3",
        family: Family::Model,
        summary: "BBRv2 revised: probes until the bandwidth stops growing, drains gently, starts with less loss.",
        reference: "Cardwell et al., IETF 117 CCWG; tcp_bbr.c of google/bbr v3; draft-ietf-ccwg-bbr",
        hooks: BBR2_HOOKS,
        tunables: bbr3::BBRV3,
        modes: BBR2_MODES,
        v0: BBR2_LOSS,
        v1: BBR2_BOUNDS,
        color: "#E69F00",
    },
    Algorithm {
        name: "f-bbrv2",
        kernel_name: "f_bbrv2",
        family: Family::Model,
        summary: "BBRv2 that cruises 15 % faster while the delay says that a loss-based flow shares the link.",
        reference: "Cho & Cho 2023, Improvement of Bandwidth Fairness between TCP BBRv2 and CUBIC",
        hooks: BBR2_HOOKS,
        tunables: bbr2::F_BBRV2,
        modes: BBR2_MODES,
        v0: FRIENDLY_RTPROP,
        v1: FRIENDLY_BOUNDS,
        color: "#CC79A7",
    },
    Algorithm {
        name: "f-bbrv3",
        kernel_name: "f_bbrv3",
        family: Family::Model,
        summary: "F-BBRv2's detector and raised CRUISE on BBRv3; our own combination.",
        reference: "this project; mechanism of Cho & Cho 2023 on tcp_bbr.c of google/bbr v3",
        hooks: BBR2_HOOKS,
        tunables: bbr3::F_BBRV3,
        modes: BBR2_MODES,
        v0: FRIENDLY_RTPROP,
        v1: FRIENDLY_BOUNDS,
        color: "#AA3377",
    },
];

const TCP_BBR: &str = "net/ipv4/tcp_bbr.c";

const BBR2_HOOKS: &[&str] =
    &["ssthresh", "set_state", "cwnd_event", "cong_control", "undo_cwnd", "sndbuf_expand", "init", "release"];

/// `enum bbr2_phase`
const BBR2_MODES: &[&str] =
    &["startup", "drain", "probe-bw-down", "probe-bw-cruise", "probe-bw-refill", "probe-bw-up", "probe-rtt"];

const BBR2_LOSS: Option<TraceValue> = Some(TraceValue {
    name: "loss_milli",
    doc: "lost packets of the last sample's flight, in thousandths of it; -1 = its sending is no longer known",
});

const BBR2_BOUNDS: Option<TraceValue> = Some(TraceValue {
    name: "bounds",
    doc: "sum of: 1 cwnd cut to inflight_hi, 2 to inflight_hi less headroom, 4 to inflight_lo, 8 rate follows \
          bw_lo, 16 cwnd used up",
});

const FRIENDLY_RTPROP: Option<TraceValue> =
    Some(TraceValue { name: "rtprop_first_us", doc: "the delay that the detector compares with; -1 = none yet" });

const FRIENDLY_BOUNDS: Option<TraceValue> = Some(TraceValue {
    name: "bounds",
    doc: "sum of: 1 cwnd cut to inflight_hi, 2 to inflight_hi less headroom, 4 to inflight_lo, 8 rate follows \
          bw_lo, 16 cwnd used up, 32 loss-based flow detected, 64 cruise gain raised (with 16: masked by cwnd)",
});
