//! E16: throughput of two flows whose paths have 1, 3 and 6 times the RTT of each other.

use super::names::{P2, printed};
use super::{Curve, Drawing, Suite};
use crate::compare::{Listed, Printed, Table, sheet};
use crate::results::{CellResults, Metric, Results};
use crate::verdict::{Claims, Ordering};

/// See [`Suite`].
pub const SUITE: Suite = Suite {
    name: "aca-rtt",
    experiment: "E16",
    paper: "P2 figure 13, table 1",
    look_at: "How the ratio of the two flows grows as one RTT becomes six times the other.",
    windows: &[],
    tables,
    orderings: ORDERINGS,
    figures,
};

fn tables(results: &Results) -> Vec<Table> {
    let listed = Listed {
        title: "Throughput of the short path (flow 1) over that of the long one (flow 2)",
        source: "table 1",
        axes: &[("algorithm", "Algorithm"), ("ratio", "RTT ratio")],
        metrics: &[(Metric::ThroughputRatio, 0), (Metric::Throughput, 0), (Metric::Throughput, 1)],
        printed: &of_print,
    };
    vec![listed.table(results)]
}

fn of_print(cell: &CellResults, metric: Metric, _flow: usize) -> Option<Printed> {
    if metric != Metric::ThroughputRatio {
        return None;
    }
    let keys = [("algorithm", printed(P2, cell.label("algorithm")?)), ("rtt_ratio", cell.label("ratio")?)];
    sheet("p2_rtt_ratio").number(&keys, "throughput_ratio")
}

fn figures(results: &Results) -> Vec<Drawing> {
    let printed = |cell: &CellResults| of_print(cell, Metric::ThroughputRatio, 0).map(|printed| printed.value);
    let curve = Curve::of(Metric::ThroughputRatio, "ratio", "RTT ratio").per("algorithm").beside(&printed);
    curve.drawing("ratio", "Throughput ratio over RTT ratio, as figure 13", results)
}

const ORDERINGS: &[Ordering] = &[
    Ordering {
        text: "ACA-TCP has the mildest RTT unfairness",
        claims: |results| {
            let mut claims = Claims::new();
            for ratio in ["3", "6"] {
                let of = |name| results.value(&[("ratio", ratio), ("algorithm", name)], Metric::ThroughputRatio, 0);
                claims.below(&of("aca"), &of("reno"));
                claims.below(&of("aca"), &of("hstcp"));
            }
            claims
        },
    },
    Ordering {
        text: "The advantage of the short path grows with the RTT ratio",
        claims: |results| {
            let mut claims = Claims::new();
            for algorithm in ["reno", "hstcp", "aca"] {
                let of =
                    |ratio| results.value(&[("ratio", ratio), ("algorithm", algorithm)], Metric::ThroughputRatio, 0);
                claims.below(&of("1"), &of("3"));
                claims.below(&of("3"), &of("6"));
            }
            claims
        },
    },
];
