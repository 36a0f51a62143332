//! From the folders of finished cells to [`Results`].

use super::{CellResults, Flow, Missed, Part, Rejected, Results, Run, Window, kept};
use crate::folder::{PlannedCell, SuiteFolder};
use crate::{Error, MAX_FILE_BYTES, Result};
use ccactl_host::input;
use ccactl_report::{Convergence, Fairness, FlowSummary, Options, Recording, RecordingSummary};
use ccactl_testbed::bench::{BenchResult, FlowResult, RECORDING_FILE, RunResult};
use std::path::Path;
use std::sync::atomic::AtomicBool;

const WINDOWS_FILE: &str = "windows.json";
const US_PER_S: f64 = 1e6;
const US_PER_MS: f64 = 1e3;

/// Reads what the cells have left; those without a result are left out. The recordings are read once for every window, and never
/// again.
///
/// # Errors
/// When a result or a recording cannot be read, or a signal asked for the end.
pub fn load(folder: &SuiteFolder, interrupt: &AtomicBool) -> Result<Results> {
    load_those(folder, &|_| true, interrupt)
}

/// [`load`] of some cells.
///
/// # Errors
/// As there.
pub fn load_those(folder: &SuiteFolder, is_wanted: &dyn Fn(&str) -> bool, interrupt: &AtomicBool) -> Result<Results> {
    let experiment = folder.experiment();
    let windows = experiment.suite().windows;
    let mut results = Results::default();
    for cell in experiment.cells.iter().filter(|cell| is_wanted(&cell.id)) {
        Error::check(interrupt)?;
        if folder.finished(&cell.id)?.is_some() {
            results.cells.push(load_cell(&folder.of_cell(&cell.id), cell, windows)?);
        }
    }
    Ok(results)
}

fn load_cell(folder: &Path, cell: &PlannedCell, windows: &[Window]) -> Result<CellResults> {
    let file = read(folder)?;
    let duration_s = cell.duration_s;
    let (valid, others): (Vec<RunResult>, Vec<RunResult>) = file.runs.into_iter().partition(|run| run.valid);
    let parts = in_windows(folder, &valid, duration_s, windows)?;
    let run = |(run, parts): (RunResult, Vec<Part>)| Run {
        whole: whole(&run),
        directory: run.directory,
        windows: windows.iter().map(|window| window.name).zip(parts).collect(),
    };
    let runs = valid.into_iter().zip(parts).map(run).collect();
    let rejected =
        others.into_iter().map(|run| Rejected { directory: run.directory, problems: run.problems }).collect();
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

/// The parts of each run in the order of the windows.
fn in_windows(folder: &Path, runs: &[RunResult], duration_s: f64, windows: &[Window]) -> Result<Vec<Vec<Part>>> {
    if windows.is_empty() {
        return Ok(vec![Vec::new(); runs.len()]);
    }
    let of_run = |run: &RunResult| {
        let recordings = ccactl_report::open_all(&[folder.join(&run.directory).join(RECORDING_FILE)])?;
        windows.iter().map(|window| in_window(&recordings, run, duration_s, window)).collect()
    };
    let directories: Vec<&str> = runs.iter().map(|run| run.directory.as_str()).collect();
    kept(&folder.join(WINDOWS_FILE), &directories, &format!("{windows:?}"), || runs.iter().map(of_run).collect())
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
