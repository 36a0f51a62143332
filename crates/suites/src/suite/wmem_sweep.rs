//! E19: an upload over the maximum of the sender's socket buffer.

use super::{Curve, Drawing, Suite};
use crate::compare::{Listed, Table};
use crate::results::{Metric, Results};
use crate::verdict::{Claims, Ordering, Value};

/// See [`Suite`].
pub const SUITE: Suite = Suite {
    name: "wmem-sweep",
    experiment: "E19",
    paper: "P4 figure 7",
    look_at: "From which buffer on a larger one adds delay and no goodput.",
    windows: &[],
    tables,
    orderings: ORDERINGS,
    figures,
};

/// Ends of the paper's range.
const LEAST: &str = "196608";
const MOST: &str = "2560000";
/// "No more throughput".
const NO_MORE: f64 = 0.10;

fn tables(results: &Results) -> Vec<Table> {
    let listed = Listed {
        title: "One CUBIC upload over LTE",
        source: "figure 7, no numbers",
        axes: &[("wmem", "Send buffer, maximum [B]")],
        metrics: &[(Metric::Throughput, 0), (Metric::Rtt, 0), (Metric::Queue, 0), (Metric::Retransmissions, 0)],
        printed: &|_, _, _| None,
    };
    vec![listed.table(results)]
}

fn figures(results: &Results) -> Vec<Drawing> {
    let sweep = |metric: Metric, name: &str, caption: &str| {
        Curve::of(metric, "wmem", "Send buffer, maximum [B]").drawing(name, caption, results)
    };
    let mut figures = sweep(Metric::Throughput, "throughput", "Throughput over the send buffer, as figure 7");
    figures.extend(sweep(Metric::Rtt, "rtt", "RTT over the send buffer, as figure 7"));
    figures
}

fn value(results: &Results, wmem: &str, metric: Metric) -> Value {
    results.value(&[("wmem", wmem)], metric, 0)
}

const ORDERINGS: &[Ordering] = &[
    Ordering {
        text: "The RTT grows with the send buffer",
        claims: |results| {
            let mut claims = Claims::new();
            claims.below(&value(results, LEAST, Metric::Rtt).times(1.5), &value(results, MOST, Metric::Rtt));
            claims
        },
    },
    Ordering {
        text: "About 200 KB are enough for the throughput",
        claims: |results| {
            let throughput = |wmem| value(results, wmem, Metric::Throughput);
            let mut claims = Claims::new();
            claims.near(&throughput(LEAST), &throughput(MOST), NO_MORE);
            claims
        },
    },
];
