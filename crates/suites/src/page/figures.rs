//! Drawings become SVG.

use super::first_run::{Charts, first_run};
use super::queue;
use crate::folder::SuiteFolder;
use crate::results::Results;
use crate::suite::{Drawing, Kind, OfFlow, OverTime};
use crate::{Error, Result};
use ccactl_report::figure::plot::{Line, Over, Plot, Style};
use ccactl_report::figure::{bars, grid, paper, plot};
use serde::Serialize;
use std::sync::atomic::AtomicBool;

/// Of lines that are not of different algorithms.
const LINE_COLORS: [&str; 4] = ["#0072B2", "#D55E00", "#009E73", "#CC79A7"];

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
    let mut charts = Charts::default();
    let mut drawn = Vec::new();
    for drawing in drawings {
        Error::check(interrupt)?;
        let svg = match &drawing.kind {
            Kind::Lines(lines) => Some(plot::plot(lines, paper::Width::Single)),
            Kind::Bars(bars) => Some(bars::bars(bars, paper::Width::Single)),
            Kind::Across { cells, what } => across(cells, *what, &mut charts, results)?,
            Kind::Matrix(matrix) => Some(grid(matrix, paper::Width::Double)),
            Kind::OverTime { cell, what: OverTime::Queue } => of_queue(cell, results)?,
            Kind::OverTime { cell, what } => charts.of(cell, results)?.figures.get(what.name()).cloned(),
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

/// The first flow of each cell, a line each; cells without the figure have none.
fn across(cells: &[(String, String)], what: OfFlow, charts: &mut Charts, results: &Results) -> Result<Option<String>> {
    let mut lines = Vec::new();
    for (number, (name, cell)) in cells.iter().enumerate() {
        let Some(flow) = &charts.of(cell, results)?.first_flow else { continue };
        let points = flow.points(what);
        if points.is_empty() {
            continue;
        }
        let color =
            if cells.len() > 1 { LINE_COLORS[number % LINE_COLORS.len()].to_owned() } else { flow.color.clone() };
        lines.push(Line { name: name.clone(), color, number, style: Style::Measured, points });
    }
    let y_label = match what {
        OfFlow::MinRtt => "RTprop [ms]",
        OfFlow::Bandwidth => "Bandwidth [Mbit/s]",
        OfFlow::Delivered => "Delivered [Mbit]",
    };
    let (x_label, y_label) = ("Time [s]".to_owned(), y_label.to_owned());
    let title = format!("{y_label} over time");
    Ok((!lines.is_empty())
        .then(|| plot::plot(&Plot { title, over: Over::Time, x_label, y_label, lines }, paper::Width::Single)))
}

fn of_queue(cell: &str, results: &Results) -> Result<Option<String>> {
    let (cell, run) = first_run(cell, results);
    let plot = queue::plot(&cell.folder, &run.directory)?;
    Ok(plot.map(|plot| plot::plot(&plot, paper::Width::Single)))
}
