//! Algorithms whose signal is queueing delay.

use crate::registry::{Algorithm, Family, TraceValue};
use crate::tunable::{gain, int, switch};

/// In the order in which lists show them.
pub(super) const ROWS: &[Algorithm] = &[
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
];

const COPA: &str = "NSDI 2018, section 2.1";
const LEDBATPP: &str = "draft-irtf-iccrg-ledbat-plus-plus";
