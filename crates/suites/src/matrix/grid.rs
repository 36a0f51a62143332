//! What the cells have measured: harm and Jain index of each pair, and how each algorithm stands.

use super::plan::{BUFFER, ONE, OTHER, RTT};
use crate::folder::{PlannedCell, SuiteFolder};
use crate::{Error, Result, results};
use ccactl_report::stats;
use ccactl_testbed::bench::RunResult;
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;

/// The middle of several runs, and how far they reach.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Range {
    /// Median.
    pub median: f64,
    /// Smallest.
    pub min: f64,
    /// Largest: of five runs, smallest and largest enclose the median of all with 94 %.
    pub max: f64,
    /// Runs.
    pub n: usize,
}

impl Range {
    fn of(mut values: Vec<f64>) -> Option<Range> {
        values.sort_by(f64::total_cmp);
        let (first, last) = (*values.first()?, *values.last()?);
        let middle = values.len() / 2;
        let median = if values.len() % 2 == 1 { values[middle] } else { (values[middle - 1] + values[middle]) / 2.0 };
        Some(Range { median, min: first, max: last, n: values.len() })
    }
}

/// What one algorithm does to another.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Entry {
    /// Of its goodput alone, what the other one loses beside this one, %.
    pub harm: Range,
    /// Of the two goodputs.
    pub jain: Range,
    /// This one's, Mbit/s.
    pub own_mbps: Range,
    /// The other one's.
    pub other_mbps: Range,
    /// Mean time in the queue, ms; none where nobody saw it.
    pub queue_ms: Option<Range>,
    /// Folder of the runs.
    pub cell: String,
}

/// How an algorithm does in a grid.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Standing {
    /// Its name.
    pub algorithm: String,
    /// Alone, Mbit/s.
    pub alone_mbps: Option<Range>,
    /// Median over the others of the harm that it does, %.
    pub does: Option<f64>,
    /// Median of the harm that it suffers.
    pub suffers: Option<f64>,
}

/// All pairs at one base RTT and one buffer.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Grid {
    /// Base RTT.
    pub rtt: String,
    /// Buffer.
    pub buffer: String,
    /// By harm done, the most first.
    pub standings: Vec<Standing>,
    /// By the algorithm that does and the one that suffers.
    #[serde(skip)]
    pub entries: BTreeMap<(String, String), Entry>,
}

const PERCENT: f64 = 100.0;
const MBIT: f64 = 1e6;

/// The grids of what is finished in a folder, and what does not count, in words.
///
/// # Errors
/// When a result cannot be read, or a signal asked for the end.
pub fn read(folder: &SuiteFolder, interrupt: &AtomicBool) -> Result<(Vec<Grid>, Vec<String>)> {
    let mut measured: Vec<(&PlannedCell, Vec<RunResult>)> = Vec::new();
    let mut warnings = Vec::new();
    let (mut missing, mut rejected) = (0, 0);
    for cell in &folder.experiment().cells {
        Error::check(interrupt)?;
        if folder.finished(&cell.id)?.is_none() {
            missing += 1;
            continue;
        }
        let runs = results::read(&folder.of_cell(&cell.id))?.runs;
        let tried = runs.len();
        let valid: Vec<RunResult> = runs.into_iter().filter(|run| run.valid).collect();
        rejected += tried - valid.len();
        measured.push((cell, valid));
    }
    if missing > 0 {
        warnings.push(format!("{missing} of {} cells are not run", folder.experiment().cells.len()));
    }
    if rejected > 0 {
        warnings.push(format!("{rejected} runs or attempts are not valid and in no figure"));
    }
    let mut places: Vec<(&str, &str)> = Vec::new();
    for (cell, _) in &measured {
        let place = (cell.labels[RTT].as_str(), cell.labels[BUFFER].as_str());
        if !places.contains(&place) {
            places.push(place);
        }
    }
    let grid = |(rtt, buffer): (&str, &str)| {
        let here = measured.iter().filter(|(cell, _)| cell.labels[RTT] == rtt && cell.labels[BUFFER] == buffer);
        Grid::of(rtt, buffer, &here.map(|(cell, runs)| (*cell, runs.as_slice())).collect::<Vec<_>>())
    };
    Ok((places.into_iter().map(grid).collect(), warnings))
}

impl Grid {
    fn of(rtt: &str, buffer: &str, cells: &[(&PlannedCell, &[RunResult])]) -> Grid {
        let mut alone: BTreeMap<&str, Range> = BTreeMap::new();
        for (cell, runs) in cells.iter().filter(|(cell, _)| !cell.labels.contains_key(OTHER)) {
            let goodputs = runs.iter().map(|run| goodput_mbps(run, 0, cell.duration_s)).collect();
            alone.extend(Range::of(goodputs).map(|range| (cell.labels[ONE].as_str(), range)));
        }
        let mut entries = BTreeMap::new();
        for (cell, runs) in cells.iter().filter(|(cell, _)| cell.labels.contains_key(OTHER)) {
            let names = [cell.labels[ONE].as_str(), cell.labels[OTHER].as_str()];
            let same = names[0] == names[1];
            for (does, suffers) in [(0, 1), (1, 0)] {
                let Some(without) = alone.get(names[suffers]).filter(|range| range.median > 0.0) else { continue };
                let entry = entry(cell, runs, (does, suffers), same, without.median);
                entries.extend(entry.map(|entry| ((names[does].to_owned(), names[suffers].to_owned()), entry)));
            }
        }
        let mut standings: Vec<Standing> = alone.iter().map(|(name, range)| standing(name, *range, &entries)).collect();
        standings.sort_by(|a, b| b.does.unwrap_or(0.0).total_cmp(&a.does.unwrap_or(0.0)));
        Grid { rtt: rtt.to_owned(), buffer: buffer.to_owned(), standings, entries }
    }

    /// `20 ms, 1 BDP`
    #[must_use]
    pub fn title(&self) -> String {
        format!("base RTT {}, buffer {}", self.rtt, self.buffer)
    }
}

/// Two flows of one algorithm are told apart by nothing: each of them is an example of both.
fn entry(
    cell: &PlannedCell,
    runs: &[RunResult],
    (does, suffers): (usize, usize),
    same: bool,
    without: f64,
) -> Option<Entry> {
    let goodputs = |flow: usize| runs.iter().map(move |run| goodput_mbps(run, flow, cell.duration_s));
    let of = |flow: usize, further: usize| -> Vec<f64> {
        let more = goodputs(further).filter(|_| same);
        goodputs(flow).chain(more).collect()
    };
    let (own, other) = (of(does, suffers), of(suffers, does));
    let harm = other.iter().map(|beside| (1.0 - beside / without) * PERCENT).collect();
    let jain = runs
        .iter()
        .filter_map(|run| stats::jain(&[goodput_mbps(run, 0, cell.duration_s), goodput_mbps(run, 1, cell.duration_s)]));
    let queue = runs.iter().filter_map(|run| Some(run.link.queue?.queueing.mean_us / 1e3)).collect();
    Some(Entry {
        harm: Range::of(harm)?,
        jain: Range::of(jain.collect())?,
        own_mbps: Range::of(own)?,
        other_mbps: Range::of(other)?,
        queue_ms: Range::of(queue),
        cell: cell.id.clone(),
    })
}

fn goodput_mbps(run: &RunResult, flow: usize, duration_s: f64) -> f64 {
    let acked = run.flows.get(flow).and_then(|flow| flow.metrics.as_ref()).map_or(0, |metrics| metrics.acked_bytes);
    acked as f64 * 8.0 / duration_s / MBIT
}

fn standing(name: &str, alone: Range, entries: &BTreeMap<(String, String), Entry>) -> Standing {
    let others = |is_it: &dyn Fn(&(String, String)) -> bool| {
        let harm = entries.iter().filter(|(pair, _)| pair.0 != pair.1 && is_it(pair));
        Range::of(harm.map(|(_, entry)| entry.harm.median).collect()).map(|range| range.median)
    };
    Standing {
        algorithm: name.to_owned(),
        alone_mbps: Some(alone),
        does: others(&|pair| pair.0 == name),
        suffers: others(&|pair| pair.1 == name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_has_the_middle_and_both_ends() {
        let range = Range::of(vec![3.0, 1.0, 2.0]).unwrap();
        assert_eq!((range.median, range.min, range.max, range.n), (2.0, 1.0, 3.0, 3));
        assert_eq!(Range::of(vec![1.0, 2.0]).unwrap().median, 1.5);
        assert_eq!(Range::of(Vec::new()), None);
    }
}
