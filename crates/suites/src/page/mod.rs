//! The report of a suite: for the terminal, as Markdown, JSON and one HTML page, with figures as SVG.

mod cells;
mod figures;
mod first_run;
mod glossary;
mod html;
mod json;
mod markdown;
mod of_cell;
mod queue;
mod report;
mod terminal;

pub use figures::DrawnFigure;
pub use report::{CellReport, Report};
pub use terminal::terminal;

use crate::folder::{Experiment, PlannedCell, SuiteFolder};
use crate::results::{self, Results};
use crate::runner::{Failure, VERSION};
use crate::suite::{Suite, in_full};
use crate::{Error, Result};
use ccactl_scenario::Variant;
use report::{evidence, outcome};
use std::sync::atomic::AtomicBool;

/// Writes the pages of these cells, and keeps beside them what a report needs of their recordings: whoever reports on all of them
/// reads none.
///
/// # Errors
/// When a recording cannot be read, a page cannot be written, or a signal asked for the end.
pub fn prepare(folder: &SuiteFolder, is_wanted: &dyn Fn(&str) -> bool, interrupt: &AtomicBool) -> Result<()> {
    let results = results::load_those(folder, is_wanted, interrupt)?;
    figures::draw(&(folder.experiment().suite().figures)(&results), &results, interrupt)?;
    of_cells(&results, interrupt)
}

/// Writes the pages of all cells that have a result and no page yet.
///
/// # Errors
/// As [`prepare`].
pub fn of_cells_in(folder: &SuiteFolder, interrupt: &AtomicBool) -> Result<()> {
    of_cells(&results::load(folder, interrupt)?, interrupt)
}

fn of_cells(results: &Results, interrupt: &AtomicBool) -> Result<()> {
    for cell in &results.cells {
        Error::check(interrupt)?;
        of_cell::write(cell)?;
    }
    Ok(())
}

impl Report {
    /// Puts the results into the paper's tables and judges the orderings. Figures are [drawn](Report::draw) separately.
    #[must_use]
    pub fn new(experiment: &Experiment, results: &Results, failures: &[Failure]) -> Report {
        let suite = experiment.suite();
        let has_result = |cell: &&PlannedCell| results.cells.iter().any(|of| of.id == cell.id);
        let cells = results.cells.iter().map(|cell| CellReport {
            id: cell.id.clone(),
            valid_runs: cell.runs.len(),
            rejected: cell.rejected.clone(),
            missed_thresholds: cell.missed.clone(),
        });
        Report {
            scenario: experiment.scenario.clone(),
            description: experiment.description.clone(),
            variant: experiment.variant.map(Variant::name),
            experiment: suite.experiment,
            paper: in_full(suite.paper),
            look_at: suite.look_at,
            ccactl_version: VERSION,
            place: experiment.place.clone(),
            changed: experiment.changed.clone(),
            cells: cells.collect(),
            missing: experiment.cells.iter().filter(|cell| !has_result(cell)).map(|cell| cell.id.clone()).collect(),
            failed: failures.iter().map(|failure| format!("{}: {}", failure.cell, failure.error)).collect(),
            tables: (suite.tables)(results),
            verdicts: suite.orderings.iter().map(|ordering| ordering.judge(results)).collect(),
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
        of_cells(results, interrupt)?;
        let _exclusive = folder.exclusive()?;
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
}
