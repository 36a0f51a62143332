//! E13: throughput of ACA-TCP and HighSpeed TCP over the rate of random loss.

use super::{Curve, Drawing, Suite, curves};
use crate::compare::{Listed, Table};
use crate::results::{Metric, Results};
use crate::verdict::{Claims, Ordering};

/// See [`Suite`].
pub const SUITE: Suite = Suite {
    name: "aca-loss",
    experiment: "E13",
    paper: "P2 figure 8",
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
    let curve = Curve {
        x: "loss",
        x_label: "Random loss",
        common: &[],
        lines: Some("algorithm"),
        metric: Metric::Throughput,
        flow: 0,
        printed: &|_| None,
    };
    Drawing::lines("throughput", "Throughput over random loss, as figure 8", curves(&curve, results))
}

const ORDERINGS: &[Ordering] = &[
    Ordering {
        text: "ACA-TCP has more throughput than HSTCP, most of all with loss",
        claims: |results| {
            let of =
                |loss, algorithm| results.value(&[("loss", loss), ("algorithm", algorithm)], Metric::Throughput, 0);
            let mut claims = Claims::new();
            for loss in ["1e-5", "1e-4"] {
                claims.below(&of(loss, "hstcp"), &of(loss, "aca"));
            }
            claims
        },
    },
    Ordering {
        text: "The lead of ACA-TCP grows with loss",
        claims: |results| {
            let of =
                |loss, algorithm| results.value(&[("loss", loss), ("algorithm", algorithm)], Metric::Throughput, 0);
            let lead = |loss| of(loss, "aca").over(&of(loss, "hstcp"));
            let mut claims = Claims::new();
            claims.below(&lead(LOSSES[0]), &lead(LOSSES[2]));
            claims.below(&lead(LOSSES[1]), &lead(LOSSES[3]));
            claims
        },
    },
];
