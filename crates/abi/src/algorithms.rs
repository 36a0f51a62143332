//! The registry: one row per file of `bpf/cc/`.

use crate::bbr2;
use crate::registry::{Algorithm, Family, TraceValue};

/// Every algorithm, in the order in which lists show them.
pub const ALGORITHMS: &[Algorithm] = &[
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
        name: "bbrv2",
        kernel_name: "bbrv2",
        family: Family::Model,
        summary: "Model of bandwidth and delay, bounded by the flights that were found too large.",
        reference: "Cardwell et al., IETF 104-106 ICCRG; tcp_bbr2.c of google/bbr v2alpha",
        hooks: BBR2_HOOKS,
        tunables: bbr2::BBRV2,
        modes: BBR2_MODES,
        v0: Some(TraceValue {
            name: "loss_milli",
            doc: "lost packets of the last sample's flight, in thousandths of it; -1 = its sending is no longer known",
        }),
        v1: Some(TraceValue {
            name: "bounds",
            doc: "sum of: 1 cwnd cut to inflight_hi, 2 to inflight_hi less headroom, 4 to inflight_lo, 8 rate follows \
                  bw_lo, 16 cwnd used up",
        }),
        color: "#009E73",
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
        v0: Some(TraceValue {
            name: "rtprop_first_us",
            doc: "the delay that the detector compares with; -1 = none yet",
        }),
        v1: Some(TraceValue {
            name: "bounds",
            doc: "sum of: 1 cwnd cut to inflight_hi, 2 to inflight_hi less headroom, 4 to inflight_lo, 8 rate follows \
                  bw_lo, 16 cwnd used up, 32 loss-based flow detected, 64 cruise gain raised (with 16: masked by cwnd)",
        }),
        color: "#D55E00",
    },
];

const BBR2_HOOKS: &[&str] =
    &["ssthresh", "set_state", "cwnd_event", "cong_control", "undo_cwnd", "sndbuf_expand", "init", "release"];

/// `enum bbr2_phase`
const BBR2_MODES: &[&str] =
    &["startup", "drain", "probe-bw-down", "probe-bw-cruise", "probe-bw-refill", "probe-bw-up", "probe-rtt"];
