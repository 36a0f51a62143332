//! One line per flow and per algorithm, for spreadsheets and scripts.

use polars::prelude::*;

use crate::summary::{Measures, Summary};

/// One line of the file.
struct Line<'a> {
    recording: &'a str,
    kind: &'static str,
    name: &'a str,
    algorithm: &'a str,
    flows: u64,
    start_s: Option<f64>,
    end_s: Option<f64>,
    measures: &'a Measures,
}

/// The summary as CSV (RFC 4180): a header, then one line per flow and one per algorithm of each recording.
///
/// Columns are named like the JSON keys; an empty field is a figure that is not known.
///
/// # Panics
/// Never: the columns have equal lengths and the text goes to memory.
#[must_use]
pub fn csv(summary: &Summary) -> String {
    let lines = lines(summary);
    let mut out = Vec::new();
    let mut frame = frame(&lines).expect("columns of equal length");
    CsvWriter::new(&mut out).finish(&mut frame).expect("memory can be written to");
    String::from_utf8(out).expect("CSV of text is text")
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
            measures: &flow.measures,
        }));
        lines.extend(recording.algorithms.iter().map(|algorithm| Line {
            recording: &recording.path,
            kind: "algorithm",
            name: &algorithm.algorithm,
            algorithm: &algorithm.algorithm,
            flows: algorithm.flows,
            start_s: None,
            end_s: None,
            measures: &algorithm.measures,
        }));
    }
    lines
}

fn frame(lines: &[Line<'_>]) -> PolarsResult<DataFrame> {
    let text = |value: fn(&Line) -> String| -> Vec<String> { lines.iter().map(value).collect() };
    let float = |value: fn(&Line) -> Option<f64>| -> Vec<Option<f64>> { lines.iter().map(value).collect() };
    let count = |value: fn(&Line) -> u64| -> Vec<u64> { lines.iter().map(value).collect() };
    let micros = |value: fn(&Line) -> Option<u64>| -> Vec<Option<u64>> { lines.iter().map(value).collect() };
    df!(
        "recording" => text(|l| l.recording.to_owned()),
        "kind" => text(|l| l.kind.to_owned()),
        "name" => text(|l| l.name.to_owned()),
        "algorithm" => text(|l| l.algorithm.to_owned()),
        "flows" => count(|l| l.flows),
        "start_s" => float(|l| l.start_s),
        "end_s" => float(|l| l.end_s),
        "throughput_bps" => float(|l| l.measures.throughput_bps),
        "goodput_bps" => float(|l| l.measures.goodput_bps),
        "sent_bytes" => count(|l| l.measures.sent_bytes),
        "acked_bytes" => count(|l| l.measures.acked_bytes),
        "retrans_pkts" => count(|l| l.measures.retrans_pkts),
        "retrans_ratio" => float(|l| l.measures.retrans_ratio),
        "lost_pkts" => count(|l| l.measures.lost_pkts),
        "delivered_ce_pkts" => count(|l| l.measures.delivered_ce_pkts),
        "cwnd_mean_pkts" => float(|l| l.measures.cwnd_mean_pkts),
        "rtt_samples" => count(|l| l.measures.rtt_samples),
        "rtt_mean_us" => float(|l| l.measures.rtt_mean_us),
        "rtt_p50_us" => micros(|l| l.measures.rtt_p50_us),
        "rtt_p95_us" => micros(|l| l.measures.rtt_p95_us),
        "rtt_p99_us" => micros(|l| l.measures.rtt_p99_us),
        "rtt_min_us" => micros(|l| l.measures.rtt_min_us),
        "queueing_delay_us" => float(|l| l.measures.queueing_delay_us),
    )
}
