//! E12: what ACA-TCP and HighSpeed TCP have delivered after 500 s.

use super::{Drawing, OfFlow, OverTime, Suite};
use crate::compare::{Listed, Table};
use crate::results::{Metric, Results};
use crate::verdict::{Claims, Ordering};

/// See [`Suite`].
pub const SUITE: Suite = Suite {
    name: "aca-delivered",
    experiment: "E12",
    paper: "P2 figure 7",
    look_at: "How many more packets one of the two has delivered after 500 s.",
    windows: &[],
    tables,
    orderings: ORDERINGS,
    figures,
};

fn figures(results: &Results) -> Vec<Drawing> {
    let mut figures = Drawing::across(results, OfFlow::Delivered, &[], "algorithm", "figure 7");
    figures.extend(Drawing::over_time(results, &[OverTime::Throughput, OverTime::Cwnd], |_| true));
    figures
}

/// "About twice" of the paper, with room for the reading of a figure.
const ABOUT_TWICE: (f64, f64) = (1.6, 2.4);

fn tables(results: &Results) -> Vec<Table> {
    let listed = Listed {
        title: "One flow, 400 Mbit/s, 100 ms, 3000 packets of 1000 bytes, loss 1e-5",
        source: "figure 7, no numbers",
        axes: &[("algorithm", "Algorithm")],
        metrics: &[(Metric::Delivered, 0), (Metric::Throughput, 0), (Metric::Retransmissions, 0)],
        printed: &|_, _, _| None,
    };
    vec![listed.table(results)]
}

const ORDERINGS: &[Ordering] = &[Ordering {
    text: "ACA-TCP has delivered about twice as much as HSTCP",
    claims: |results| {
        let delivered = |algorithm| results.value(&[("algorithm", algorithm)], Metric::Delivered, 0);
        let mut claims = Claims::new();
        claims.below(&delivered("hstcp").times(ABOUT_TWICE.0), &delivered("aca"));
        claims.below(&delivered("aca"), &delivered("hstcp").times(ABOUT_TWICE.1));
        claims
    },
}];
