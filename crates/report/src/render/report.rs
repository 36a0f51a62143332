//! A summary as a document.

use super::UNKNOWN;
use super::document::{Block, Line, Table};
use super::format::millis;
use super::{receivers, swaps, table};
use crate::metric::{self, Metric};
use crate::summary::{
    AlgorithmSummary, Connections, Distribution, FlowSummary, Measures, RecordingSummary, Repeats, Summary,
};

/// More flows than this are not listed one by one.
const MAX_FLOWS: usize = 40;
/// Of so many flows the ones that moved most data are listed.
const LISTED_OF_MANY: usize = 10;

/// Everything in the summary, for people.
pub fn document(summary: &Summary) -> Vec<Block> {
    let recordings = summary.recordings.iter().flat_map(recording);
    recordings.chain(summary.repeats.iter().flat_map(repeats)).collect()
}

fn recording(recording: &RecordingSummary) -> Vec<Block> {
    let mut blocks = vec![Block::Heading(recording.name.clone()), Block::Facts(table::facts(recording))];
    blocks.extend(recording.warnings.iter().cloned().map(Block::Warning));
    let listed = listed_flows(recording);
    if !listed.is_empty() {
        blocks.push(Block::Table(figures(recording, &listed)));
    }
    let others = recording.flows.len() - listed.len();
    if others > 0 {
        blocks.push(Block::Note(format!(
            "{others} of {} flows are not listed, those that moved least data; they count per algorithm, and --json, --csv \
             and --parquet have all",
            recording.flows.len()
        )));
    }
    if recording.pooled_flows > 0 {
        blocks.push(Block::Note(format!(
            "{} more flows have ended and are kept in pools: they count per algorithm, in fairness and for the link, and no \
             output has them one by one",
            recording.pooled_flows
        )));
    }
    blocks.extend(connections(recording).map(Block::Table));
    blocks.extend(receiving(recording));
    for algorithm in recording.algorithms.iter().filter(|a| !a.measures.phases.is_empty()) {
        blocks.push(Block::Note(format!("phases of {}: {}", algorithm.algorithm, table::phases(&algorithm.measures))));
    }
    for flow in listed.iter().filter(|flow| !flow.measures.inner_state.is_empty()) {
        blocks.push(Block::Note(format!("inner state of {}: {}", flow.name, table::inner_state(&flow.measures))));
    }
    blocks.extend(changes(recording));
    blocks
}

/// All flows in their order, or of very many the ones that moved most data.
fn listed_flows(recording: &RecordingSummary) -> Vec<&FlowSummary> {
    let all: Vec<&FlowSummary> = recording.flows.iter().collect();
    if all.len() <= MAX_FLOWS {
        return all;
    }
    let mut by_bytes: Vec<usize> = (0..all.len()).collect();
    by_bytes.sort_by_key(|&i| std::cmp::Reverse(all[i].measures.acked_bytes));
    by_bytes.truncate(LISTED_OF_MANY);
    by_bytes.sort_unstable();
    by_bytes.into_iter().map(|i| all[i]).collect()
}

fn figures(recording: &RecordingSummary, listed: &[&FlowSummary]) -> Table {
    let measures: Vec<&Measures> = recording.algorithms.iter().map(|algorithm| &algorithm.measures).collect();
    let metrics = metric::shown(&measures);
    let mut table = Table::new(&["flow", "algorithm"], metrics.iter().map(|metric| (metric.heading, metric.unit)));
    for flow in listed {
        table
            .row(vec![name_beside_algorithm(flow).to_owned(), flow.algorithm.clone()], cells(&metrics, &flow.measures));
    }
    if recording.algorithms_differ_from_flows() {
        table.lines.push(Line::Section(table::PER_ALGORITHM.to_owned()));
        for algorithm in &recording.algorithms {
            let names = vec![table::flow_count(algorithm), algorithm.algorithm.clone()];
            table.row(names, cells(&metrics, &algorithm.measures));
        }
    }
    table
}

/// The name of a flow without scenario begins with its algorithm, which has a column of its own.
fn name_beside_algorithm(flow: &FlowSummary) -> &str {
    let rest = flow.name.strip_prefix(&flow.algorithm).and_then(|rest| rest.strip_prefix(' '));
    rest.unwrap_or(&flow.name)
}

fn cells(metrics: &[Metric], measures: &Measures) -> Vec<String> {
    metrics.iter().map(|metric| metric.cell(measures)).collect()
}

/// Heading and unit of the figures of connections.
const CONNECTION_FIGURES: [(&str, &str); 13] = [
    ("opened", ""),
    ("closed", ""),
    ("completed", ""),
    ("FCT mean", "ms"),
    ("p50", "ms"),
    ("p90", "ms"),
    ("p95", "ms"),
    ("p99", "ms"),
    ("max", "ms"),
    ("duration mean", "ms"),
    ("p50", "ms"),
    ("RTT mean", "ms"),
    ("min", "ms"),
];

/// What became of the connections; nothing when none was closed in the recording.
fn connections(recording: &RecordingSummary) -> Option<Table> {
    let mut table = Table::new(&["connections"], CONNECTION_FIGURES);
    for algorithm in recording.algorithms.iter().filter(|a| a.connections.closed > 0) {
        table.row(vec![algorithm.algorithm.clone()], connection_cells(algorithm));
    }
    (!table.lines.is_empty()).then_some(table)
}

fn connection_cells(algorithm: &AlgorithmSummary) -> Vec<String> {
    let Connections { opened, closed, completion, duration, rtt_mean, rtt_min } = &algorithm.connections;
    let time = |of: &Option<Distribution>, value: fn(&Distribution) -> f64| millis(of.as_ref().map(value));
    vec![
        opened.to_string(),
        closed.to_string(),
        completion.map_or(UNKNOWN.to_owned(), |completion| completion.n.to_string()),
        time(completion, |d| d.mean_us),
        time(completion, |d| d.p50_us as f64),
        time(completion, |d| d.p90_us as f64),
        time(completion, |d| d.p95_us as f64),
        time(completion, |d| d.p99_us as f64),
        time(completion, |d| d.max_us as f64),
        time(duration, |d| d.mean_us),
        time(duration, |d| d.p50_us as f64),
        time(rtt_mean, |d| d.mean_us),
        time(rtt_min, |d| d.min_us as f64),
    ]
}

/// What sockets with a receiving algorithm offered; nothing when there are none.
fn receiving(recording: &RecordingSummary) -> Vec<Block> {
    if recording.receivers.is_empty() {
        return Vec::new();
    }
    let mut table = Table::new(&["receiver"], receivers::FIGURES);
    for of in recording.receivers.iter().take(MAX_FLOWS) {
        table.row(vec![of.name.clone()], receivers::cells(of).to_vec());
    }
    let mut blocks = vec![Block::Table(table)];
    if let Some(others) = recording.receivers.len().checked_sub(MAX_FLOWS).filter(|others| *others > 0) {
        blocks.push(Block::Note(format!("{others} more receivers are not listed; --json has all")));
    }
    blocks
}

/// Changes of algorithm with what they did; nothing when there are none.
fn changes(recording: &RecordingSummary) -> Vec<Block> {
    let changes: Vec<_> = recording.changes().collect();
    if changes.is_empty() {
        return Vec::new();
    }
    let mut table = Table::new(&["swaps", "algorithm"], swaps::FIGURES);
    for (flow, change) in changes.iter().take(table::MAX_SWAPS) {
        let names = vec![flow.name.clone(), format!("{} → {}", change.from, change.to)];
        table.row(names, swaps::cells(change).to_vec());
    }
    let mut blocks = vec![Block::Table(table)];
    if let Some(others) = changes.len().checked_sub(table::MAX_SWAPS).filter(|others| *others > 0) {
        blocks.push(Block::Note(format!("{others} more swaps are not listed; --json, --csv and --parquet have all")));
    }
    blocks
}

fn repeats(repeats: &Repeats) -> Vec<Block> {
    let heading = format!("{} repeats: mean ± 95 % interval (standard deviation)", repeats.paths.len());
    let figures = [
        ("goodput", "Mbit/s"),
        ("throughput", "Mbit/s"),
        ("retrans", "pkts"),
        ("cwnd", "pkts"),
        ("RTT mean", "ms"),
        ("RTT p95", "ms"),
    ];
    let mut table = Table::new(&["algorithm"], figures);
    for algorithm in &repeats.algorithms {
        table.row(vec![algorithm.algorithm.clone()], table::repeat_cells(algorithm).to_vec());
    }
    let mut blocks = vec![Block::Heading(heading), Block::Table(table)];
    for (name, estimate, unit) in [("Jain index", repeats.jain, 1.0), ("utilisation in %", repeats.utilisation, 0.01)] {
        if estimate.is_some() {
            blocks.push(Block::Note(format!("{name}: {}", table::estimate(estimate, unit))));
        }
    }
    blocks
}
