//! E18: a download over the maximum of the receiver's socket buffer.

use super::{Curve, Drawing, Suite};
use crate::compare::{Listed, Table};
use crate::results::{Metric, Results};
use crate::verdict::{Claims, Ordering, Value};

/// See [`Suite`].
pub const SUITE: Suite = Suite {
    name: "rmem-sweep",
    experiment: "E18",
    paper: "P4 figure 6",
    look_at: "From which buffer on a larger one adds delay and no goodput.",
    windows: &[],
    tables,
    orderings: ORDERINGS,
    figures,
};

/// Ends of the paper's range, and where it found the best on each network.
const LEAST: &str = "196608";
const MOST: &str = "2560000";
const BEST_ON_LTE: &str = "800000";
/// "No more throughput": within what one buffer may differ from the other by chance.
const NO_MORE: f64 = 0.10;

fn tables(results: &Results) -> Vec<Table> {
    let listed = Listed {
        title: "One CUBIC download",
        source: "figure 6, no numbers",
        axes: &[("path", "Network"), ("rmem", "Receive buffer, maximum [B]")],
        metrics: &[(Metric::Throughput, 0), (Metric::Rtt, 0), (Metric::Queue, 0), (Metric::Retransmissions, 0)],
        printed: &|_, _, _| None,
    };
    vec![listed.table(results)]
}

fn figures(results: &Results) -> Vec<Drawing> {
    let sweep = |metric: Metric, name: &str, caption: &str| {
        Curve::of(metric, "rmem", "Receive buffer, maximum [B]").per("path").drawing(name, caption, results)
    };
    let mut figures = sweep(Metric::Throughput, "throughput", "Throughput over the receive buffer, as figure 6");
    figures.extend(sweep(Metric::Rtt, "rtt", "RTT over the receive buffer, as figure 6"));
    figures
}

fn value(results: &Results, path: &str, rmem: &str, metric: Metric) -> Value {
    results.value(&[("path", path), ("rmem", rmem)], metric, 0)
}

const ORDERINGS: &[Ordering] = &[
    Ordering {
        text: "The RTT grows with the receive buffer",
        claims: |results| {
            let mut claims = Claims::new();
            for path in ["lte", "wifi"] {
                let rtt = |rmem| value(results, path, rmem, Metric::Rtt);
                claims.below(&rtt(LEAST).times(1.5), &rtt(MOST));
            }
            claims
        },
    },
    Ordering {
        text: "On LTE a buffer beyond 800 KB gives no more throughput, and a small one gives less",
        claims: |results| {
            let throughput = |rmem| value(results, "lte", rmem, Metric::Throughput);
            let mut claims = Claims::new();
            claims.near(&throughput(BEST_ON_LTE), &throughput(MOST), NO_MORE);
            claims.below(&throughput(LEAST), &throughput(BEST_ON_LTE));
            claims
        },
    },
    Ordering {
        text: "On Wi-Fi the smallest buffer is enough for the throughput",
        claims: |results| {
            let throughput = |rmem| value(results, "wifi", rmem, Metric::Throughput);
            let mut claims = Claims::new();
            claims.near(&throughput(LEAST), &throughput(MOST), NO_MORE);
            claims
        },
    },
];
