//! Four BBRv2 or F-BBRv2 flows one after the other: whether the newcomers, which meet a queue, keep RTprop below P1's threshold.

use super::fbbrv2_rtprop::BARELY_ABOVE_BASE_MS;
use super::fbbrv2_vs_cubic::EQUAL_JAIN;
use super::{Drawing, OverTime, Suite};
use crate::compare::{Listed, Table};
use crate::results::{Metric, Results, Window};
use crate::verdict::{Claims, Ordering};

/// See [`Suite`].
pub const SUITE: Suite = Suite {
    name: "fbbrv2-staggered",
    experiment: "",
    paper: "P1 figure 4, the reason for α = 1.2, where both flows start together",
    look_at: "Whether RTprop stays below 48 ms with four flows, so that F-BBRv2 takes none of them for CUBIC.",
    windows: &[LAST],
    tables,
    orderings: ORDERINGS,
    figures: |results| Drawing::over_time(results, &[OverTime::Throughput, OverTime::Jain], |_| true),
};

/// The fourth flow has been there for 30 of 150 s.
const LAST: Window = Window { name: "last fifth", from: 0.8, to: 1.0 };
const FLOWS: usize = 4;
const BUFFERS: [&str; 2] = ["1bdp", "4bdp"];

fn tables(results: &Results) -> Vec<Table> {
    let listed = Listed {
        title: "Four flows that start 30 s apart, 50 Mbit/s, 40 ms",
        source: "",
        axes: &[("buffer", "Buffer"), ("algorithm", "Version")],
        metrics: &[
            (Metric::Throughput, 0),
            (Metric::Throughput, 1),
            (Metric::Throughput, 2),
            (Metric::Throughput, 3),
            (Metric::MinRttEstimate, 0),
            (Metric::MinRttEstimate, FLOWS - 1),
        ],
        printed: &|_, _, _| None,
    };
    vec![listed.table(results)]
}

const ORDERINGS: &[Ordering] = &[
    Ordering {
        text: "Among four BBRv2 flows RTprop stays below 1.2 times the base RTT",
        claims: |results| {
            let mut claims = Claims::new();
            for buffer in BUFFERS {
                for flow in 0..FLOWS {
                    let labels = [("buffer", buffer), ("algorithm", "bbrv2")];
                    let estimate = results.value_in(LAST.name, &labels, Metric::MinRttEstimate, flow);
                    claims.at_most(&estimate, BARELY_ABOVE_BASE_MS);
                }
            }
            claims
        },
    },
    Ordering {
        text: "Four F-BBRv2 flows share as four BBRv2 flows do",
        claims: |results| {
            let mut claims = Claims::new();
            for buffer in BUFFERS {
                let jain = |version| {
                    let labels = [("buffer", buffer), ("algorithm", version)];
                    results.value_in(LAST.name, &labels, Metric::JainPerSecond, 0)
                };
                claims.near(&jain("f-bbrv2"), &jain("bbrv2"), EQUAL_JAIN);
            }
            claims
        },
    },
];
