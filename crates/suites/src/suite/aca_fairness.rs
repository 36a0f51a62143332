//! E14: a second flow joins after 20 s; how evenly two flows of ACA-TCP and of HighSpeed TCP share.

use super::{Drawing, OverTime, Suite};
use crate::compare::{Listed, Table};
use crate::results::{Metric, Results, Window};
use crate::verdict::{Claims, Ordering, Value};

/// See [`Suite`].
pub const SUITE: Suite = Suite {
    name: "aca-fairness",
    experiment: "E14",
    paper: "P2 figures 9 to 11",
    look_at: "How soon the second flow has its share.",
    windows: &[TOGETHER],
    tables,
    orderings: ORDERINGS,
    figures: |results| Drawing::over_time(results, &[OverTime::Jain, OverTime::Throughput, OverTime::Cwnd], |_| true),
};

/// From the second flow's start at 20 of 300 s on.
const TOGETHER: Window = Window { name: "both flows", from: 20.0 / 300.0, to: 1.0 };
const LOSSES: [&str; 2] = ["1e-6", "1e-7"];

fn tables(results: &Results) -> Vec<Table> {
    let listed = Listed {
        title: "Two flows, the second one 20 s later, 400 Mbit/s, 100 ms",
        source: "figures 10 and 11, no numbers",
        axes: &[("loss", "Loss"), ("algorithm", "Algorithm")],
        metrics: &[(Metric::Throughput, 0), (Metric::Throughput, 1), (Metric::Jain, 0)],
        printed: &|_, _, _| None,
    };
    vec![listed.table(results)]
}

fn jain(results: &Results, loss: &str, algorithm: &str) -> Value {
    let labels = [("loss", loss), ("algorithm", algorithm)];
    results.value_in(TOGETHER.name, &labels, Metric::JainPerSecond, 0)
}

const ORDERINGS: &[Ordering] = &[
    Ordering {
        text: "The Jain index of two ACA-TCP flows is closer to 1.0 than that of two HSTCP flows",
        claims: |results| {
            let mut claims = Claims::new();
            LOSSES.iter().for_each(|loss| claims.below(&jain(results, loss, "hstcp"), &jain(results, loss, "aca")));
            claims
        },
    },
    Ordering {
        text: "Two HSTCP flows share more evenly at the higher loss",
        claims: |results| {
            let mut claims = Claims::new();
            claims.below(&jain(results, "1e-7", "hstcp"), &jain(results, "1e-6", "hstcp"));
            claims
        },
    },
];
