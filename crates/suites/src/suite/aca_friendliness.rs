//! ACA-TCP beside Reno at windows below HSTCP's Low_Window: what the conclusion of P2 proposes and does not simulate.

use super::{Drawing, OverTime, Suite};
use crate::compare::{Listed, Table};
use crate::results::{Metric, Results};
use crate::verdict::{Claims, Ordering};

/// See [`Suite`].
pub const SUITE: Suite = Suite {
    name: "aca-friendliness",
    experiment: "",
    paper: "P2, conclusion",
    look_at: "Whether Reno keeps its share beside ACA-TCP while windows are small.",
    windows: &[],
    tables,
    orderings: ORDERINGS,
    figures: |results| Drawing::over_time(results, &[OverTime::Throughput, OverTime::Cwnd], |_| true),
};

/// What two flows of Reno have.
const FAIR: f64 = 0.95;

fn tables(results: &Results) -> Vec<Table> {
    let listed = Listed {
        title: "ACA-TCP (flow 1) beside Reno (flow 2), 10 Mbit/s, 20 ms",
        source: "",
        axes: &[("low_window", "Low_Window")],
        metrics: &[(Metric::Throughput, 0), (Metric::Throughput, 1), (Metric::Jain, 0), (Metric::Cwnd, 0)],
        printed: &|_, _, _| None,
    };
    vec![listed.table(results)]
}

const ORDERINGS: &[Ordering] = &[Ordering {
    text: "A Low_Window of 38 packets makes ACA-TCP fair to Reno",
    claims: |results| {
        let jain = |low_window| results.value(&[("low_window", low_window)], Metric::Jain, 0);
        let mut claims = Claims::new();
        claims.below(&jain("0"), &jain("38"));
        claims.at_least(&jain("38"), FAIR);
        claims
    },
}];
