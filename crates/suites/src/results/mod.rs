//! What the finished cells of a suite have measured.

mod kept;
mod load;
mod metric;
mod or_never;

pub(crate) use kept::value as kept;
pub use load::{load, load_those, read};
pub use metric::{Metric, Unit};

use ccactl_report::{Estimate, Measures, estimate};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// A part of each run that a suite looks at by itself, in shares of the duration so that `--quick` keeps the proportions.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Window {
    /// How orderings and tables call it.
    pub name: &'static str,
    /// Its start, as a share of the duration.
    pub from: f64,
    /// Its end.
    pub to: f64,
}

/// All cells of a suite that have a result.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Results {
    /// In the order of the matrix.
    pub cells: Vec<CellResults>,
}

/// One cell.
#[derive(Debug, Clone, PartialEq)]
pub struct CellResults {
    /// Its name.
    pub id: String,
    /// Its value on each axis.
    pub labels: BTreeMap<String, String>,
    /// Where it is.
    pub folder: PathBuf,
    /// Length of a run.
    pub duration_s: f64,
    /// The runs that count.
    pub runs: Vec<Run>,
    /// Those that do not.
    pub rejected: Vec<Rejected>,
    /// Thresholds that the mean over the valid runs misses.
    pub missed: Vec<Missed>,
}

/// A valid run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Run {
    /// Its folder, below that of the cell.
    pub directory: String,
    /// Figures of the whole run.
    pub whole: Part,
    /// Figures of the suite's windows.
    pub windows: BTreeMap<&'static str, Part>,
}

/// A run, or a window of it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Part {
    /// Jain index of the acknowledged bytes; none for a single flow.
    pub jain: Option<f64>,
    /// Mean of the index per interval of one second.
    pub jain_intervals: Option<f64>,
    /// From the start of the last flow until the index per interval came to stay at 0.9; infinite when it never did.
    #[serde(with = "or_never")]
    pub converged_after_s: Option<f64>,
    /// Share of the link that was used.
    pub utilisation: Option<f64>,
    /// Mean time that packets waited in the queue of the bottleneck, as the link model saw it.
    pub queue_ms: Option<f64>,
    /// By flow of the scenario.
    pub flows: Vec<Flow>,
}

/// A flow of a run or of a window.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Flow {
    /// Name in the scenario.
    pub name: String,
    /// Algorithm in the scenario.
    pub algorithm: String,
    /// Figures of the recording; none when it sent nothing.
    pub measures: Option<Measures>,
    /// Packets that the full buffer refused; known of whole runs.
    pub overflow_pkts: Option<u64>,
    /// How long each complete transfer took, of a flow that repeats them.
    pub completions_s: Vec<f64>,
}

/// A run that does not count.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Rejected {
    /// Its folder, below that of the cell.
    pub directory: String,
    /// Why.
    pub problems: Vec<String>,
}

/// A threshold of the scenario and what was measured instead.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Missed {
    /// Name in the scenario.
    pub name: String,
    /// Value in the scenario.
    pub limit: f64,
    /// Mean over the valid runs; none when there is none.
    pub measured: Option<f64>,
}

impl Results {
    /// The cell that has all these labels, of which there is one at most when they name every axis.
    #[must_use]
    pub fn cell(&self, labels: &[(&str, &str)]) -> Option<&CellResults> {
        self.cells.iter().find(|cell| cell.has(labels))
    }

    /// Values of an axis, in the order of the matrix.
    #[must_use]
    pub fn values(&self, axis: &str) -> Vec<&str> {
        let mut values: Vec<&str> = Vec::new();
        for value in self.cells.iter().filter_map(|cell| cell.label(axis)) {
            if !values.contains(&value) {
                values.push(value);
            }
        }
        values
    }
}

impl CellResults {
    /// Whether it has all these labels.
    #[must_use]
    pub fn has(&self, labels: &[(&str, &str)]) -> bool {
        labels.iter().all(|(axis, value)| self.label(axis) == Some(value))
    }

    /// Its value on an axis.
    #[must_use]
    pub fn label(&self, axis: &str) -> Option<&str> {
        self.labels.get(axis).map(String::as_str)
    }

    /// Mean over the valid runs; `flow` counts only for metrics of a flow.
    #[must_use]
    pub fn estimate(&self, metric: Metric, flow: usize) -> Option<Estimate> {
        estimate(self.runs.iter().filter_map(|run| metric.of(&run.whole, flow)))
    }

    /// The same within a window.
    #[must_use]
    pub fn estimate_in(&self, window: &str, metric: Metric, flow: usize) -> Option<Estimate> {
        estimate(self.runs.iter().filter_map(|run| metric.of(run.windows.get(window)?, flow)))
    }
}
