//! E8 and E9: each version of BBR beside CUBIC over buffers of 0.5 to 7 BDP.

use super::names::{P1, printed};
use super::{Curve, Drawing, OverTime, Suite};
use crate::compare::{Listed, Printed, Table, sheet};
use crate::results::{CellResults, Metric, Results};
use crate::verdict::{Claims, Ordering, Value};

/// See [`Suite`].
pub const SUITE: Suite = Suite {
    name: "fbbrv2-vs-cubic",
    experiment: "E8, E9",
    paper: "P1 scenario 2, figures 7 and 8",
    windows: &[],
    tables,
    orderings: ORDERINGS,
    figures,
};

const BBR: usize = 0;
const CUBIC: usize = 1;
/// "Equal" of F-BBRv2 and BBRv2 over small buffers: 0.8 Mbit/s in print, of about 47. Of 2 BDP the paper says both, equal and
/// fairer; its figures show the latter.
const EQUAL_JAIN: f64 = 0.05;
const FAIR_EVERYWHERE: f64 = 0.90;

fn tables(results: &Results) -> Vec<Table> {
    let listed = Listed {
        title: "A version of BBR (flow 1) beside CUBIC (flow 2), 50 Mbit/s, 40 ms",
        source: "figures 7 and 8",
        axes: &[("buffer", "Buffer"), ("algorithm", "Version")],
        metrics: &[
            (Metric::Throughput, BBR),
            (Metric::Throughput, CUBIC),
            (Metric::Gap, 0),
            (Metric::Jain, 0),
            (Metric::Queue, 0),
        ],
        printed: &of_print,
    };
    vec![listed.table(results)]
}

fn of_print(cell: &CellResults, metric: Metric, _flow: usize) -> Option<Printed> {
    let column = match metric {
        Metric::Gap => "throughput_gap_mbps",
        Metric::Jain => "jain_index",
        _ => return None,
    };
    let buffer = cell.label("buffer")?.trim_end_matches("bdp");
    let keys = [("buffer_bdp", buffer), ("algorithm", printed(P1, cell.label("algorithm")?))];
    sheet("p1_vs_cubic").number(&keys, column)
}

fn figures(results: &Results) -> Vec<Drawing> {
    let sweep = |name: &str, caption: &str, metric: Metric| {
        let printed = |cell: &CellResults| of_print(cell, metric, 0).filter(|p| p.fault.is_none()).map(|p| p.value);
        let curve = Curve::of(metric, "buffer", "Buffer [BDP]").per("algorithm").beside(&printed);
        curve.drawing(name, caption, results)
    };
    let mut figures = sweep("gap", "Throughput gap to CUBIC over the buffer, as figure 7", Metric::Gap);
    figures.extend(sweep("jain", "Jain index with CUBIC over the buffer, as figure 8", Metric::Jain));
    let deep = |cell: &CellResults| cell.has(&[("buffer", "4bdp")]);
    figures.extend(Drawing::over_time(results, &[OverTime::Throughput, OverTime::Jain], deep));
    figures
}

fn jain(results: &Results, buffer: &str, algorithm: &str) -> Value {
    results.value(&[("buffer", buffer), ("algorithm", algorithm)], Metric::Jain, 0)
}

const ORDERINGS: &[Ordering] = &[
    Ordering {
        text: "F-BBRv2 equals BBRv2 up to 1 BDP",
        claims: |results| {
            let mut claims = Claims::new();
            for buffer in ["0.5bdp", "0.7bdp", "1bdp"] {
                claims.near(&jain(results, buffer, "f-bbrv2"), &jain(results, buffer, "bbrv2"), EQUAL_JAIN);
            }
            claims
        },
    },
    Ordering {
        text: "F-BBRv2 is fairer than BBRv2 from 2 BDP on",
        claims: |results| {
            let mut claims = Claims::new();
            for buffer in ["2bdp", "4bdp", "7bdp"] {
                claims.below(&jain(results, buffer, "bbrv2"), &jain(results, buffer, "f-bbrv2"));
            }
            claims
        },
    },
    Ordering {
        text: "F-BBRv2 has a smaller gap to CUBIC than BBRv2 at 4 BDP",
        claims: |results| {
            let gap = |algorithm| results.value(&[("buffer", "4bdp"), ("algorithm", algorithm)], Metric::Gap, 0);
            let mut claims = Claims::new();
            claims.below(&gap("f-bbrv2"), &gap("bbrv2"));
            claims
        },
    },
    Ordering {
        text: "F-BBRv2 has a Jain index of 0.9 or more at every buffer",
        claims: |results| {
            let mut claims = Claims::new();
            for buffer in ["0.5bdp", "0.7bdp", "1bdp", "2bdp", "4bdp", "7bdp"] {
                claims.at_least(&jain(results, buffer, "f-bbrv2"), FAIR_EVERYWHERE);
            }
            claims
        },
    },
    Ordering {
        text: "With 0.7 BDP BBRv1 is less fair than BBRv2 and F-BBRv2",
        claims: |results| {
            let mut claims = Claims::new();
            for version in ["bbrv2", "f-bbrv2"] {
                claims.below(&jain(results, "0.7bdp", "bbr"), &jain(results, "0.7bdp", version));
            }
            claims
        },
    },
];
