//! From the folders of finished cells to [`Results`].

use super::{CellResults, Flow, Missed, Part, Rejected, Results, Run, Window};
use crate::runner::SuiteFolder;
use crate::{Cell, Error, MAX_FILE_BYTES, Result};
use ccactl_host::input;
use ccactl_report::{Convergence, Fairness, FlowSummary, Options, Recording, RecordingSummary};
use ccactl_testbed::bench::{BenchResult, FlowResult, RECORDING_FILE, RunResult};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::AtomicBool;

const US_PER_S: f64 = 1e6;
const US_PER_MS: f64 = 1e3;

/// Reads what the cells have left; those without a result are left out. The recordings are read once for every window.
///
/// # Errors
/// When a result or a recording cannot be read, or a signal asked for the end.
pub fn load(folder: &SuiteFolder, cells: &[Cell], windows: &[Window], interrupt: &AtomicBool) -> Result<Results> {
    let mut results = Results::default();
    for cell in cells {
        Error::check(interrupt)?;
        if folder.finished(cell)?.is_some() {
            results.cells.push(load_cell(&folder.of_cell(cell), cell, windows)?);
        }
    }
    Ok(results)
}

fn load_cell(folder: &Path, cell: &Cell, windows: &[Window]) -> Result<CellResults> {
    let file = read(folder)?;
    let duration_s = cell.scenario.duration.secs_f64();
    let mut runs = Vec::new();
    let mut rejected = Vec::new();
    for run in file.runs {
        if run.valid {
            let recording = folder.join(&run.directory).join(RECORDING_FILE);
            let windows = in_windows(&recording, &run, duration_s, windows)?;
            runs.push(Run { directory: run.directory.clone(), whole: whole(&run), windows });
        } else {
            rejected.push(Rejected { directory: run.directory, problems: run.problems });
        }
    }
    let missed = file.missed_thresholds.into_iter();
    Ok(CellResults {
        id: cell.id.clone(),
        labels: cell.labels.clone(),
        folder: folder.to_owned(),
        duration_s,
        runs,
        rejected,
        missed: missed.map(|m| Missed { name: m.name.to_string(), limit: m.limit, measured: m.measured }).collect(),
    })
}

/// The result of a bench.
///
/// # Errors
/// When there is none, or it is not one of this version.
pub fn read(folder: &Path) -> Result<BenchResult> {
    let path = folder.join("result.json");
    let json = input::read(&path, MAX_FILE_BYTES).map_err(Error::folder(&path, "read it"))?;
    serde_json::from_slice(&json).map_err(|error| Error::Result { path, reason: error.to_string() })
}

fn whole(run: &RunResult) -> Part {
    let flow = |flow: &FlowResult| Flow {
        name: flow.name.clone(),
        algorithm: flow.algorithm.clone(),
        measures: flow.metrics.clone(),
        overflow_pkts: flow.link.map(|link| link.dropped_full_packets),
        completions_s: completions_s(flow),
    };
    Part {
        jain: run.jain,
        utilisation: run.link.utilisation,
        queue_ms: run.link.queue.and_then(|queue| {
            let queueing = queue.queueing;
            (queueing.packets > 0).then_some(queueing.mean_us / US_PER_MS)
        }),
        flows: run.flows.iter().map(flow).collect(),
        ..Part::default()
    }
}

fn completions_s(flow: &FlowResult) -> Vec<f64> {
    flow.transfers.iter().filter_map(|transfer| Some(transfer.completion_us? as f64 / US_PER_S)).collect()
}

fn in_windows(
    recording: &Path,
    run: &RunResult,
    duration_s: f64,
    windows: &[Window],
) -> Result<BTreeMap<&'static str, Part>> {
    if windows.is_empty() {
        return Ok(BTreeMap::new());
    }
    let recordings = ccactl_report::open_all(&[recording.to_owned()])?;
    windows.iter().map(|window| Ok((window.name, in_window(&recordings, run, duration_s, window)?))).collect()
}

fn in_window(recordings: &[Recording], run: &RunResult, duration_s: f64, window: &Window) -> Result<Part> {
    let at = |share: f64| Some(run.begin_in_recording_s + share * duration_s);
    let options = Options { from_s: at(window.from), to_s: at(window.to), ..Options::default() };
    let summary = match ccactl_report::summarize(recordings, &options) {
        Ok(summary) => summary.recordings.into_iter().next().expect("one recording gives one summary"),
        // Nothing was sent in it: that is not known, and no failure.
        Err(ccactl_report::Error::EmptyWindow { .. }) => return Ok(Part::default()),
        Err(error) => return Err(error.into()),
    };
    let fairness = summary.fairness.as_ref();
    Ok(Part {
        jain: fairness.and_then(|fairness| fairness.jain),
        jain_intervals: fairness.and_then(|fairness| fairness.jain_interval_mean),
        converged_after_s: fairness.and_then(converged_after_s),
        flows: run.flows.iter().map(|flow| flow_in(flow, &summary)).collect(),
        ..Part::default()
    })
}

fn converged_after_s(fairness: &Fairness) -> Option<f64> {
    fairness.convergence.map(|convergence| match convergence {
        Convergence::Reached { after_s, .. } => after_s,
        Convergence::NotReached { .. } => f64::INFINITY,
    })
}

/// A flow may have several sockets; its largest stands for it, as in `result.json`.
fn flow_in(flow: &FlowResult, summary: &RecordingSummary) -> Flow {
    let sockets = summary.flows.iter().filter(|socket: &&FlowSummary| socket.name == flow.name);
    let largest = sockets.max_by_key(|socket| socket.measures.acked_bytes);
    Flow {
        name: flow.name.clone(),
        algorithm: flow.algorithm.clone(),
        measures: largest.map(|socket| socket.measures.clone()),
        ..Flow::default()
    }
}
