//! One line per flow, per algorithm and per swap, for spreadsheets and scripts.

use polars::prelude::*;

use crate::summary::{AlgorithmChange, FlowSummary, Measures, Summary};

/// One line of the file.
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
    /// Of a swap.
    change: Option<&'a AlgorithmChange>,
}

/// The summary as CSV (RFC 4180): a header, then one line per flow, one per algorithm and one per swap of each
/// recording.
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
            measures: Some(&flow.measures),
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
        change: Some(change),
    }
}

fn frame(lines: &[Line<'_>]) -> PolarsResult<DataFrame> {
    let text = |value: fn(&Line) -> String| -> Vec<String> { lines.iter().map(value).collect() };
    let float = |value: fn(&Line) -> Option<f64>| -> Vec<Option<f64>> { lines.iter().map(value).collect() };
    let count = |value: fn(&Line) -> Option<u64>| -> Vec<Option<u64>> { lines.iter().map(value).collect() };
    df!(
        "recording" => text(|l| l.recording.to_owned()),
        "kind" => text(|l| l.kind.to_owned()),
        "name" => text(|l| l.name.to_owned()),
        "algorithm" => text(|l| l.algorithm.to_owned()),
        "flows" => count(|l| Some(l.flows)),
        "start_s" => float(|l| l.start_s),
        "end_s" => float(|l| l.end_s),
        "throughput_bps" => float(|l| l.measures?.throughput_bps),
        "goodput_bps" => float(|l| l.measures.map_or_else(|| l.change?.after.goodput_bps, |m| m.goodput_bps)),
        "sent_bytes" => count(|l| Some(l.measures?.sent_bytes)),
        "acked_bytes" => count(|l| Some(l.measures?.acked_bytes)),
        "retrans_pkts" => count(|l| l.measures.map(|m| m.retrans_pkts).or(Some(l.change?.after.retrans_pkts))),
        "retrans_ratio" => float(|l| l.measures?.retrans_ratio),
        "lost_pkts" => count(|l| Some(l.measures?.lost_pkts)),
        "delivered_ce_pkts" => count(|l| Some(l.measures?.delivered_ce_pkts)),
        "cwnd_mean_pkts" => float(|l| l.measures?.cwnd_mean_pkts),
        "rtt_samples" => count(|l| Some(l.measures?.rtt_samples)),
        "rtt_mean_us" => float(|l| l.measures.map_or_else(|| l.change?.after.rtt_mean_us, |m| m.rtt_mean_us)),
        "rtt_p50_us" => count(|l| l.measures?.rtt_p50_us),
        "rtt_p95_us" => count(|l| l.measures?.rtt_p95_us),
        "rtt_p99_us" => count(|l| l.measures?.rtt_p99_us),
        "rtt_min_us" => count(|l| l.measures?.rtt_min_us),
        "queueing_delay_us" => float(|l| l.measures?.queueing_delay_us),
        "from_algorithm" => lines.iter().map(|l| Some(l.change?.from.as_str())).collect::<Vec<_>>(),
        "before_goodput_bps" => float(|l| l.change?.before.goodput_bps),
        "before_retrans_pkts" => count(|l| Some(l.change?.before.retrans_pkts)),
        "before_rtt_mean_us" => float(|l| l.change?.before.rtt_mean_us),
        "lowest_goodput_bps" => float(|l| l.change?.lowest_goodput_bps),
        "dip_ratio" => float(|l| l.change?.dip_ratio),
        "before_cwnd_pkts" => count(|l| l.change?.before.state.cwnd_pkts),
        "after_cwnd_pkts" => count(|l| l.change?.after.state.cwnd_pkts),
        "later_cwnd_pkts" => count(|l| l.change?.one_rtt_later?.cwnd_pkts),
        "before_ssthresh_pkts" => count(|l| l.change?.before.state.ssthresh_pkts),
        "after_ssthresh_pkts" => count(|l| l.change?.after.state.ssthresh_pkts),
        "later_ssthresh_pkts" => count(|l| l.change?.one_rtt_later?.ssthresh_pkts),
        "before_pacing_rate_bps" => count(|l| l.change?.before.state.pacing_rate_bps),
        "after_pacing_rate_bps" => count(|l| l.change?.after.state.pacing_rate_bps),
        "later_pacing_rate_bps" => count(|l| l.change?.one_rtt_later?.pacing_rate_bps),
    )
}
