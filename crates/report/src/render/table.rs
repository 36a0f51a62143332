//! The table on a terminal.

use super::format::{bytes, grouped, index, mbit_per_s, millis, number, percent, significant};
use super::swaps;
use crate::summary::{
    AlgorithmSummary, Estimate, FlowSummary, InnerValue, LinkSummary, Measures, RecordingSummary, Repeats, Summary,
};

/// Flows beyond this number are only counted; JSON and CSV have them all.
const MAX_FLOWS: usize = 40;
/// The same for changes of algorithm.
pub(crate) const MAX_SWAPS: usize = 100;
/// Phases shorter than this share of the time are left out of the line.
const MIN_PHASE_SHARE: f64 = 0.0005;

/// Everything in the summary, as text for people.
#[must_use]
pub fn table(summary: &Summary) -> String {
    let mut text = String::new();
    for recording in &summary.recordings {
        text.push_str(&recording_text(recording));
        text.push('\n');
    }
    for repeats in &summary.repeats {
        text.push_str(&repeats_text(repeats));
        text.push('\n');
    }
    text.pop();
    text
}

/// Facts about a recording, one sentence each: its origin, the link, the fairness.
pub(crate) fn facts(recording: &RecordingSummary) -> Vec<String> {
    let mut origin = vec![format!("{} s", significant(recording.duration_s))];
    origin.extend(recording.started.iter().map(|started| format!("started {started}")));
    origin.extend(recording.kernel.iter().map(|kernel| format!("kernel {kernel}")));
    origin.extend(recording.every.iter().map(|every| format!("every {every}")));
    origin.push(format!("{} rows", grouped(recording.rows)));
    origin.push(match recording.drops {
        Some(0) => "no drops".to_owned(),
        Some(drops) => format!("{} drops", grouped(drops)),
        None => "drops not known".to_owned(),
    });
    let mut facts = vec![origin.join(" · ")];
    facts.extend(recording.link.as_ref().map(link_fact));
    if let Some(fairness) = &recording.fairness {
        let mut fact = format!("Jain index {}", index(fairness.jain));
        if fairness.jain_interval_mean.is_some() {
            let mean = index(fairness.jain_interval_mean);
            let width = significant(fairness.interval_s);
            fact.push_str(&format!(" · {mean} on average over {} intervals of {width} s", fairness.intervals));
        }
        facts.push(fact);
    }
    facts
}

fn link_fact(link: &LinkSummary) -> String {
    let mut parts = vec![format!("link {} Mbit/s", significant(link.rate_bps / 1e6))];
    parts.extend(link.base_rtt_us.map(|us| format!("base RTT {} ms", significant(us / 1e3))));
    parts.extend(link.buffer_bytes.map(|size| {
        let bdp = link.buffer_bdp.map(|bdp| format!(" ({} BDP)", significant(bdp)));
        format!("buffer {}{}", bytes(size), bdp.unwrap_or_default())
    }));
    parts.push(format!("utilisation {} %", percent(link.utilisation)));
    parts.join(" · ")
}

fn recording_text(recording: &RecordingSummary) -> String {
    let mut text = format!("{}\n", recording.name);
    for fact in facts(recording) {
        text.push_str(&format!("  {fact}\n"));
    }
    for warning in &recording.warnings {
        text.push_str(&format!("  WARNING: {warning}\n"));
    }
    text.push('\n');
    let shown = &recording.flows[..recording.flows.len().min(MAX_FLOWS)];
    let mut rows: Vec<Vec<String>> = vec![headings("flow"), units()];
    rows.extend(shown.iter().map(flow_row));
    if recording.algorithms_differ_from_flows() {
        rows.push(Vec::new());
        rows.push(vec!["per algorithm".to_owned()]);
        rows.extend(recording.algorithms.iter().map(algorithm_row));
    }
    text.push_str(&aligned(&rows));
    if recording.flows.len() > shown.len() {
        text.push_str(&format!(
            "  … and {} more flows (--json and --csv have all)\n",
            recording.flows.len() - shown.len()
        ));
    }
    for algorithm in recording.algorithms.iter().filter(|a| !a.measures.phases.is_empty()) {
        text.push_str(&format!("  phases of {}: {}\n", algorithm.algorithm, phases(&algorithm.measures)));
    }
    for flow in recording.flows.iter().take(MAX_FLOWS).filter(|flow| !flow.measures.inner_state.is_empty()) {
        text.push_str(&format!("  inner state of {}: {}\n", flow.name, inner_state(&flow.measures)));
    }
    text.push_str(&swaps_text(recording));
    text
}

/// Changes of algorithm with what they did; nothing when there are none.
fn swaps_text(recording: &RecordingSummary) -> String {
    let changes: Vec<_> = recording.changes().collect();
    if changes.is_empty() {
        return String::new();
    }
    let figures = |of: fn(&(&str, &str)) -> String| swaps::FIGURES.iter().map(of);
    let mut rows = vec![
        ["swaps".to_owned(), "algorithm".to_owned()].into_iter().chain(figures(|f| f.0.to_owned())).collect(),
        [String::new(), String::new()].into_iter().chain(figures(|f| f.1.to_owned())).collect(),
    ];
    rows.extend(changes.iter().take(MAX_SWAPS).map(|(flow, change)| {
        let mut row = vec![flow.name.clone(), format!("{} → {}", change.from, change.to)];
        row.extend(swaps::cells(change));
        row
    }));
    let mut text = format!("\n{}", aligned(&rows));
    if changes.len() > MAX_SWAPS {
        text.push_str(&format!("  … and {} more swaps (--json and --csv have all)\n", changes.len() - MAX_SWAPS));
    }
    text
}

/// Time per phase, as one line.
pub(crate) fn phases(measures: &Measures) -> String {
    let shown = measures.phases.iter().filter(|phase| phase.share >= MIN_PHASE_SHARE);
    shown.map(|phase| format!("{} {} %", phase.mode, percent(Some(phase.share)))).collect::<Vec<_>>().join(", ")
}

/// Mean and range of what the algorithm published, as one line.
pub(crate) fn inner_state(measures: &Measures) -> String {
    let value = |inner: &InnerValue| {
        let (name, unit) = match inner.name.as_str() {
            "bw_bps" => ("bw Mbit/s", 1e6),
            "min_rtt_us" => ("min RTT ms", 1e3),
            name => (name, 1.0),
        };
        let [mean, min, max] = [inner.mean, inner.min, inner.max].map(|value| significant(value / unit));
        format!("{name} {mean} ({min} … {max})")
    };
    measures.inner_state.iter().map(value).collect::<Vec<_>>().join(", ")
}

fn headings(first: &str) -> Vec<String> {
    let names = [
        first,
        "algorithm",
        "goodput",
        "throughput",
        "retrans",
        "",
        "lost",
        "cwnd",
        "RTT mean",
        "p50",
        "p95",
        "p99",
        "min",
        "queue",
    ];
    names.map(str::to_owned).to_vec()
}

fn units() -> Vec<String> {
    let units = ["", "", "Mbit/s", "Mbit/s", "pkts", "%", "pkts", "pkts", "ms", "ms", "ms", "ms", "ms", "ms"];
    units.map(str::to_owned).to_vec()
}

fn flow_row(flow: &FlowSummary) -> Vec<String> {
    row(&flow.name, &flow.algorithm, &flow.measures)
}

fn algorithm_row(algorithm: &AlgorithmSummary) -> Vec<String> {
    row(&flow_count(algorithm), &algorithm.algorithm, &algorithm.measures)
}

/// How many flows the figures of an algorithm stand for.
pub(crate) fn flow_count(algorithm: &AlgorithmSummary) -> String {
    if algorithm.flows == 1 { "1 flow".to_owned() } else { format!("mean of {} flows", algorithm.flows) }
}

fn row(name: &str, algorithm: &str, measures: &Measures) -> Vec<String> {
    let mut row = vec![name.to_owned(), algorithm.to_owned()];
    row.extend(cells(measures));
    row
}

/// The figures in the order of [`headings`], from goodput on.
pub(crate) fn cells(measures: &Measures) -> [String; 12] {
    let us = |value: Option<u64>| millis(value.map(|us| us as f64));
    [
        mbit_per_s(measures.goodput_bps),
        mbit_per_s(measures.throughput_bps),
        measures.retrans_pkts.to_string(),
        percent(measures.retrans_ratio),
        measures.lost_pkts.to_string(),
        number(measures.cwnd_mean_pkts),
        millis(measures.rtt_mean_us),
        us(measures.rtt_p50_us),
        us(measures.rtt_p95_us),
        us(measures.rtt_p99_us),
        us(measures.rtt_min_us),
        millis(measures.queueing_delay_us),
    ]
}

fn repeats_text(repeats: &Repeats) -> String {
    let mut text = format!("{} repeats: mean ± 95 % interval (standard deviation)\n\n", repeats.paths.len());
    let names =
        ["algorithm", "goodput Mbit/s", "throughput Mbit/s", "retrans pkts", "cwnd pkts", "RTT mean ms", "RTT p95 ms"];
    let mut rows = vec![names.map(str::to_owned).to_vec()];
    rows.extend(repeats.algorithms.iter().map(|a| {
        let mut row = vec![a.algorithm.clone()];
        row.extend(repeat_cells(a));
        row
    }));
    text.push_str(&aligned(&rows));
    if repeats.jain.is_some() {
        text.push_str(&format!("  Jain index {}\n", estimate(repeats.jain, 1.0)));
    }
    if repeats.utilisation.is_some() {
        text.push_str(&format!("  utilisation {} %\n", estimate(repeats.utilisation, 0.01)));
    }
    text
}

/// The figures of one algorithm over repeats: goodput, throughput, retransmissions, cwnd, mean and p95 RTT.
pub(crate) fn repeat_cells(algorithm: &crate::summary::RepeatedAlgorithm) -> [String; 6] {
    [
        estimate(algorithm.goodput_bps, 1e6),
        estimate(algorithm.throughput_bps, 1e6),
        estimate(algorithm.retrans_pkts, 1.0),
        estimate(algorithm.cwnd_mean_pkts, 1.0),
        estimate(algorithm.rtt_mean_us, 1e3),
        estimate(algorithm.rtt_p95_us, 1e3),
    ]
}

/// `mean ± interval (deviation)` in a unit of `unit`.
pub(crate) fn estimate(value: Option<Estimate>, unit: f64) -> String {
    match value {
        None => number(None),
        Some(Estimate { mean, sd: Some(sd), ci95: Some(ci95), .. }) => {
            format!("{} ± {} ({})", significant(mean / unit), significant(ci95 / unit), significant(sd / unit))
        }
        Some(one) => significant(one.mean / unit),
    }
}

/// Columns as wide as their widest cell; the first two to the left, figures to the right. A lone cell is a heading.
fn aligned(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        let cells = rows.iter().filter(|row| row.len() > 1).filter_map(|row| row.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let text_columns = if columns == 7 { 1 } else { 2 };
    let mut text = String::new();
    for row in rows {
        let mut line = String::from(" ");
        for (column, cell) in row.iter().enumerate() {
            let width = widths[column];
            line.push_str(&if column < text_columns {
                format!(" {cell:<width$} ")
            } else {
                format!(" {cell:>width$} ")
            });
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}
