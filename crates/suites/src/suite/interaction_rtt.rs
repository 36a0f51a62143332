//! E3: two flows of one algorithm, one of them with four times the RTT.

use super::{Drawing, OverTime, Suite};
use crate::compare::{Listed, Table};
use crate::results::{Metric, Results, Window};
use crate::verdict::{Claims, Ordering, Value};

/// See [`Suite`].
pub const SUITE: Suite = Suite {
    name: "interaction-rtt",
    experiment: "E3",
    paper: "P0 §3.2.2, figure 10",
    look_at: "Which of the two flows gets more, the one with 10 ms or the one with 40 ms: Reno favours the short path, BBR the long one.",
    windows: &[FIRST, LAST],
    tables,
    orderings: ORDERINGS,
    figures: |results| Drawing::over_time(results, &[OverTime::Throughput, OverTime::Jain], |_| true),
};

const FIRST: Window = Window { name: "first fifth", from: 0.0, to: 0.2 };
const LAST: Window = Window { name: "second half", from: 0.5, to: 1.0 };
/// The flow with 10 ms and the one with 40 ms.
const SHORT: usize = 0;
const LONG: usize = 1;
/// "Very good" of Vegas and NewVegas; the figure has no number.
const VERY_GOOD_JAIN: f64 = 0.90;
/// CUBIC "later 1.0": read off a figure.
const LATER_JAIN: f64 = 0.90;
/// "Most of the link" of BBR.
const MOST_OF_THE_LINK_MBIT: f64 = 60.0;

fn tables(results: &Results) -> Vec<Table> {
    let listed = Listed {
        title: "Two flows of one algorithm, 10 ms (flow 1) and 40 ms (flow 2)",
        source: "figure 10, no numbers",
        axes: &[("algorithm", "Algorithm")],
        metrics: &[
            (Metric::Throughput, SHORT),
            (Metric::Throughput, LONG),
            (Metric::Jain, SHORT),
            (Metric::Rtt, SHORT),
            (Metric::Rtt, LONG),
        ],
        printed: &|_, _, _| None,
    };
    vec![listed.table(results)]
}

fn throughput(results: &Results, algorithm: &str, flow: usize) -> Value {
    results.value(&[("algorithm", algorithm)], Metric::Throughput, flow)
}

const ORDERINGS: &[Ordering] = &[
    Ordering {
        text: "BBR favours the long RTT, which takes most of the link",
        claims: |results| {
            let mut claims = Claims::new();
            claims.at_least(&throughput(results, "bbr", LONG), MOST_OF_THE_LINK_MBIT);
            claims.below(&throughput(results, "bbr", SHORT), &throughput(results, "bbr", LONG));
            claims
        },
    },
    Ordering {
        text: "Reno and Veno favour the short RTT",
        claims: |results| {
            let mut claims = Claims::new();
            for algorithm in ["reno", "veno"] {
                claims.below(&throughput(results, algorithm, LONG), &throughput(results, algorithm, SHORT));
            }
            claims
        },
    },
    Ordering {
        text: "CUBIC is unfair at first (Jain index about 0.75) and fair later (towards 1.0)",
        claims: |results| {
            let jain =
                |window: Window| results.value_in(window.name, &[("algorithm", "cubic")], Metric::JainPerSecond, 0);
            let mut claims = Claims::new();
            claims.below(&jain(FIRST), &jain(LAST));
            claims.at_least(&jain(LAST), LATER_JAIN);
            claims
        },
    },
    Ordering {
        text: "Vegas and NewVegas share very well in spite of the RTTs",
        claims: |results| {
            let mut claims = Claims::new();
            for algorithm in ["vegas", "new-vegas"] {
                claims.at_least(&results.value(&[("algorithm", algorithm)], Metric::Jain, 0), VERY_GOOD_JAIN);
            }
            claims
        },
    },
];
