//! The report of a suite: for the terminal, as Markdown, JSON and one HTML page, with figures as SVG.

mod cells;
mod figures;
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

use crate::results::Results;
use crate::runner::{Failure, Place, SuiteFolder, VERSION};
use crate::suite::{Suite, in_full};
use crate::{Cell, Error, Result};
use ccactl_scenario::{Scenario, Variant};
use report::{evidence, outcome};
use std::sync::atomic::AtomicBool;

/// What a report is about.
pub struct Subject<'a> {
    /// The suite.
    pub suite: &'a Suite,
    /// Name and sentence of it.
    pub scenario: &'a Scenario,
    /// All cells of the matrix.
    pub matrix: &'a [Cell],
    /// Another way to run it than the scenario as it is written.
    pub variant: Option<Variant>,
    /// What the command line or the variant has changed, in words.
    pub changed: &'a [String],
    /// Where the cells ran, and who carried the packets.
    pub place: &'a Place,
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
            variant: subject.variant.map(Variant::name),
            experiment: subject.suite.experiment,
            paper: in_full(subject.suite.paper),
            look_at: subject.suite.look_at,
            ccactl_version: VERSION,
            place: subject.place.clone(),
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
}
