//! What only several recordings together show: who gets how much of the link beside whom, and what the buffer changes.
//!
//! Recordings are put side by side only where their links are the same: rate and base RTT for a buffer sweep, buffer as
//! well for the fairness of two algorithms.

use serde::Serialize;

use crate::render::significant;
use crate::stats;
use crate::summary::{AlgorithmSummary, LinkSummary, RecordingSummary, Summary};

/// Buffers closer to each other than this share are the same one.
const SAME: f64 = 0.01;

/// The charts over all recordings of a report.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Across {
    /// One per link on which algorithms met.
    pub fairness: Vec<HeatMap>,
    /// One per metric and link of which several buffers were recorded.
    pub sweeps: Vec<Sweep>,
}

/// Algorithm × algorithm.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct HeatMap {
    /// The link; empty where the recordings do not know it.
    pub link: String,
    /// Names of the rows, and of the columns.
    pub algorithms: Vec<String>,
    /// `cells[row][column]`; `None` where the two never met.
    pub cells: Vec<Vec<Option<HeatCell>>>,
}

/// How an algorithm fared beside another one.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct HeatCell {
    /// Goodput of the row's average flow as a share of its own and the other's: 0.5 is fair.
    pub share: f64,
    /// Jain's index of all flows.
    pub jain: Option<f64>,
    /// Recordings of which both are the mean.
    pub runs: usize,
}

/// One metric over the size of the buffer.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Sweep {
    /// Short name for files.
    pub key: &'static str,
    /// What it is.
    pub title: &'static str,
    /// Its unit; empty for an index.
    pub unit: &'static str,
    /// The link; empty where the recordings do not know it.
    pub link: String,
    /// One per algorithm and company.
    pub lines: Vec<SweepLine>,
}

/// An algorithm of a sweep.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SweepLine {
    /// The algorithm, and beside which ones it ran if it did not always run beside the same.
    pub name: String,
    /// `#rrggbb`.
    pub color: String,
    /// In the order of the buffers.
    pub points: Vec<SweepPoint>,
}

/// Mean over the recordings with one buffer.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct SweepPoint {
    /// Size of the buffer in bandwidth-delay products.
    pub buffer_bdp: f64,
    /// Mean of the metric.
    pub mean: f64,
    /// Half the width of the 95 % interval; `None` for a single recording.
    pub ci95: Option<f64>,
    /// Recordings.
    pub n: usize,
}

/// Finds what there is to compare: nothing in a single recording.
pub fn across(summary: &Summary) -> Across {
    let recordings = &summary.recordings;
    if recordings.len() < 2 {
        return Across::default();
    }
    Across {
        fairness: groups(recordings, same_link).iter().filter_map(|group| heat_map(group)).collect(),
        sweeps: groups(recordings, same_path).iter().flat_map(|group| sweeps(group)).collect(),
    }
}

fn groups(
    recordings: &[RecordingSummary],
    same: fn(Option<&LinkSummary>, Option<&LinkSummary>) -> bool,
) -> Vec<Vec<&RecordingSummary>> {
    let mut groups: Vec<Vec<&RecordingSummary>> = Vec::new();
    for recording in recordings {
        match groups.iter_mut().find(|group| same(group[0].link.as_ref(), recording.link.as_ref())) {
            Some(group) => group.push(recording),
            None => groups.push(vec![recording]),
        }
    }
    groups
}

fn same_path(a: Option<&LinkSummary>, b: Option<&LinkSummary>) -> bool {
    match (a, b) {
        (None, None) => true,
        (Some(a), Some(b)) => near(Some(a.rate_bps), Some(b.rate_bps)) && near(a.base_rtt_us, b.base_rtt_us),
        _ => false,
    }
}

fn same_link(a: Option<&LinkSummary>, b: Option<&LinkSummary>) -> bool {
    same_path(a, b) && near(a.and_then(|link| link.buffer_bytes), b.and_then(|link| link.buffer_bytes))
}

fn near(a: Option<f64>, b: Option<f64>) -> bool {
    match (a, b) {
        (None, None) => true,
        (Some(a), Some(b)) => (a - b).abs() <= SAME * a.abs().max(b.abs()),
        _ => false,
    }
}

/// `50 Mbit/s, 40 ms`
fn path_text(link: Option<&LinkSummary>) -> String {
    let Some(link) = link else { return String::new() };
    let rtt = link.base_rtt_us.map(|us| format!(", {} ms", plain(us / 1e3))).unwrap_or_default();
    format!("{} Mbit/s{rtt}", plain(link.rate_bps / 1e6))
}

fn link_text(link: Option<&LinkSummary>) -> String {
    let buffer = link.and_then(|link| link.buffer_bdp).map(|bdp| format!(", buffer {} BDP", plain(bdp)));
    path_text(link) + &buffer.unwrap_or_default()
}

/// Three digits, without zeros at the end.
pub fn plain(value: f64) -> String {
    let text = significant(value);
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// Nothing when no two algorithms met: the flows of one among themselves are the recording's own Jain index.
fn heat_map(group: &[&RecordingSummary]) -> Option<HeatMap> {
    let mut algorithms: Vec<String> = Vec::new();
    let mut met: Vec<(usize, usize, f64, Option<f64>)> = Vec::new();
    for recording in group {
        let jain = recording.fairness.as_ref().and_then(|fairness| fairness.jain);
        let (a, b) = match recording.algorithms.as_slice() {
            // A flow that was moved is on both sides.
            _ if recording.changes().next().is_some() => continue,
            [a, b] => (a, b),
            [a] if a.flows >= 2 => (a, a),
            _ => continue,
        };
        let (Some(of_a), Some(of_b)) = (a.measures.goodput_bps, b.measures.goodput_bps) else { continue };
        let mut index = |algorithm: &AlgorithmSummary| {
            let known = algorithms.iter().position(|name| *name == algorithm.algorithm);
            known.unwrap_or_else(|| {
                algorithms.push(algorithm.algorithm.clone());
                algorithms.len() - 1
            })
        };
        let (row, column) = (index(a), index(b));
        if of_a + of_b > 0.0 {
            met.push((row, column, of_a / (of_a + of_b), jain));
        }
    }
    if !met.iter().any(|(row, column, ..)| row != column) {
        return None;
    }
    let cell = |row: usize, column: usize| {
        let both = met.iter().filter_map(|&(a, b, share, jain)| match (a, b) {
            _ if (a, b) == (row, column) => Some((share, jain)),
            _ if (b, a) == (row, column) => Some((1.0 - share, jain)),
            _ => None,
        });
        let (shares, jains): (Vec<f64>, Vec<Option<f64>>) = both.unzip();
        let jains: Vec<f64> = jains.into_iter().flatten().collect();
        let share = stats::spread(&shares)?.mean;
        Some(HeatCell { share, jain: stats::spread(&jains).map(|spread| spread.mean), runs: shares.len() })
    };
    let all = 0..algorithms.len();
    let cells = all.clone().map(|row| all.clone().map(|column| cell(row, column)).collect()).collect();
    Some(HeatMap { link: link_text(group[0].link.as_ref()), algorithms, cells })
}

/// A metric of an algorithm, in the unit in which it is drawn.
type Metric = fn(&AlgorithmSummary) -> Option<f64>;

const METRICS: [(&str, &str, &str, Metric); 4] = [
    ("goodput", "Goodput of a flow", "Mbit/s", |a| Some(a.measures.goodput_bps? / 1e6)),
    ("rtt", "Mean RTT", "ms", |a| Some(a.measures.rtt_mean_us? / 1e3)),
    ("rtt-p95", "95th percentile of the RTT", "ms", |a| Some(a.measures.rtt_p95_us? as f64 / 1e3)),
    ("retransmissions", "Retransmitted bytes", "%", |a| Some(a.measures.retrans_ratio? * 100.0)),
];

fn sweeps(group: &[&RecordingSummary]) -> Vec<Sweep> {
    let buffer = |recording: &RecordingSummary| recording.link.as_ref()?.buffer_bdp;
    let first = group.iter().find_map(|recording| buffer(recording));
    let several = group.iter().any(|recording| buffer(recording).is_some() && !near(buffer(recording), first));
    if !several {
        return Vec::new();
    }
    METRICS
        .iter()
        .map(|&(key, title, unit, metric)| Sweep {
            key,
            title,
            unit,
            link: path_text(group[0].link.as_ref()),
            lines: sweep_lines(group, metric),
        })
        .filter(|sweep| !sweep.lines.is_empty())
        .collect()
}

/// The algorithms with which another one shared the link; its own name when it was alone among its kind.
fn company(recording: &RecordingSummary, of: &AlgorithmSummary) -> String {
    let others: Vec<&str> = recording
        .algorithms
        .iter()
        .filter(|other| other.kernel_name != of.kernel_name)
        .map(|other| other.algorithm.as_str())
        .collect();
    others.join(" and ")
}

fn sweep_lines(group: &[&RecordingSummary], metric: Metric) -> Vec<SweepLine> {
    struct Line<'a> {
        algorithm: &'a AlgorithmSummary,
        company: String,
        values: Vec<(f64, Vec<f64>)>,
    }
    let mut lines: Vec<Line<'_>> = Vec::new();
    for recording in group {
        let Some(buffer_bdp) = recording.link.as_ref().and_then(|link| link.buffer_bdp) else { continue };
        for algorithm in &recording.algorithms {
            let Some(value) = metric(algorithm) else { continue };
            let company = company(recording, algorithm);
            let is_same = |line: &Line<'_>| line.algorithm.algorithm == algorithm.algorithm && line.company == company;
            let line = match lines.iter().position(is_same) {
                Some(index) => &mut lines[index],
                None => {
                    lines.push(Line { algorithm, company, values: Vec::new() });
                    lines.last_mut().expect("pushed above")
                }
            };
            match line.values.iter_mut().find(|(at, _)| near(Some(*at), Some(buffer_bdp))) {
                Some((_, values)) => values.push(value),
                None => line.values.push((buffer_bdp, vec![value])),
            }
        }
    }
    let same_company = |line: &Line<'_>| {
        lines.iter().all(|other| other.algorithm.algorithm != line.algorithm.algorithm || other.company == line.company)
    };
    lines
        .iter()
        .map(|line| {
            let name = &line.algorithm.algorithm;
            let name = match (same_company(line), line.company.as_str()) {
                (true, _) => name.clone(),
                (false, "") => format!("{name} alone"),
                (false, company) => format!("{name} beside {company}"),
            };
            let mut points: Vec<SweepPoint> = line
                .values
                .iter()
                .filter_map(|(buffer_bdp, values)| {
                    let spread = stats::spread(values)?;
                    let (mean, ci95) = (spread.mean, spread.ci95);
                    Some(SweepPoint { buffer_bdp: *buffer_bdp, mean, ci95, n: values.len() })
                })
                .collect();
            points.sort_by(|a, b| a.buffer_bdp.total_cmp(&b.buffer_bdp));
            SweepLine { name, color: line.algorithm.color.clone(), points }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_lose_their_zeros() {
        assert_eq!([plain(10.0), plain(0.5), plain(100.0), plain(0.0)], ["10", "0.5", "100", "0"]);
    }
}
