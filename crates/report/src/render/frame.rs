//! The summary as a frame: one row per flow, per algorithm and per swap. CSV and Parquet are written from it.

use polars::prelude::*;

use crate::metric::{METRICS, Value};
use crate::summary::{AlgorithmChange, AlgorithmSummary, Closed, Distribution, FlowSummary, Measures, Summary};

/// One row.
struct Line<'a> {
    recording: &'a str,
    kind: &'static str,
    name: &'a str,
    algorithm: &'a str,
    flows: u64,
    start_s: Option<f64>,
    end_s: Option<f64>,
    /// Of a flow or an algorithm.
    measures: Option<&'a Measures>,
    /// Of a flow whose end was recorded.
    closed: Option<Closed>,
    /// Of an algorithm.
    of_algorithm: Option<&'a AlgorithmSummary>,
    /// Of a swap.
    change: Option<&'a AlgorithmChange>,
}

/// Columns are named like the JSON keys and have a type; null is a figure that is not known.
pub fn frame(summary: &Summary) -> DataFrame {
    let lines = lines(summary);
    DataFrame::new_infer_height(columns(&lines)).expect("columns of equal length")
}

fn lines(summary: &Summary) -> Vec<Line<'_>> {
    let mut lines = Vec::new();
    for recording in &summary.recordings {
        lines.extend(recording.flows.iter().map(|flow| Line {
            recording: &recording.path,
            kind: "flow",
            name: &flow.name,
            algorithm: &flow.algorithm,
            flows: 1,
            start_s: Some(flow.start_s),
            end_s: Some(flow.end_s),
            measures: Some(&flow.measures),
            closed: flow.closed,
            of_algorithm: None,
            change: None,
        }));
        lines.extend(recording.algorithms.iter().map(|algorithm| Line {
            recording: &recording.path,
            kind: "algorithm",
            name: &algorithm.algorithm,
            algorithm: &algorithm.algorithm,
            flows: algorithm.flows,
            start_s: None,
            end_s: None,
            measures: Some(&algorithm.measures),
            closed: None,
            of_algorithm: Some(algorithm),
            change: None,
        }));
        lines.extend(recording.changes().map(|(flow, change)| swap_line(&recording.path, flow, change)));
    }
    lines
}

/// The columns that flows have too hold the second after the swap.
fn swap_line<'a>(recording: &'a str, flow: &'a FlowSummary, change: &'a AlgorithmChange) -> Line<'a> {
    Line {
        recording,
        kind: "swap",
        name: &flow.name,
        algorithm: &change.to,
        flows: 1,
        start_s: Some(change.at_s),
        end_s: Some(change.at_s + change.after.span_s),
        measures: None,
        closed: None,
        of_algorithm: None,
        change: Some(change),
    }
}

fn columns(lines: &[Line<'_>]) -> Vec<Column> {
    let text = |name: &str, value: fn(&Line) -> Option<String>| -> Column {
        Column::new(name.into(), lines.iter().map(value).collect::<Vec<_>>())
    };
    let float = |name: &str, value: &dyn Fn(&Line) -> Option<f64>| -> Column {
        Column::new(name.into(), lines.iter().map(value).collect::<Vec<_>>())
    };
    let count = |name: &str, value: &dyn Fn(&Line) -> Option<u64>| -> Column {
        Column::new(name.into(), lines.iter().map(value).collect::<Vec<_>>())
    };
    let mut columns = vec![
        text("recording", |l| Some(l.recording.to_owned())),
        text("kind", |l| Some(l.kind.to_owned())),
        text("name", |l| Some(l.name.to_owned())),
        text("algorithm", |l| Some(l.algorithm.to_owned())),
        count("flows", &|l| Some(l.flows)),
        float("start_s", &|l| l.start_s),
        float("end_s", &|l| l.end_s),
    ];
    columns.extend(METRICS.iter().map(|metric| match metric.value {
        Value::Count(of) => {
            count(metric.key, &|l| l.measures.and_then(of).or_else(|| of_side(l, metric.key).map(|v| v as u64)))
        }
        Value::Real(of) => float(metric.key, &|l| l.measures.and_then(of).or_else(|| of_side(l, metric.key))),
    }));
    let completion = |value: fn(&Distribution) -> f64| {
        move |l: &Line<'_>| l.of_algorithm?.connections.completion.as_ref().map(value)
    };
    columns.extend([
        count("duration_us", &|l| l.closed?.duration_us),
        count("completion_us", &|l| l.closed?.completion_us),
        count("closed_rtt_mean_us", &|l| l.closed?.rtt_mean_us),
        count("closed_rtt_min_us", &|l| l.closed?.rtt_min_us),
        count("opened", &|l| Some(l.of_algorithm?.connections.opened)),
        count("closed", &|l| Some(l.of_algorithm?.connections.closed)),
        count("completion_n", &|l| Some(l.of_algorithm?.connections.completion?.n)),
        float("completion_mean_us", &completion(|d| d.mean_us)),
        float("completion_p50_us", &completion(|d| d.p50_us as f64)),
        float("completion_p90_us", &completion(|d| d.p90_us as f64)),
        float("completion_p95_us", &completion(|d| d.p95_us as f64)),
        float("completion_p99_us", &completion(|d| d.p99_us as f64)),
        float("completion_max_us", &completion(|d| d.max_us as f64)),
        text("from_algorithm", |l| Some(l.change?.from.clone())),
        float("before_goodput_bps", &|l| l.change?.before.goodput_bps),
        count("before_retrans_pkts", &|l| Some(l.change?.before.retrans_pkts)),
        float("before_rtt_mean_us", &|l| l.change?.before.rtt_mean_us),
        float("lowest_goodput_bps", &|l| l.change?.lowest_goodput_bps),
        float("dip_ratio", &|l| l.change?.dip_ratio),
        count("before_cwnd_pkts", &|l| l.change?.before.state.cwnd_pkts),
        count("after_cwnd_pkts", &|l| l.change?.after.state.cwnd_pkts),
        count("later_cwnd_pkts", &|l| l.change?.one_rtt_later?.cwnd_pkts),
        count("before_ssthresh_pkts", &|l| l.change?.before.state.ssthresh_pkts),
        count("after_ssthresh_pkts", &|l| l.change?.after.state.ssthresh_pkts),
        count("later_ssthresh_pkts", &|l| l.change?.one_rtt_later?.ssthresh_pkts),
        count("before_pacing_rate_bps", &|l| l.change?.before.state.pacing_rate_bps),
        count("after_pacing_rate_bps", &|l| l.change?.after.state.pacing_rate_bps),
        count("later_pacing_rate_bps", &|l| l.change?.one_rtt_later?.pacing_rate_bps),
    ]);
    columns
}

/// The figures that the side after a swap shares with flows.
fn of_side(line: &Line<'_>, key: &str) -> Option<f64> {
    let after = &line.change?.after;
    match key {
        "goodput_bps" => after.goodput_bps,
        "retrans_pkts" => Some(after.retrans_pkts as f64),
        "rtt_mean_us" => after.rtt_mean_us,
        _ => None,
    }
}
