//! What a folder of results is for: all that a report needs beside the results, wherever it is made.

use crate::runner::VERSION;
use crate::suite::{PLAIN, Suite, by_name};
use crate::{Cell, folder};
use ccactl_scenario::Variant;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// An experiment: a suite or a file of somebody's own, as the command line wants it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Experiment {
    /// Version that its results must have.
    pub ccactl_version: String,
    /// Name of the scenario.
    pub scenario: String,
    /// Its sentence.
    pub description: String,
    /// Name of the suite that makes tables of the results; none for a file of somebody's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suite: Option<String>,
    /// Another way to run it than the scenario as it is written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variant: Option<Variant>,
    /// What the command line or the variant has changed, in words.
    pub changed: Vec<String>,
    /// Where the cells run, and who carries the packets.
    #[serde(flatten)]
    pub place: folder::Place,
    /// All cells of the matrix, in its order.
    pub cells: Vec<PlannedCell>,
}

/// A cell as its folder knows it: without what its scenario names beside it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PlannedCell {
    /// Its name and folder.
    pub id: String,
    /// Its value on each axis.
    pub labels: BTreeMap<String, String>,
    /// Length of a run.
    pub duration_s: f64,
    /// The scenario, with every default written out.
    pub scenario: String,
}

impl Experiment {
    /// Of these cells, without changes, on this host.
    #[must_use]
    pub fn new(scenario: &str, description: &str, suite: Option<&Suite>, matrix: &[Cell]) -> Experiment {
        Experiment {
            ccactl_version: VERSION.to_owned(),
            scenario: scenario.to_owned(),
            description: description.to_owned(),
            suite: suite.map(|suite| suite.name.to_owned()),
            variant: None,
            changed: Vec::new(),
            place: folder::Place::default(),
            cells: matrix.iter().map(PlannedCell::from).collect(),
        }
    }

    /// What is made of the results.
    #[must_use]
    pub fn suite(&self) -> &'static Suite {
        self.suite.as_deref().and_then(by_name).unwrap_or(&PLAIN)
    }

    /// Whether these are all the cells of another experiment and further ones: what it has made is then a part of this one's.
    pub(super) fn goes_beyond(&self, there: &Experiment) -> bool {
        let with_its_cells = |cells: Vec<PlannedCell>| Experiment { cells, ..self.clone() };
        let common = self.cells.iter().filter(|cell| there.cell(&cell.id).is_some()).cloned().collect();
        with_its_cells(common).differs_from(there).is_none()
    }

    /// How results made elsewhere differ from those of this experiment, as what was expected and what was found.
    #[must_use]
    pub fn differs_from(&self, there: &Experiment) -> Option<(String, String)> {
        if there.scenario != self.scenario {
            return Some((format!("results of {}", self.scenario), format!("those of {}", there.scenario)));
        }
        if there.ccactl_version != self.ccactl_version {
            let version = |of: &Experiment| format!("ccactl {}", of.ccactl_version);
            return Some((format!("results of {}", version(self)), format!("those of {}", version(there))));
        }
        if there.place != self.place {
            let made = |of: &Experiment| format!("results of {}", of.place.options());
            return Some((made(self), made(there)));
        }
        for cell in &self.cells {
            let Some(other) = there.cell(&cell.id) else {
                return Some((format!("a matrix with the cell {}", cell.id), "one without it".to_owned()));
            };
            if !cell.is_of(&other.scenario) {
                let (expected, found) = first_difference(&cell.scenario, &other.scenario);
                return Some((format!("{expected} in cell {}", cell.id), found));
            }
        }
        let more = there.cells.iter().find(|cell| self.cell(&cell.id).is_none())?;
        Some((format!("a matrix without the cell {}", more.id), "one with it".to_owned()))
    }

    pub(super) fn cell(&self, id: &str) -> Option<&PlannedCell> {
        self.cells.iter().find(|cell| cell.id == id)
    }
}

impl From<&Cell> for PlannedCell {
    fn from(cell: &Cell) -> Self {
        PlannedCell {
            id: cell.id.clone(),
            labels: cell.labels.clone(),
            duration_s: cell.scenario.duration.secs_f64(),
            scenario: cell.scenario.to_toml(),
        }
    }
}

/// The only line in which two benches of one experiment may differ; it stands before the first table.
const RUNS: &str = "repeat = ";

impl PlannedCell {
    /// Whether a scenario is this one, with as many runs or with others.
    pub(super) fn is_of(&self, scenario: &str) -> bool {
        without_runs(&self.scenario).eq(without_runs(scenario))
    }
}

fn without_runs(scenario: &str) -> impl Iterator<Item = &str> {
    let mut in_a_table = false;
    scenario.lines().filter(move |line| {
        in_a_table |= line.starts_with('[');
        in_a_table || !line.starts_with(RUNS)
    })
}

/// The first line of two documents that is not the same.
fn first_difference(wanted: &str, there: &str) -> (String, String) {
    match without_runs(wanted).zip(without_runs(there)).find(|(a, b)| a != b) {
        Some((a, b)) => (format!("`{a}`"), format!("`{b}`")),
        None => (format!("{} lines", wanted.lines().count()), format!("{} lines", there.lines().count())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_benches_of_one_experiment_differ_in_their_runs_only() {
        let cell = PlannedCell {
            id: "whole".to_owned(),
            labels: BTreeMap::new(),
            duration_s: 1.0,
            scenario: "repeat = 1\nevery = \"ack\"\n[[flow]]\nrepeat = 3\n".to_owned(),
        };
        assert!(cell.is_of(&cell.scenario.replace("repeat = 1", "repeat = 5")));
        assert!(!cell.is_of(&cell.scenario.replace("repeat = 3", "repeat = 5")), "that of a flow is another thing");
        assert!(!cell.is_of(""));
    }
}
