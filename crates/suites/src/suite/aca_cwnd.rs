//! E11: the window of ACA-TCP and HighSpeed TCP over a long fat pipe, from the start on.

use super::{Drawing, OverTime, Suite};
use crate::compare::{Listed, Table};
use crate::results::{Metric, Results, Window};
use crate::verdict::{Claims, Ordering};

/// See [`Suite`].
pub const SUITE: Suite = Suite {
    name: "aca-cwnd",
    experiment: "E11",
    paper: "P2 figures 4 to 6",
    look_at: "Whether the window settles, or overshoots and falls.",
    windows: &[START],
    tables,
    orderings: ORDERINGS,
    figures: |results| {
        Drawing::over_time(results, &[OverTime::Cwnd, OverTime::Throughput, OverTime::Rtt, OverTime::Queue], |_| true)
    },
};

/// The first 50 of 200 s, which figure 6 shows by themselves.
const START: Window = Window { name: "first quarter", from: 0.0, to: 0.25 };

fn tables(results: &Results) -> Vec<Table> {
    let listed = Listed {
        title: "One flow, 400 Mbit/s, 100 ms, 3000 packets of 1000 bytes, loss 1e-5",
        source: "figures 4 to 6, no numbers",
        axes: &[("algorithm", "Algorithm")],
        metrics: &[
            (Metric::Throughput, 0),
            (Metric::Cwnd, 0),
            (Metric::Timeouts, 0),
            (Metric::Overflow, 0),
            (Metric::Queue, 0),
        ],
        printed: &|_, _, _| None,
    };
    vec![listed.table(results)]
}

const ORDERINGS: &[Ordering] = &[
    Ordering {
        text: "ACA-TCP saturates the link without a timeout at the start",
        claims: |results| {
            let aca = |metric| results.value_in(START.name, &[("algorithm", "aca")], metric, 0);
            let hstcp = |metric| results.value_in(START.name, &[("algorithm", "hstcp")], metric, 0);
            let mut claims = Claims::new();
            claims.at_most(&aca(Metric::Timeouts), 0.0);
            claims.below(&hstcp(Metric::Throughput), &aca(Metric::Throughput));
            claims
        },
    },
    Ordering {
        text: "ACA-TCP does not overflow the buffer, HSTCP overshoots",
        claims: |results| {
            let overflow = |algorithm| results.value(&[("algorithm", algorithm)], Metric::Overflow, 0);
            let mut claims = Claims::new();
            claims.at_most(&overflow("aca"), 0.0);
            claims.at_least(&overflow("hstcp"), 1.0);
            claims
        },
    },
];
