//! F-BBRv2 where P1 does not show it: beside the other versions of BBR, under FQ-CoDel, and joining CUBIC later.

use super::{Drawing, OverTime, Suite};
use crate::compare::{Listed, Table};
use crate::results::{Metric, Results};
use crate::verdict::{Claims, Ordering, Value};

/// See [`Suite`].
pub const SUITE: Suite = Suite {
    name: "fbbrv2-beside",
    experiment: "",
    paper: "P1, no harm to other versions of BBR; no figures in print",
    look_at: "What the flow beside has with F-BBRv2, and what it has with BBRv2 in its place.",
    windows: &[],
    tables,
    orderings: ORDERINGS,
    figures,
};

const VERSION: usize = 0;
const BESIDE: usize = 1;
const BUFFERS: [&str; 2] = ["1bdp", "4bdp"];
/// A throughput that is lower by no more than a printed one may be.
const AS_MUCH: f64 = 0.95;
/// Of two flows that a scheduler gives equal shares.
const EQUAL_SHARES: f64 = 0.99;

fn tables(results: &Results) -> Vec<Table> {
    let listed = Listed {
        title: "A version of BBRv2 (flow 1) and the flow beside it (flow 2), 50 Mbit/s, 40 ms",
        source: "",
        axes: &[("buffer", "Buffer"), ("beside", "Beside"), ("algorithm", "Version")],
        metrics: &[
            (Metric::Throughput, VERSION),
            (Metric::Throughput, BESIDE),
            (Metric::Jain, 0),
            (Metric::MinRttEstimate, VERSION),
            (Metric::Queue, 0),
        ],
        printed: &|_, _, _| None,
    };
    vec![listed.table(results)]
}

fn figures(results: &Results) -> Vec<Drawing> {
    Drawing::over_time(results, &[OverTime::Throughput], |cell| cell.has(&[("algorithm", "f-bbrv2")]))
}

fn value(results: &Results, (buffer, beside): (&str, &str), version: &str, metric: Metric, flow: usize) -> Value {
    results.value(&[("buffer", buffer), ("beside", beside), ("algorithm", version)], metric, flow)
}

const ORDERINGS: &[Ordering] = &[
    Ordering {
        text: "F-BBRv2 leaves BBRv1 and BBRv2 as much as BBRv2 does",
        claims: |results| {
            let mut claims = Claims::new();
            for buffer in BUFFERS {
                for beside in ["bbr", "bbrv2"] {
                    let left = |version| value(results, (buffer, beside), version, Metric::Throughput, BESIDE);
                    claims.below(&left("bbrv2").times(AS_MUCH), &left("f-bbrv2"));
                }
            }
            claims
        },
    },
    Ordering {
        text: "Under FQ-CoDel BBRv2 and CUBIC have equal shares without a detector",
        claims: |results| {
            let mut claims = Claims::new();
            for buffer in BUFFERS {
                claims.at_least(&value(results, (buffer, "cubic-fq-codel"), "bbrv2", Metric::Jain, 0), EQUAL_SHARES);
            }
            claims
        },
    },
];
