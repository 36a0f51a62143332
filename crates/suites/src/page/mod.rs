//! The report of a suite: for the terminal, as Markdown, JSON and one HTML page, with figures as SVG.

mod cells;
mod figures;
mod html;
mod json;
mod markdown;
mod of_cell;
mod queue;
mod terminal;

pub use figures::DrawnFigure;
pub use terminal::terminal;

use crate::compare::Table;
use crate::results::{Missed, Rejected, Results};
use crate::runner::{Failure, SuiteFolder, VERSION};
use crate::suite::Suite;
use crate::verdict::Verdict;
use crate::{Cell, Error, Result};
use ccactl_scenario::Scenario;
use ccactl_testbed::bench::Backend;
use serde::Serialize;
use std::sync::atomic::AtomicBool;

/// Everything that a suite has to say.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report {
    /// Name of the scenario.
    pub scenario: String,
    /// Its sentence.
    pub description: String,
    /// Number of the experiment; empty for what no paper has measured.
    pub experiment: &'static str,
    /// Paper and table or figure.
    pub paper: &'static str,
    /// Version of ccactl.
    pub ccactl_version: &'static str,
    /// Who carried the packets.
    pub backend: Backend,
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

/// What a report is about.
pub struct Subject<'a> {
    /// The suite.
    pub suite: &'a Suite,
    /// Name and sentence of it.
    pub scenario: &'a Scenario,
    /// All cells of the matrix.
    pub matrix: &'a [Cell],
    /// What the command line has changed, in words.
    pub changed: &'a [String],
    /// Who carried the packets.
    pub backend: Backend,
}

impl Report {
    /// Puts the results into the paper's tables and judges the orderings. Figures are [drawn](Report::draw) separately.
    #[must_use]
    pub fn new(subject: &Subject<'_>, results: &Results, failures: &[Failure]) -> Report {
        let has_result = |cell: &&Cell| results.cells.iter().any(|of| of.id == cell.id);
        let cells = results.cells.iter().map(|cell| CellReport {
            id: cell.id.clone(),
            valid_runs: cell.runs.len(),
            rejected: cell.rejected.clone(),
            missed_thresholds: cell.missed.clone(),
        });
        Report {
            scenario: subject.scenario.name.clone(),
            description: subject.scenario.description.clone(),
            experiment: subject.suite.experiment,
            paper: subject.suite.paper,
            ccactl_version: VERSION,
            backend: subject.backend,
            changed: subject.changed.to_vec(),
            cells: cells.collect(),
            missing: subject.matrix.iter().filter(|cell| !has_result(cell)).map(|cell| cell.id.clone()).collect(),
            failed: failures.iter().map(|failure| format!("{}: {}", failure.cell, failure.error)).collect(),
            tables: (subject.suite.tables)(results),
            verdicts: subject.suite.orderings.iter().map(|ordering| ordering.judge(results)).collect(),
            figures: Vec::new(),
        }
    }

    /// Draws the suite's figures.
    ///
    /// # Errors
    /// When a recording cannot be read, or a signal asked for the end.
    pub fn draw(&mut self, suite: &Suite, results: &Results, interrupt: &AtomicBool) -> Result<()> {
        let mut drawn = figures::draw(&(suite.figures)(results), results, interrupt)?;
        // So that the figures of several suites can lie in one folder, as those of a documentation do.
        drawn.iter_mut().for_each(|figure| figure.name = format!("{}-{}", self.scenario, figure.name));
        self.figures = drawn;
        Ok(())
    }

    /// Writes `suite.json`, `suite.md`, `suite.html` and `figures/*.svg`, and the pages of the cells that have none yet.
    ///
    /// # Errors
    /// When a recording cannot be read, a file cannot be written, or a signal asked for the end.
    pub fn write(&self, folder: &SuiteFolder, results: &Results, interrupt: &AtomicBool) -> Result<()> {
        for cell in &results.cells {
            Error::check(interrupt)?;
            of_cell::write(cell)?;
        }
        figures::write(&self.figures, folder)?;
        folder.write("suite.json", json::text(self).as_bytes())?;
        folder.write("suite.md", markdown::text(self).as_bytes())?;
        folder.write("suite.html", html::text(self).as_bytes())
    }

    /// As Markdown.
    #[must_use]
    pub fn markdown(&self) -> String {
        markdown::text(self)
    }

    /// As one page.
    #[must_use]
    pub fn html(&self) -> String {
        html::text(self)
    }

    /// Whether a threshold of a scenario was missed.
    #[must_use]
    pub fn misses_a_threshold(&self) -> bool {
        self.cells.iter().any(|cell| !cell.missed_thresholds.is_empty())
    }

    /// Whether an ordering was seen to fail.
    #[must_use]
    pub fn fails_an_ordering(&self) -> bool {
        self.verdicts.iter().any(|verdict| verdict.passed == Some(false))
    }

    /// Cells none of whose runs counts.
    pub fn without_a_valid_run(&self) -> impl Iterator<Item = &CellReport> {
        self.cells.iter().filter(|cell| cell.valid_runs == 0)
    }

    /// `interaction-single (E1): P0 §3.1.1, table 1`
    fn title(&self) -> String {
        let experiment = if self.experiment.is_empty() { String::new() } else { format!(" ({})", self.experiment) };
        let paper = if self.paper.is_empty() { String::new() } else { format!(": {}", self.paper) };
        format!("{}{experiment}{paper}", self.scenario)
    }

    /// What a reader must know before the figures: what was changed, and what is missing or does not count.
    fn warnings(&self) -> Vec<String> {
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
        lines.extend(self.without_a_valid_run().map(|cell| format!("{}: no valid run", cell.id)));
        lines.extend(self.failed.iter().map(|failure| format!("Failed: {failure}")));
        if !self.missing.is_empty() {
            let (count, cells) = (self.missing.len(), self.cells.len() + self.missing.len());
            lines.push(format!("Not run: {count} of {cells} cells ({})", self.missing.join(" · ")));
        }
        lines
    }

    /// How many runs of how many cells stand behind the figures.
    fn basis(&self) -> String {
        let runs: usize = self.cells.iter().map(|cell| cell.valid_runs).sum();
        let rejected: usize = self.cells.iter().map(|cell| cell.rejected.len()).sum();
        format!(
            "{runs} valid runs in {} cells, {rejected} runs or attempts not valid. Figures are means ± standard deviation \
             over the valid runs of a cell. Links: {}.",
            self.cells.len(),
            self.backend.described()
        )
    }
}

/// The numbers of a verdict, line by line.
fn evidence(verdict: &Verdict) -> Vec<String> {
    let (told, without_figures) = verdict.told();
    let mut lines: Vec<String> = told.into_iter().map(str::to_owned).collect();
    if without_figures > 0 {
        lines.push(format!("{without_figures} of {} comparisons have no figures", verdict.evidence.len()));
    }
    lines
}

/// How a verdict is called.
fn outcome(verdict: &Verdict) -> &'static str {
    match verdict.passed {
        Some(true) => "pass",
        Some(false) => "FAIL",
        None => "not judged",
    }
}
