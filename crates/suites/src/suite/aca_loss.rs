//! E13: throughput of ACA-TCP and HighSpeed TCP over the rate of random loss.

use super::{Curve, Drawing, Suite};
use crate::compare::{Listed, Table};
use crate::results::{Metric, Results};
use crate::verdict::{Claims, Ordering, Value};

/// See [`Suite`].
pub const SUITE: Suite = Suite {
    name: "aca-loss",
    experiment: "E13",
    paper: "P2 figure 8",
    look_at: "Whether the advantage of ACA-TCP grows with the loss rate.",
    windows: &[],
    tables,
    orderings: ORDERINGS,
    figures,
};

/// From the lowest to the highest.
const LOSSES: [&str; 4] = ["1e-7", "1e-6", "1e-5", "1e-4"];

fn tables(results: &Results) -> Vec<Table> {
    let listed = Listed {
        title: "One flow, 400 Mbit/s, 100 ms, 3000 packets of 1000 bytes",
        source: "figure 8, no numbers",
        axes: &[("loss", "Loss"), ("algorithm", "Algorithm")],
        metrics: &[(Metric::Throughput, 0), (Metric::Cwnd, 0), (Metric::Retransmissions, 0)],
        printed: &|_, _, _| None,
    };
    vec![listed.table(results)]
}

fn figures(results: &Results) -> Vec<Drawing> {
    let curve = Curve::of(Metric::Throughput, "loss", "Random loss").per("algorithm");
    curve.drawing("throughput", "Throughput over random loss, as figure 8", results)
}

fn throughput(results: &Results, loss: &str, algorithm: &str) -> Value {
    results.value(&[("loss", loss), ("algorithm", algorithm)], Metric::Throughput, 0)
}

const ORDERINGS: &[Ordering] = &[
    Ordering {
        text: "ACA-TCP has more throughput than HSTCP, most of all with loss",
        claims: |results| {
            let mut claims = Claims::new();
            for loss in ["1e-5", "1e-4"] {
                claims.below(&throughput(results, loss, "hstcp"), &throughput(results, loss, "aca"));
            }
            claims
        },
    },
    Ordering {
        text: "The lead of ACA-TCP grows with loss",
        claims: |results| {
            let lead = |loss| throughput(results, loss, "aca").over(&throughput(results, loss, "hstcp"));
            let mut claims = Claims::new();
            claims.below(&lead(LOSSES[0]), &lead(LOSSES[2]));
            claims.below(&lead(LOSSES[1]), &lead(LOSSES[3]));
            claims
        },
    },
];
