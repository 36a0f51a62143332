//! P4's remedies: every queue discipline under Reno, CUBIC, Vegas and BBR, on the scenario of the bufferbloat suite.

use super::bufferbloat::{DOWNLOAD, UPLOAD};
use super::drawing::Kind;
use super::{Drawing, OverTime, Suite, distribution};
use crate::compare::{Listed, Table};
use crate::results::{CellResults, Metric, Results};
use crate::verdict::{Claims, Ordering, Value};
use ccactl_report::figure::{Grid, GridCell};

/// See [`Suite`].
pub const SUITE: Suite = Suite {
    name: "aqm",
    experiment: "",
    paper: "P4, remedies for bufferbloat; no figures in print",
    look_at: "How much delay each discipline takes away, and what that costs in goodput.",
    windows: &[],
    tables,
    orderings: ORDERINGS,
    figures,
};

fn tables(results: &Results) -> Vec<Table> {
    let listed = Listed {
        title: "Two uploads (flows 1 and 2) and a repeated download (flow 3) over 1.5 Mbit/s, large buffer",
        source: "",
        axes: &[("queue", "Queue"), ("algorithm", "Algorithm")],
        metrics: &[
            (Metric::Throughput, UPLOAD),
            (Metric::Throughput, UPLOAD + 1),
            (Metric::Rtt, UPLOAD),
            (Metric::Jain, 0),
            (Metric::Queue, 0),
            (Metric::Utilisation, 0),
            (Metric::Completion, DOWNLOAD),
        ],
        printed: &|_, _, _| None,
    };
    vec![listed.table(results)]
}

/// RTT and completion time of every queue and algorithm.
fn figures(results: &Results) -> Vec<Drawing> {
    let matrix = |metric: Metric, flow: usize, name: &str| {
        let (queues, algorithms) = (results.values("queue"), results.values("algorithm"));
        let mean = |queue: &str, algorithm: &str| {
            let cell: &CellResults = results.cell(&[("queue", queue), ("algorithm", algorithm)])?;
            Some(cell.estimate(metric, flow)?.mean)
        };
        let most = queues.iter().flat_map(|q| algorithms.iter().filter_map(|a| mean(q, a))).fold(0.0, f64::max);
        // Short is blue, the longest of all vermilion.
        let cell =
            |value: f64| GridCell { share: 1.0 - value / most.max(f64::MIN_POSITIVE), lines: vec![metric.text(value)] };
        let row = |queue: &&str| algorithms.iter().map(|algorithm| mean(queue, algorithm).map(cell)).collect();
        let texts = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let kind = Kind::Matrix(Grid {
            title: metric.label(),
            row_label: "Queue discipline".to_owned(),
            column_label: format!("Algorithm ({})", metric.label()),
            rows: texts(&queues),
            columns: texts(&algorithms),
            cells: queues.iter().map(row).collect(),
        });
        Drawing { name: name.to_owned(), caption: format!("{} by queue and algorithm", metric.label()), kind }
    };
    let mut figures = Vec::new();
    if results.cells.iter().any(|cell| !cell.runs.is_empty()) {
        figures.push(matrix(Metric::Rtt, UPLOAD, "rtt"));
        figures.push(matrix(Metric::Completion, DOWNLOAD, "completion"));
    }
    for algorithm in results.values("algorithm") {
        let plot = distribution(results, &[("algorithm", algorithm)], "queue", DOWNLOAD);
        let caption = format!("Completion times of the download beside {algorithm}");
        figures.extend(Drawing::lines(&format!("completion-{algorithm}"), &caption, plot));
    }
    let of_codel = |cell: &CellResults| matches!(cell.label("queue"), Some("drop-tail" | "codel"));
    figures.extend(Drawing::over_time(results, &[OverTime::Rtt, OverTime::Queue], of_codel));
    figures
}

fn value(results: &Results, queue: &str, algorithm: &str, metric: Metric, flow: usize) -> Value {
    results.value(&[("queue", queue), ("algorithm", algorithm)], metric, flow)
}

const ORDERINGS: &[Ordering] = &[
    Ordering {
        text: "CoDel, PIE and FQ-CoDel keep the RTT of Reno and CUBIC below that of drop-tail",
        claims: |results| {
            let mut claims = Claims::new();
            for algorithm in ["reno", "cubic"] {
                let rtt = |queue| value(results, queue, algorithm, Metric::Rtt, UPLOAD);
                for queue in ["codel", "pie", "fq-codel"] {
                    claims.below(&rtt(queue).times(2.0), &rtt("drop-tail"));
                }
            }
            claims
        },
    },
    Ordering {
        text: "With FQ-CoDel the download completes sooner than with drop-tail, beside Reno and CUBIC",
        claims: |results| {
            let mut claims = Claims::new();
            for algorithm in ["reno", "cubic"] {
                let time = |queue| value(results, queue, algorithm, Metric::Completion, DOWNLOAD);
                claims.below(&time("fq-codel"), &time("drop-tail"));
            }
            claims
        },
    },
];
