//! The 22 cases, in the order of the draft.

use super::finding::Finding;
use super::trace::Trace;
use super::{control, paths, probing, startup};

/// A test case.
pub struct Case {
    /// Section of the draft.
    pub number: &'static str,
    /// Its title there.
    pub title: &'static str,
    /// Name of the scenario that makes the situation.
    pub path: &'static str,
    /// Says what a run shows.
    pub(super) check: fn(&Trace) -> Finding,
}

const fn case(number: &'static str, title: &'static str, path: &'static str, check: fn(&Trace) -> Finding) -> Case {
    Case { number, title, path, check }
}

/// What the policer of A.17 lets through of payload, bit/s.
const TOKENS_BPS: f64 = 10e6 * 1448.0 / 1514.0;

/// All of them.
pub const CASES: [Case; 22] = [
    case("A.1", "Exiting STARTUP on Bandwidth Plateau", "steady", startup::ends_on_a_plateau),
    case(
        "A.2",
        "Exiting STARTUP on Loss When Application-Limited",
        "startup-loss-limited",
        startup::ends_on_loss_when_limited,
    ),
    case("A.3", "Exiting DRAIN Based on Inflight", "steady", startup::drains_to_the_bdp),
    case("A.4", "Exiting DRAIN Based on Time", "drain-cut", startup::drain_has_an_end),
    case("A.5", "Exiting PROBE_UP on Bandwidth Plateau", "deep", probing::up_ends_on_a_plateau),
    case(
        "A.6",
        "Exiting PROBE_UP on Loss When Application-Limited",
        "up-loss-limited",
        probing::up_ends_on_loss_when_limited,
    ),
    case(
        "A.7",
        "Never Exiting PROBE_UP (or STARTUP) When Application-Limited With No Loss",
        "limited",
        probing::stays_when_limited,
    ),
    case("A.8", "Exiting PROBE_DOWN on Inflight", "steady", probing::down_ends_when_drained),
    case("A.9", "Exiting PROBE_DOWN After Max Time", "down-cuts", probing::down_has_an_end),
    case("A.10", "Entering and Exiting PROBE_RTT", "steady", control::comes_and_goes),
    case("A.11", "Skipping PROBE_RTT Due to Application-Limited Sending", "idle", control::is_skipped_after_idle),
    case(
        "A.12",
        "Achieving Expected STARTUP Bandwidth on a Link With Aggregation",
        "aggregation",
        paths::aggregation_does_not_stop_startup,
    ),
    case(
        "A.13",
        "Achieving Expected Cruise Bandwidth on a Link With Aggregation",
        "aggregation",
        paths::aggregation_does_not_stall_cruise,
    ),
    case("A.14", "Correctly Managing Sub-Packet BDPs", "sub-packet", paths::four_packets_are_the_least),
    case(
        "A.15",
        "Increasing Bandwidth 10x and Ensuring Full Bandwidth is Reached",
        "rate-up",
        paths::ten_times_is_found,
    ),
    case(
        "A.16",
        "Decreasing Bandwidth 10x and Ensuring Max Bandwidth Adapts Down",
        "rate-down",
        paths::a_tenth_is_found,
    ),
    case("A.17", "Handling Token Bucket Policers", "policer", |trace| paths::a_policer_is_kept_to(trace, TOKENS_BPS)),
    case("A.18", "Handling Spurious Fast Recovery", "reordering", paths::spurious_recovery_is_undone),
    case("A.19", "Handling Spurious RTO Recovery", "delay-spike", paths::spurious_timeout_is_undone),
    case(
        "A.20",
        "Entering and Exiting PROBE_RTT During STARTUP",
        "startup-probe-rtt",
        startup::probe_rtt_returns_to_startup,
    ),
    case("A.21", "Handling Loss During PROBE_UP After inflight_longterm is Set", "shallow", probing::up_ends_on_loss),
    case(
        "A.22",
        "Handling Application-Limited Sending During PROBE_REFILL",
        "refill-limited",
        probing::refill_keeps_the_maximum,
    ),
];
