//! Algorithms whose signal is packet loss.

use crate::registry::{Algorithm, Family, TraceValue};
use crate::tunable::{gain, int, switch};

/// In the order in which lists show them.
pub(super) const ROWS: &[Algorithm] = &[
    Algorithm {
        name: "reno",
        kernel_name: "bpf_reno",
        family: Family::Loss,
        summary: "Additive increase, halving on loss: the baseline of every comparison.",
        reference: "RFC 5681, RFC 6582; net/ipv4/tcp_cong.c",
        hooks: &["init", "ssthresh", "cong_avoid", "undo_cwnd"],
        tunables: &[],
        modes: &["slow-start", "avoidance"],
        v0: None,
        v1: None,
        color: "#777777",
    },
    Algorithm {
        name: "cubic",
        kernel_name: "bpf_cubic",
        family: Family::Loss,
        summary: "Window along a cubic of the time since the last loss, slow start cut short by HyStart: Linux's default.",
        reference: "Ha, Rhee, Xu 2008; RFC 9438; RFC 9406; net/ipv4/tcp_cubic.c",
        hooks: &["init", "ssthresh", "cong_avoid", "set_state", "cwnd_event", "pkts_acked", "undo_cwnd"],
        tunables: &[
            int("beta", "1/1024", 717, (1, 1023), "window after a loss as share of the window before", TCP_CUBIC),
            int("bic_scale", "1/1024", 41, (1, 4096), "C, the steepness of the cubic", TCP_CUBIC),
            switch(
                "fast_convergence",
                1,
                "give bandwidth up for newcomers when the last maximum was not reached",
                TCP_CUBIC,
            ),
            switch("tcp_friendliness", 1, "grow at least as fast as Reno with the same beta would", TCP_CUBIC),
            int(
                "initial_ssthresh",
                "packets",
                0,
                (0, 0x7fff_ffff),
                "end of slow start without HyStart, 0 = none",
                TCP_CUBIC,
            ),
            int(
                "hystart",
                "",
                1,
                (0, 2),
                "leave slow start before the first loss: 0 = no, 1 = by HyStart, 2 = by HyStart++",
                "net/ipv4/tcp_cubic.c; RFC 9406",
            ),
            int(
                "hystart_detect",
                "",
                3,
                (1, 3),
                "1 = length of the ACK train, 2 = rise of the RTT, 3 = both",
                TCP_CUBIC,
            ),
            int("hystart_low_window", "packets", 16, (2, 65535), "window below which HyStart is idle", TCP_CUBIC),
            int(
                "hystart_ack_delta_us",
                "us",
                2000,
                (1, 1_000_000),
                "largest gap between the ACKs of a train",
                TCP_CUBIC,
            ),
            int(
                "hspp_rtt_thresh_min_us",
                "us",
                4000,
                (1, 1_000_000),
                "HyStart++: smallest rise of the RTT that counts",
                RFC9406,
            ),
            int(
                "hspp_rtt_thresh_max_us",
                "us",
                16000,
                (1, 1_000_000),
                "HyStart++: largest rise that is waited for",
                RFC9406,
            ),
            int("hspp_rtt_divisor", "", 8, (1, 1000), "HyStart++: part of the RTT by which it may rise", RFC9406),
            int(
                "hspp_rtt_samples",
                "",
                8,
                (1, 255),
                "HyStart++: samples of a round before its minimum counts",
                RFC9406,
            ),
            int(
                "hspp_ack_limit",
                "packets",
                8,
                (1, 1_000_000),
                "HyStart++: L, packets of an ACK that count in an unpaced flow",
                RFC9406,
            ),
            int(
                "css_growth_divisor",
                "",
                4,
                (1, 255),
                "HyStart++: conservative slow start grows by this part of slow start",
                RFC9406,
            ),
            int("css_rounds", "rounds", 5, (1, 255), "HyStart++: rounds of it before avoidance", RFC9406),
        ],
        modes: &["slow-start", "concave", "convex", "friendly", "css"],
        v0: Some(TraceValue { name: "origin_pkts", doc: "plateau of the cubic: the window of the last loss" }),
        v1: Some(TraceValue { name: "k_ms", doc: "K, time from the start of the epoch to the plateau" }),
        color: "#0072B2",
    },
    Algorithm {
        name: "bic",
        kernel_name: "bpf_bic",
        family: Family::Loss,
        summary: "Searches for the window between the reduced one and that of the last loss: CUBIC's predecessor.",
        reference: "Xu, Harfoush, Rhee 2004; net/ipv4/tcp_bic.c",
        hooks: &["init", "ssthresh", "cong_avoid", "set_state", "pkts_acked", "undo_cwnd"],
        tunables: &[
            int("beta", "1/1024", 819, (1, 1023), "window after a loss as share of the window before", TCP_BIC),
            switch(
                "fast_convergence",
                1,
                "give bandwidth up for newcomers when the last maximum was not reached",
                TCP_BIC,
            ),
            int("max_increment", "packets", 16, (1, 10_000), "largest growth per round trip", TCP_BIC),
            int("low_window", "packets", 14, (0, 65535), "window up to which Reno's law holds", TCP_BIC),
            int("smooth_part", "rounds", 20, (1, 1000), "round trips for the four packets around the maximum", TCP_BIC),
            int("initial_ssthresh", "packets", 0, (0, 0x7fff_ffff), "end of the first slow start, 0 = none", TCP_BIC),
        ],
        modes: &["slow-start", "reno", "linear", "search", "plateau", "probe"],
        v0: Some(TraceValue { name: "last_max_pkts", doc: "Wmax, which the search aims at; 0 = no loss yet" }),
        v1: Some(TraceValue { name: "cnt_pkts", doc: "packets acknowledged per packet that the window grows" }),
        color: "#56B4E9",
    },
    Algorithm {
        name: "hstcp",
        kernel_name: "bpf_hstcp",
        family: Family::Loss,
        summary: "Reno whose increase grows and whose decrease shrinks with the window: HighSpeed TCP, native highspeed.",
        reference: "RFC 3649; net/ipv4/tcp_highspeed.c",
        hooks: &["init", "ssthresh", "cong_avoid", "undo_cwnd"],
        tunables: &[
            int(
                "rows",
                "",
                72,
                (1, 73),
                "rows of the response function in use: 72 = native module, 73 = RFC, 1 = Reno",
                "RFC 3649, appendix B; net/ipv4/tcp_highspeed.c",
            ),
            switch(
                "count_packets",
                0,
                "grow by a(w)/w per packet acknowledged, not per ACK: the RFC's rate with stretch ACKs",
                "RFC 3649, section 5",
            ),
        ],
        modes: &["slow-start", "reno", "highspeed"],
        v0: Some(TraceValue { name: "ai_pkts", doc: "a(w): packets per round trip that the window grows" }),
        v1: Some(TraceValue { name: "md_milli", doc: "b(w): share of the window that a loss takes, in thousandths" }),
        color: "#882255",
    },
    Algorithm {
        name: "scalable",
        kernel_name: "bpf_scalable",
        family: Family::Loss,
        summary: "Grows by 1 % per round trip and gives up an eighth on loss, so recovery takes the same time at any rate.",
        reference: "Kelly 2003; net/ipv4/tcp_scalable.c",
        hooks: &["init", "ssthresh", "cong_avoid", "undo_cwnd"],
        tunables: &[
            int(
                "ai_cnt",
                "packets",
                100,
                (1, 1_000_000),
                "packets acknowledged per packet that the window grows: 1/a",
                TCP_SCALABLE,
            ),
            int("md_shift", "", 3, (1, 16), "a loss takes the 2^md_shift-th part of the window: b", TCP_SCALABLE),
        ],
        modes: &["slow-start", "reno", "proportional"],
        v0: None,
        v1: None,
        color: "#DDAA33",
    },
    Algorithm {
        name: "htcp",
        kernel_name: "bpf_htcp",
        family: Family::Loss,
        summary: "Grows with the square of the time since the last loss, and backs off to what empties the queue.",
        reference: "Leith, Shorten 2004; net/ipv4/tcp_htcp.c",
        hooks: &["init", "ssthresh", "cong_avoid", "set_state", "pkts_acked", "undo_cwnd"],
        tunables: &[
            switch("use_rtt_scaling", 1, "scale growth by the RTT: flows of any RTT grow alike per second", TCP_HTCP),
            switch("use_bandwidth_switch", 1, "back off to the least share when the bandwidth has changed", TCP_HTCP),
            int("beta_min", "1/128", 64, (1, 127), "least share of the window that a loss leaves", TCP_HTCP),
            int("beta_max", "1/128", 102, (1, 127), "largest share; it wins over beta_min", TCP_HTCP),
            int("delta_l_ms", "ms", 1000, (0, 60_000), "time of Reno's growth after a loss", TCP_HTCP),
        ],
        modes: &["slow-start", "low-speed", "high-speed"],
        v0: Some(TraceValue {
            name: "alpha_milli",
            doc: "packets per round trip that the window grows, in thousandths",
        }),
        v1: Some(TraceValue { name: "beta_milli", doc: "share of the window that the last loss left, in thousandths" }),
        color: "#44AA99",
    },
    Algorithm {
        name: "hybla",
        kernel_name: "bpf_hybla",
        family: Family::Loss,
        summary: "Reno made as fast on a long path, such as a satellite's, as it is on one of 25 ms.",
        reference: "Caini, Firrincieli 2004; net/ipv4/tcp_hybla.c",
        hooks: &["init", "ssthresh", "cong_avoid", "set_state", "undo_cwnd"],
        tunables: &[
            int("rtt0_ms", "ms", 25, (1, 1000), "RTT of the Reno flow whose rate is the model", TCP_HYBLA),
            int("max_cwnd_pkts", "packets", 65535, (2, 0x7fff_ffff), "largest window", TCP_HYBLA),
        ],
        modes: &["slow-start", "avoidance", "reno"],
        v0: Some(TraceValue { name: "rho_milli", doc: "rho: smallest smoothed RTT over RTT0, in thousandths" }),
        v1: Some(TraceValue {
            name: "rho2_milli",
            doc: "rho squared: packets per round trip that the window grows, in thousandths",
        }),
        color: "#AA4499",
    },
    Algorithm {
        name: "westwood",
        kernel_name: "bpf_westwood",
        family: Family::Loss,
        summary: "Reno that goes to the measured bandwidth times the smallest RTT after a loss, not to a half (Westwood+).",
        reference: "Mascolo et al. 2001; Grieco, Mascolo 2004; net/ipv4/tcp_westwood.c",
        hooks: &["init", "ssthresh", "cong_avoid", "cwnd_event", "in_ack_event", "pkts_acked", "undo_cwnd"],
        tunables: &[
            int(
                "window_min_ms",
                "ms",
                50,
                (1, 10_000),
                "shortest time over which the bandwidth is measured",
                TCP_WESTWOOD,
            ),
            int("filter_old", "1/8", 7, (0, 7), "weight of the old estimate in each of the two filters", TCP_WESTWOOD),
        ],
        modes: &["slow-start", "avoidance"],
        v0: Some(TraceValue {
            name: "fitting_pkts",
            doc: "bandwidth times smallest RTT: the window that a loss would leave",
        }),
        v1: Some(TraceValue { name: "bw_once_bps", doc: "bandwidth behind the first of the two filters" }),
        color: "#999933",
    },
    Algorithm {
        name: "aca",
        kernel_name: "aca",
        family: Family::Loss,
        summary: "Reno with slow start up to an estimate of the available bandwidth, renewed with every ACK; for unpaced \
                  senders.",
        reference: "Na, Park, Lee, Kim 2006",
        hooks: &["init", "ssthresh", "cong_avoid", "set_state", "cwnd_event", "pkts_acked", "undo_cwnd"],
        tunables: &[
            gain("alpha", 500, (0, 990), "weight of the old estimate in (4)", ACA_OPEN),
            int("rtt_source", "", 0, (0, 2), "RTT of (3) and (5): 0 = smoothed, 1 = minimum, 2 = latest", ACA_OPEN),
            int("min_essthresh", "packets", 2, (2, 65535), "lower bound of essthresh", ACA_OPEN),
            int(
                "low_window",
                "packets",
                0,
                (0, 65535),
                "plain Reno below this window; 38 as the paper concludes, 0 = never, as it simulates",
                "Na, Park, Lee, Kim 2006, conclusion",
            ),
            switch("count_sacked", 1, "1 = bytes (S)ACKed by the ACK, 0 = advance of the cumulative ACK", ACA_OPEN),
            switch("sample_in_recovery", 1, "the estimator goes on during recovery", ACA_OPEN),
            switch("sample_app_limited", 0, "the estimator takes ACKs of a flow that cwnd does not limit", ACA_OPEN),
            switch("forget_on_timeout", 0, "a timeout sets the estimate to 0", ACA_OPEN),
        ],
        modes: &["start", "linear", "resume"],
        v0: Some(TraceValue {
            name: "essthresh_pkts",
            doc: "window that the estimated bandwidth calls for, 0 = none yet",
        }),
        v1: Some(TraceValue { name: "ack_interval_us", doc: "time between the last two ACKs that the estimator took" }),
        color: "#BB5566",
    },
];

const TCP_CUBIC: &str = "net/ipv4/tcp_cubic.c";

const RFC9406: &str = "RFC 9406, section 4.3";

const TCP_SCALABLE: &str = "Kelly 2003; net/ipv4/tcp_scalable.c";

const TCP_BIC: &str = "net/ipv4/tcp_bic.c";

const TCP_WESTWOOD: &str = "net/ipv4/tcp_westwood.c";

const ACA_OPEN: &str = "left open by Na, Park, Lee, Kim 2006";

const TCP_HTCP: &str = "Leith, Shorten 2004; net/ipv4/tcp_htcp.c";

const TCP_HYBLA: &str = "Caini, Firrincieli 2004; net/ipv4/tcp_hybla.c";
