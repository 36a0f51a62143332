//! Drawings become SVG.

use super::queue;
use crate::results::{CellResults, Results, Run};
use crate::runner::SuiteFolder;
use crate::suite::{Drawing, Kind, OverTime};
use crate::{Error, Result};
use ccactl_report::figure::{grid, paper, plot};
use ccactl_testbed::bench::RECORDING_FILE;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// A figure that was drawn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DrawnFigure {
    /// Name of its file in `figures/`, without an extension.
    pub name: String,
    /// What stands under it.
    pub caption: String,
    /// The drawing.
    #[serde(skip)]
    pub svg: String,
    /// It takes both columns of a paper.
    #[serde(skip)]
    pub is_wide: bool,
}

/// Draws all. A recording is read once for all that is drawn of it; what it has no data for is left out (the Jain index
/// of a lone flow, the RTT where there were no samples).
pub fn draw(drawings: &[Drawing], results: &Results, interrupt: &AtomicBool) -> Result<Vec<DrawnFigure>> {
    let mut of_cells: BTreeMap<&str, Vec<paper::Figure>> = BTreeMap::new();
    let mut drawn = Vec::new();
    for drawing in drawings {
        Error::check(interrupt)?;
        let svg = match &drawing.kind {
            Kind::Lines(lines) => Some(plot::plot(lines, paper::Width::Single)),
            Kind::Matrix(matrix) => Some(grid(matrix, paper::Width::Double)),
            Kind::OverTime { cell, what: OverTime::Queue } => of_queue(cell, results)?,
            Kind::OverTime { cell, what } => {
                if !of_cells.contains_key(cell.as_str()) {
                    of_cells.insert(cell, of_first_run(cell, results)?);
                }
                named(&of_cells[cell.as_str()], *what)
            }
        };
        let is_wide = matches!(drawing.kind, Kind::Matrix(_));
        let figure = |svg| DrawnFigure { name: drawing.name.clone(), caption: drawing.caption.clone(), svg, is_wide };
        drawn.extend(svg.map(figure));
    }
    Ok(drawn)
}

/// Writes them; what an earlier report has drawn and this one does not is removed.
pub fn write(figures: &[DrawnFigure], folder: &SuiteFolder) -> Result<()> {
    let path = folder.path().join("figures");
    if path.exists() {
        std::fs::remove_dir_all(&path).map_err(Error::folder(&path, "draw it anew"))?;
    }
    let figures: Vec<paper::Figure> =
        figures.iter().map(|figure| paper::Figure { name: figure.name.clone(), svg: figure.svg.clone() }).collect();
    paper::write(&path, &figures, &[paper::Format::Svg])?;
    Ok(())
}

fn first_run<'a>(cell: &str, results: &'a Results) -> (&'a CellResults, &'a Run) {
    let cell = results.cells.iter().find(|of| of.id == cell).expect("drawings are of cells with results");
    (cell, cell.runs.first().expect("drawings are of cells with a valid run"))
}

fn of_first_run(cell: &str, results: &Results) -> Result<Vec<paper::Figure>> {
    let (cell, run) = first_run(cell, results);
    of_recording(&cell.folder.join(&run.directory).join(RECORDING_FILE))
}

fn of_queue(cell: &str, results: &Results) -> Result<Option<String>> {
    let (cell, run) = first_run(cell, results);
    let plot = queue::plot(&cell.folder, &run.directory)?;
    Ok(plot.map(|plot| plot::plot(&plot, paper::Width::Single)))
}

fn of_recording(path: &Path) -> Result<Vec<paper::Figure>> {
    let recordings = ccactl_report::open_all(&[path.to_owned()])?;
    let options = ccactl_report::Options::default();
    let summary = ccactl_report::summarize(&recordings, &options)?;
    let charts = ccactl_report::charts(&recordings, &summary, &options)?;
    Ok(paper::figures(&summary, &charts, paper::Width::Single))
}

fn named(figures: &[paper::Figure], what: OverTime) -> Option<String> {
    figures.iter().find(|figure| figure.name == what.name()).map(|figure| figure.svg.clone())
}
