//! What a report says, whatever its form.

use super::DrawnFigure;
use crate::compare::Table;
use crate::folder::Place;
use crate::results::{Missed, Rejected};
use crate::verdict::{Outcome, Verdict};
use ccactl_testbed::bench::REMEDY;
use serde::Serialize;

/// Everything that a suite has to say.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report {
    /// Name of the scenario.
    pub scenario: String,
    /// Its sentence.
    pub description: String,
    /// `quick` or `as-printed`; none for the scenario as it is written.
    pub variant: Option<&'static str>,
    /// Number of the experiment; empty for what no paper has measured.
    pub experiment: &'static str,
    /// Paper and table or figure.
    pub paper: String,
    /// What a reader should look at.
    pub look_at: &'static str,
    /// Version of ccactl.
    pub ccactl_version: &'static str,
    /// Where the cells ran, and who carried the packets.
    #[serde(flatten)]
    pub place: Place,
    /// What the command line has changed of the experiment, in words; empty for the paper's own setting.
    pub changed: Vec<String>,
    /// Cells that have a result.
    pub cells: Vec<CellReport>,
    /// Cells of the matrix that have none.
    pub missing: Vec<String>,
    /// Cells that could not be run just now, and why.
    pub failed: Vec<String>,
    /// The paper's tables.
    pub tables: Vec<Table>,
    /// The orderings.
    pub verdicts: Vec<Verdict>,
    /// The figures, in the folder `figures`.
    pub figures: Vec<DrawnFigure>,
}

/// One cell.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CellReport {
    /// Its name and folder.
    pub id: String,
    /// Runs that count.
    pub valid_runs: usize,
    /// Those that do not.
    pub rejected: Vec<Rejected>,
    /// Thresholds missed.
    pub missed_thresholds: Vec<Missed>,
}

impl Report {
    /// Whether a threshold of a scenario was missed.
    #[must_use]
    pub fn misses_a_threshold(&self) -> bool {
        self.cells.iter().any(|cell| !cell.missed_thresholds.is_empty())
    }

    /// Whether an ordering was seen to fail.
    #[must_use]
    pub fn fails_an_ordering(&self) -> bool {
        self.verdicts.iter().any(|verdict| verdict.outcome == Outcome::Fails)
    }

    /// Cells none of whose runs counts.
    pub fn without_a_valid_run(&self) -> impl Iterator<Item = &CellReport> {
        self.cells.iter().filter(|cell| cell.valid_runs == 0)
    }

    /// `interaction-single (E1)`
    pub(super) fn title(&self) -> String {
        let experiment = if self.experiment.is_empty() { String::new() } else { format!(" ({})", self.experiment) };
        format!("{}{experiment}", self.scenario)
    }

    /// What it is about: scenario, source, and what to look at.
    pub(super) fn introduction(&self) -> Vec<String> {
        let source = (!self.paper.is_empty()).then(|| format!("From: {}.", self.paper));
        let look_at = (!self.look_at.is_empty()).then(|| format!("What to look at: {}", self.look_at));
        [Some(self.description.clone()), source, look_at].into_iter().flatten().collect()
    }

    /// What a reader must know before the figures: what was changed, and what is missing or does not count.
    pub(super) fn warnings(&self) -> Vec<String> {
        let mut lines = Vec::new();
        if !self.changed.is_empty() {
            lines.push(format!("Not as the scenario is written: {}", self.changed.join("; ")));
        }
        for cell in &self.cells {
            for run in &cell.rejected {
                let why = run.problems.join("; ");
                lines.push(format!("{}/{} is not valid and in no mean: {why}", cell.id, run.directory));
            }
            for missed in &cell.missed_thresholds {
                let measured = missed.measured.map_or_else(|| "nothing".to_owned(), |value| format!("{value:.4}"));
                let (name, limit) = (&missed.name, missed.limit);
                lines.push(format!("{}: threshold {name} missed: expected {limit}, measured {measured}", cell.id));
            }
        }
        if self.cells.iter().any(|cell| !cell.rejected.is_empty()) {
            lines.push(REMEDY.to_owned());
        }
        lines.extend(self.without_a_valid_run().map(|cell| format!("{}: no valid run", cell.id)));
        lines.extend(self.failed.iter().map(|failure| format!("Failed: {failure}")));
        if !self.missing.is_empty() {
            let (count, cells) = (self.missing.len(), self.cells.len() + self.missing.len());
            lines.push(format!("Not run: {count} of {cells} cells ({})", self.missing.join(" · ")));
        }
        lines
    }

    /// How many runs of how many cells stand behind the figures.
    pub(super) fn basis(&self) -> String {
        let runs: usize = self.cells.iter().map(|cell| cell.valid_runs).sum();
        let rejected: usize = self.cells.iter().map(|cell| cell.rejected.len()).sum();
        format!(
            "{runs} valid runs in {} cells, {rejected} runs or attempts not valid. Figures are means ± standard deviation \
             over the valid runs of a cell. Links: {}.",
            self.cells.len(),
            self.place.described()
        )
    }
}

/// The numbers of a verdict, line by line.
pub(super) fn evidence(verdict: &Verdict) -> Vec<String> {
    let (told, without_figures) = verdict.told();
    let mut lines: Vec<String> = told.into_iter().map(str::to_owned).collect();
    if without_figures > 0 {
        lines.push(format!("{without_figures} of {} comparisons have no figures", verdict.evidence.len()));
    }
    lines
}

/// How a verdict is called.
pub(super) fn outcome(verdict: &Verdict) -> &'static str {
    match verdict.outcome {
        Outcome::Holds => "pass",
        Outcome::Fails => "FAIL",
        Outcome::Undecided => "undecided",
        Outcome::NotMeasured => "not judged",
    }
}
