//! P4's two tables of remedies for bufferbloat, downstream and upstream, with figures in them.

use super::drawing::Kind;
use super::{Drawing, Suite};
use crate::compare::{Compared, Entry, Row, Table};
use crate::results::{CellResults, Metric, Results, Window};
use crate::verdict::{Claims, Ordering, Value};
use ccactl_report::figure::{Grid, GridCell};

/// See [`Suite`].
pub const DOWNLOAD: Suite = Suite {
    name: "p4",
    experiment: "",
    paper: "P4, remedies for a bloated downlink; no figures in print",
    look_at: "How much delay each remedy takes away, and what that costs in goodput.",
    windows: &[ALONE, BESIDE],
    tables: |results| tables(results, "A bulk download (flow 1), short ones (flow 2), and a rival in the second half"),
    orderings: DOWNSTREAM,
    figures,
};

/// See [`Suite`].
pub const UPLOAD: Suite = Suite {
    name: "p4-upload",
    experiment: "",
    paper: "P4, remedies for a bloated uplink; no figures in print",
    look_at: "How much delay each remedy takes away, and what that costs in goodput.",
    windows: &[ALONE, BESIDE],
    tables: |results| tables(results, "A bulk upload (flow 1), short ones (flow 2), and a rival in the second half"),
    orderings: UPSTREAM,
    figures,
};

/// Before the rival, and after the slow start.
const ALONE: Window = Window { name: "alone", from: 0.1, to: 0.5 };
/// Once the rival has grown.
const BESIDE: Window = Window { name: "beside the rival", from: 0.6, to: 1.0 };
const BULK: usize = 0;
const SHORT: usize = 1;
const RIVAL: usize = 2;
/// "As much", of a remedy that takes the queue away.
const AS_MUCH: f64 = 0.95;
/// The share of the queue that may stay.
const A_QUARTER: f64 = 0.25;

/// What a row shows: heading, window, metric, flow.
const COLUMNS: [(&str, Option<Window>, Metric, usize); 5] = [
    ("Throughput alone [Mbit/s]", Some(ALONE), Metric::Throughput, BULK),
    ("Mean RTT alone [ms]", Some(ALONE), Metric::Rtt, BULK),
    ("Short transfer [s]", None, Metric::Completion, SHORT),
    ("Beside a rival [Mbit/s]", Some(BESIDE), Metric::Throughput, BULK),
    ("The rival [Mbit/s]", Some(BESIDE), Metric::Throughput, RIVAL),
];

/// One table per path, a row per remedy.
fn tables(results: &Results, title: &str) -> Vec<Table> {
    let of_path = |path: &&str| Table {
        title: format!("{title}: {path}"),
        source: String::new(),
        names: vec!["Remedy".to_owned()],
        columns: COLUMNS.iter().map(|(heading, ..)| (*heading).to_owned()).collect(),
        rows: results.cells.iter().filter(|cell| cell.label("path") == Some(path)).map(row).collect(),
    };
    results.values("path").iter().map(of_path).collect()
}

fn row(cell: &CellResults) -> Row {
    let entry = |&(_, window, metric, flow): &(&str, Option<Window>, Metric, usize)| {
        let measured = match window {
            Some(window) => cell.estimate_in(window.name, metric, flow),
            None => cell.estimate(metric, flow),
        };
        Entry(vec![Compared { metric, measured, printed: None }])
    };
    Row { names: vec![cell.label("remedy").unwrap_or("–").to_owned()], entries: COLUMNS.iter().map(entry).collect() }
}

/// RTT alone and completion times, by remedy and path.
fn figures(results: &Results) -> Vec<Drawing> {
    let (remedies, paths) = (results.values("remedy"), results.values("path"));
    let matrix = |name: &str, caption: &str, metric: Metric, mean: &dyn Fn(&CellResults) -> Option<f64>| {
        let value = |remedy: &str, path: &str| mean(results.cell(&[("remedy", remedy), ("path", path)])?);
        let most = remedies.iter().flat_map(|r| paths.iter().filter_map(|p| value(r, p))).fold(0.0, f64::max);
        let cell =
            |value: f64| GridCell { share: 1.0 - value / most.max(f64::MIN_POSITIVE), lines: vec![metric.text(value)] };
        let texts = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let kind = Kind::Matrix(Grid {
            title: caption.to_owned(),
            row_label: "Remedy".to_owned(),
            column_label: format!("Path ({})", metric.label()),
            rows: texts(&remedies),
            columns: texts(&paths),
            cells: remedies.iter().map(|r| paths.iter().map(|p| value(r, p).map(cell)).collect()).collect(),
        });
        Drawing { name: name.to_owned(), caption: caption.to_owned(), kind }
    };
    if results.cells.iter().all(|cell| cell.runs.is_empty()) {
        return Vec::new();
    }
    let rtt = |cell: &CellResults| Some(cell.estimate_in(ALONE.name, Metric::Rtt, BULK)?.mean);
    let completion = |cell: &CellResults| Some(cell.estimate(Metric::Completion, SHORT)?.mean);
    vec![
        matrix("rtt", "Mean RTT of the bulk transfer alone", Metric::Rtt, &rtt),
        matrix("completion", "Completion time of a short transfer", Metric::Completion, &completion),
    ]
}

fn alone(results: &Results, path: &str, remedy: &str, metric: Metric) -> Value {
    results.value_in(ALONE.name, &[("path", path), ("remedy", remedy)], metric, BULK)
}

fn completion(results: &Results, path: &str, remedy: &str) -> Value {
    results.value(&[("path", path), ("remedy", remedy)], Metric::Completion, SHORT)
}

const WITHOUT: &str = "none";

/// The RTT falls to half, and a short transfer is sooner done.
fn shortens(results: &Results, remedies: &[&str]) -> Claims {
    let mut claims = Claims::new();
    for path in ["lte", "wifi"] {
        for remedy in remedies {
            let rtt = |remedy| alone(results, path, remedy, Metric::Rtt);
            claims.below(&rtt(remedy).times(2.0), &rtt(WITHOUT));
            claims.below(&completion(results, path, remedy), &completion(results, path, WITHOUT));
        }
    }
    claims
}

const SENDERS: Ordering = Ordering {
    text: "A delay- or model-based sender halves the RTT, and short transfers are sooner done",
    claims: |results| shortens(results, &["vegas", "fast", "bbrv3", "ledbatpp"]),
};

const ROUTERS: Ordering = Ordering {
    text: "CoDel, PIE and FQ-CoDel halve the RTT, and short transfers are sooner done",
    claims: |results| shortens(results, &["codel", "pie", "fq-codel"]),
};

const DOWNSTREAM: &[Ordering] = &[
    SENDERS,
    ROUTERS,
    Ordering {
        text: "A receiver halves the RTT without a change at the sender, and short transfers are sooner done",
        claims: |results| shortens(results, &["drwa-2", "rledbat", "fixed-clamp"]),
    },
    Ordering {
        text: "A receiver that limits its window takes 0.95 of the rate with a quarter of the queue",
        claims: |results| {
            let mut claims = Claims::new();
            for path in ["lte", "wifi"] {
                for remedy in ["drwa-2", "fixed-clamp"] {
                    let of = |remedy, metric| alone(results, path, remedy, metric);
                    let rate = of(WITHOUT, Metric::Throughput).times(AS_MUCH);
                    claims.below(&rate, &of(remedy, Metric::Throughput));
                    let queue = of(WITHOUT, Metric::Queueing).times(A_QUARTER);
                    claims.below(&of(remedy, Metric::Queueing), &queue);
                }
            }
            claims
        },
    },
    Ordering {
        text: "Over a lossy hop Snoop, a split with BBRv3 and BBRv3 itself give a CUBIC download several times its throughput",
        claims: |results| {
            let rate = |remedy| alone(results, "wifi-lossy", remedy, Metric::Throughput);
            let mut claims = Claims::new();
            ["snoop", "split-bbrv3", "bbrv3"]
                .iter()
                .for_each(|remedy| claims.below(&rate(WITHOUT).times(2.0), &rate(remedy)));
            claims
        },
    },
];

const UPSTREAM: &[Ordering] = &[
    SENDERS,
    ROUTERS,
    Ordering {
        text: "A proxy that bounds uploads halves the RTT, and short transfers are sooner done",
        claims: |results| shortens(results, &["upload-proxy"]),
    },
    Ordering {
        text: "A send buffer of 400 KB halves the RTT on LTE, and short transfers are sooner done",
        claims: |results| {
            let rtt = |remedy| alone(results, "lte", remedy, Metric::Rtt);
            let mut claims = Claims::new();
            claims.below(&rtt("static-400k").times(2.0), &rtt(WITHOUT));
            claims.below(&completion(results, "lte", "static-400k"), &completion(results, "lte", WITHOUT));
            claims
        },
    },
];
