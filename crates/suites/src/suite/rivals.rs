//! FAST, Vegas-A, Westwood and Compound beside loss-based flows: what their authors say, over P0's path.

use super::{Drawing, OverTime, Suite};
use crate::compare::{Listed, Table};
use crate::results::{Metric, Results};
use crate::verdict::{Claims, Ordering, Value};

/// See [`Suite`].
pub const SUITE: Suite = Suite {
    name: "rivals",
    experiment: "",
    paper: "Jin, Wei, Low 2004; Srijith, Jacob, Ananda 2005; Mascolo et al. 2001; Tan et al. 2006",
    look_at: "Who keeps its share beside Reno and CUBIC in the large buffer.",
    windows: &[],
    tables,
    orderings: ORDERINGS,
    figures: |results| Drawing::over_time(results, &[OverTime::Throughput], |_| true),
};

const RIVALS: [&str; 2] = ["reno", "cubic"];
const BUFFERS: [&str; 2] = ["5bdp", "0.8bdp"];
/// Below a fifth of the link, as for P0's pairs.
const STARVED_MBIT: f64 = 20.0;
/// Friendly to Reno, as P0's loss-based pairs are.
const FAIR: f64 = 0.90;

fn tables(results: &Results) -> Vec<Table> {
    let listed = Listed {
        title: "An algorithm (flow 1) beside a loss-based rival (flow 2), 100 Mbit/s, 10 ms",
        source: "",
        axes: &[("buffer", "Buffer"), ("rival", "Rival"), ("algorithm", "Algorithm")],
        metrics: &[(Metric::Throughput, 0), (Metric::Throughput, 1), (Metric::Jain, 0), (Metric::Queue, 0)],
        printed: &|_, _, _| None,
    };
    vec![listed.table(results)]
}

fn value(results: &Results, (buffer, rival): (&str, &str), algorithm: &str, metric: Metric) -> Value {
    results.value(&[("buffer", buffer), ("rival", rival), ("algorithm", algorithm)], metric, 0)
}

const ORDERINGS: &[Ordering] = &[
    Ordering {
        text: "FAST, which holds a fixed number of packets in the queue, is starved over the large buffer",
        claims: |results| {
            let mut claims = Claims::new();
            for rival in RIVALS {
                claims.at_most(&value(results, ("5bdp", rival), "fast", Metric::Throughput), STARVED_MBIT);
            }
            claims
        },
    },
    Ordering {
        text: "Vegas-A has more beside a loss-based flow than Vegas",
        claims: |results| {
            let mut claims = Claims::new();
            for rival in RIVALS {
                let of = |algorithm| value(results, ("5bdp", rival), algorithm, Metric::Throughput);
                claims.below(&of("vegas"), &of("vegas-a"));
            }
            claims
        },
    },
    Ordering {
        text: "Westwood and Reno share evenly over the large buffer",
        claims: |results| {
            let mut claims = Claims::new();
            claims.at_least(&value(results, ("5bdp", "reno"), "westwood", Metric::Jain), FAIR);
            claims
        },
    },
    Ordering {
        text: "Compound, which gives its delay window up when a queue builds, shares evenly with Reno",
        claims: |results| {
            let mut claims = Claims::new();
            for buffer in BUFFERS {
                claims.at_least(&value(results, (buffer, "reno"), "compound", Metric::Jain), FAIR);
            }
            claims
        },
    },
];
