//! E15: what two flows of ACA-TCP and of HighSpeed TCP deliver together, over the rate of random loss.

use super::{Curve, Drawing, Suite};
use crate::compare::{Listed, Table};
use crate::results::{Metric, Results};
use crate::verdict::{Claims, Ordering, Value};

/// See [`Suite`].
pub const SUITE: Suite = Suite {
    name: "aca-throughput",
    experiment: "E15",
    paper: "P2 figure 12",
    look_at: "The sum of both flows by loss rate.",
    windows: &[],
    tables,
    orderings: ORDERINGS,
    figures,
};

/// "Equal" at low loss.
const EQUAL: f64 = 0.10;
/// "Much better" at high loss: the figure has no number.
const MUCH_BETTER: f64 = 1.2;

fn tables(results: &Results) -> Vec<Table> {
    let listed = Listed {
        title: "Two flows, the second one 20 s later, 400 Mbit/s, 100 ms",
        source: "figure 12, no numbers",
        axes: &[("loss", "Loss"), ("algorithm", "Algorithm")],
        metrics: &[(Metric::TotalDelivered, 0), (Metric::TotalThroughput, 0), (Metric::Jain, 0)],
        printed: &|_, _, _| None,
    };
    vec![listed.table(results)]
}

fn figures(results: &Results) -> Vec<Drawing> {
    let curve = Curve::of(Metric::TotalDelivered, "loss", "Random loss").per("algorithm");
    curve.drawing("delivered", "Packets delivered by both flows over random loss, as figure 12", results)
}

fn delivered(results: &Results, loss: &str, algorithm: &str) -> Value {
    results.value(&[("loss", loss), ("algorithm", algorithm)], Metric::TotalDelivered, 0)
}

const ORDERINGS: &[Ordering] = &[
    Ordering {
        text: "At low loss both deliver the same",
        claims: |results| {
            let mut claims = Claims::new();
            claims.near(&delivered(results, "1e-7", "aca"), &delivered(results, "1e-7", "hstcp"), EQUAL);
            claims
        },
    },
    Ordering {
        text: "At high loss ACA-TCP delivers much more",
        claims: |results| {
            let mut claims = Claims::new();
            let of = |algorithm| delivered(results, "1e-4", algorithm);
            claims.below(&of("hstcp").times(MUCH_BETTER), &of("aca"));
            claims
        },
    },
];
