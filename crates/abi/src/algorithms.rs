//! The registry: one row per file of `bpf/cc/`.

use crate::bbr2;
use crate::registry::{Algorithm, Family, TraceValue, Tunable};

/// Every algorithm, in the order in which lists show them.
pub const ALGORITHMS: &[Algorithm] = &[RENO, CUBIC, BBR, BBRV2, F_BBRV2];

const RENO: Algorithm = Algorithm {
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
};

const CUBIC: Algorithm = Algorithm {
    name: "cubic",
    kernel_name: "bpf_cubic",
    family: Family::Loss,
    summary: "Window along a cubic of the time since the last loss, slow start cut short by HyStart: Linux's default.",
    reference: "Ha, Rhee, Xu 2008; RFC 9438; net/ipv4/tcp_cubic.c",
    hooks: &["init", "ssthresh", "cong_avoid", "set_state", "cwnd_event", "pkts_acked", "undo_cwnd"],
    tunables: &[
        int("beta", "1/1024", 717, 1, 1023, "window after a loss as share of the window before", TCP_CUBIC),
        int("bic_scale", "1/1024", 41, 1, 4096, "C, the steepness of the cubic", TCP_CUBIC),
        switch(
            "fast_convergence",
            1,
            "give bandwidth up for newcomers when the last maximum was not reached",
            TCP_CUBIC,
        ),
        switch("tcp_friendliness", 1, "grow at least as fast as Reno with the same beta would", TCP_CUBIC),
        int("initial_ssthresh", "packets", 0, 0, 0x7fff_ffff, "end of slow start without HyStart, 0 = none", TCP_CUBIC),
        switch("hystart", 1, "leave slow start before the first loss", TCP_CUBIC),
        int("hystart_detect", "", 3, 1, 3, "1 = length of the ACK train, 2 = rise of the RTT, 3 = both", TCP_CUBIC),
        int("hystart_low_window", "packets", 16, 2, 65535, "window below which HyStart is idle", TCP_CUBIC),
        int("hystart_ack_delta_us", "us", 2000, 1, 1_000_000, "largest gap between the ACKs of a train", TCP_CUBIC),
    ],
    modes: &["slow-start", "concave", "convex", "friendly"],
    v0: Some(TraceValue { name: "origin_pkts", doc: "plateau of the cubic: the window of the last loss" }),
    v1: Some(TraceValue { name: "k_ms", doc: "K, time from the start of the epoch to the plateau" }),
    color: "#0072B2",
};
const TCP_CUBIC: &str = "net/ipv4/tcp_cubic.c";

const BBR: Algorithm = Algorithm {
    name: "bbr",
    kernel_name: "bpf_bbr",
    family: Family::Model,
    summary: "Paces at the measured bottleneck bandwidth and keeps up to two bandwidth-delay products in flight (version 1).",
    reference: "Cardwell et al., ACM Queue 14(5), 2016; net/ipv4/tcp_bbr.c",
    hooks: &[
        "init",
        "cong_control",
        "ssthresh",
        "undo_cwnd",
        "set_state",
        "cwnd_event",
        "min_tso_segs",
        "sndbuf_expand",
    ],
    tunables: &[
        gain(
            "startup_gain",
            2885,
            1001,
            3990,
            "pacing and window gain of STARTUP; DRAIN paces at its inverse",
            TCP_BBR,
        ),
        gain("cwnd_gain", 2000, 1000, 3990, "window gain of PROBE_BW", TCP_BBR),
        gain("probe_up_gain", 1250, 1000, 3990, "pacing gain of the phase that probes for bandwidth", TCP_BBR),
        gain("probe_down_gain", 750, 100, 1000, "pacing gain of the phase that drains what the probe queued", TCP_BBR),
        int("bw_window_rounds", "rounds", 10, 2, 1000, "length of the bandwidth filter", TCP_BBR),
        int("min_rtt_window_s", "s", 10, 1, 3600, "age at which the minimum RTT is measured anew", TCP_BBR),
        int("probe_rtt_ms", "ms", 200, 0, 10_000, "time at the small window, 0 = no PROBE_RTT", TCP_BBR),
        int("min_cwnd_pkts", "packets", 4, 2, 1000, "the small window, and the least anywhere", TCP_BBR),
        gain("full_bw_gain", 1250, 1001, 3990, "growth per round below which the pipe may be full", TCP_BBR),
        int("full_bw_rounds", "rounds", 3, 1, 3, "rounds without that growth after which it is full", TCP_BBR),
        gain("extra_acked_gain", 1000, 0, 4000, "share of the measured ACK aggregation added to the window", TCP_BBR),
        switch("policer_detection", 1, "believe in a policer after two lossy intervals of the same rate", TCP_BBR),
    ],
    modes: &["startup", "drain", "probe-bw", "probe-rtt"],
    v0: Some(TraceValue { name: "phase", doc: "phase of the PROBE_BW cycle, 0 = up, 1 = down, 2 to 7 = steady" }),
    v1: Some(TraceValue { name: "policed_bps", doc: "rate of the policer that replaces the bandwidth, 0 = none" }),
    color: "#D55E00",
};
const TCP_BBR: &str = "net/ipv4/tcp_bbr.c";

const BBRV2: Algorithm = Algorithm {
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
};

const F_BBRV2: Algorithm = Algorithm {
    name: "f-bbrv2",
    kernel_name: "f_bbrv2",
    family: Family::Model,
    summary: "BBRv2 that cruises 15 % faster while the delay says that a loss-based flow shares the link.",
    reference: "Cho & Cho 2023, Improvement of Bandwidth Fairness between TCP BBRv2 and CUBIC",
    hooks: BBR2_HOOKS,
    tunables: bbr2::F_BBRV2,
    modes: BBR2_MODES,
    v0: Some(TraceValue { name: "rtprop_first_us", doc: "the delay that the detector compares with; -1 = none yet" }),
    v1: Some(TraceValue {
        name: "bounds",
        doc: "sum of: 1 cwnd cut to inflight_hi, 2 to inflight_hi less headroom, 4 to inflight_lo, 8 rate follows \
              bw_lo, 16 cwnd used up, 32 loss-based flow detected, 64 cruise gain raised (with 16: masked by cwnd)",
    }),
    color: "#CC79A7",
};
const BBR2_HOOKS: &[&str] =
    &["ssthresh", "set_state", "cwnd_event", "cong_control", "undo_cwnd", "sndbuf_expand", "init", "release"];

/// `enum bbr2_phase`
const BBR2_MODES: &[&str] =
    &["startup", "drain", "probe-bw-down", "probe-bw-cruise", "probe-bw-refill", "probe-bw-up", "probe-rtt"];

/// An integer tunable.
const fn int(
    name: &'static str,
    unit: &'static str,
    default_raw: i64,
    min_raw: i64,
    max_raw: i64,
    doc: &'static str,
    source: &'static str,
) -> Tunable {
    Tunable { name, unit, scale: 1, default_raw, min_raw, max_raw, doc, source }
}

/// A gain, stored in thousandths.
const fn gain(
    name: &'static str,
    default_raw: i64,
    min_raw: i64,
    max_raw: i64,
    doc: &'static str,
    source: &'static str,
) -> Tunable {
    Tunable { name, unit: "", scale: 1000, default_raw, min_raw, max_raw, doc, source }
}

/// 0 = off, 1 = on.
const fn switch(name: &'static str, default_raw: i64, doc: &'static str, source: &'static str) -> Tunable {
    Tunable { name, unit: "0/1", scale: 1, default_raw, min_raw: 0, max_raw: 1, doc, source }
}
