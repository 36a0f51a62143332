//! Drawings become SVG.

use super::queue;
use crate::results::{CellResults, Results, Run};
use crate::runner::SuiteFolder;
use crate::suite::{Drawing, Kind, OfFlow, OverTime};
use crate::{Error, Result};
use ccactl_report::figure::plot::{Line, Over, Plot, Point, Style};
use ccactl_report::figure::{bars, grid, paper, plot};
use ccactl_report::{Charts, FlowCharts, Series, Summary};
use ccactl_testbed::bench::RECORDING_FILE;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// Points of a line over time, at most.
const POINTS: usize = 600;
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
    let mut of_cells: BTreeMap<&str, Vec<paper::Figure>> = BTreeMap::new();
    let mut drawn = Vec::new();
    for drawing in drawings {
        Error::check(interrupt)?;
        let svg = match &drawing.kind {
            Kind::Lines(lines) => Some(plot::plot(lines, paper::Width::Single)),
            Kind::Bars(bars) => Some(bars::bars(bars, paper::Width::Single)),
            Kind::Across { cells, what } => across(cells, *what, results)?,
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

/// The first flow of each cell, a line each; cells without the figure have none.
fn across(cells: &[(String, String)], what: OfFlow, results: &Results) -> Result<Option<String>> {
    let mut lines = Vec::new();
    for (number, (name, cell)) in cells.iter().enumerate() {
        let (cell, run) = first_run(cell, results);
        let charts = charts_of(&cell.folder.join(&run.directory).join(RECORDING_FILE))?.1;
        let flow = charts.first().and_then(|charts| charts.flows.first());
        let Some(points) = flow.map(|flow| points(flow, what)).filter(|points| !points.is_empty()) else { continue };
        let color = flow.map_or_else(String::new, |flow| flow.color.clone());
        let color = if cells.len() > 1 { LINE_COLORS[number % LINE_COLORS.len()].to_owned() } else { color };
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

fn points(flow: &FlowCharts, what: OfFlow) -> Vec<Point> {
    let inner = |name: &str| flow.inner.iter().find(|chart| chart.name == name).map(|chart| &chart.series);
    let of = |series: &Series| {
        let apart = series.t.len().div_ceil(POINTS).max(1);
        let all = series.t.iter().zip(&series.v).filter_map(|(&x, &y)| Some(Point { x, y: y?, ci95: None }));
        all.step_by(apart).collect::<Vec<Point>>()
    };
    match what {
        OfFlow::MinRtt => inner("min_rtt_us").map(of).unwrap_or_default(),
        OfFlow::Bandwidth => inner("bw_bps").map(of).unwrap_or_default(),
        OfFlow::Delivered => {
            let width_s = flow.rate.t.get(1).zip(flow.rate.t.first()).map_or(0.0, |(second, first)| second - first);
            let mut sum = 0.0;
            let mut rates = of(&flow.rate);
            // Not every bucket, when they are many: each stands for those that were left out.
            let apart = flow.rate.t.len().div_ceil(POINTS).max(1) as f64;
            for point in &mut rates {
                sum += point.y * width_s * apart;
                point.y = sum;
            }
            rates
        }
    }
}

fn of_queue(cell: &str, results: &Results) -> Result<Option<String>> {
    let (cell, run) = first_run(cell, results);
    let plot = queue::plot(&cell.folder, &run.directory)?;
    Ok(plot.map(|plot| plot::plot(&plot, paper::Width::Single)))
}

fn of_recording(path: &Path) -> Result<Vec<paper::Figure>> {
    let (summary, charts) = charts_of(path)?;
    Ok(paper::figures(&summary, &charts, paper::Width::Single))
}

fn charts_of(path: &Path) -> Result<(Summary, Vec<Charts>)> {
    let recordings = ccactl_report::open_all(&[path.to_owned()])?;
    let options = ccactl_report::Options::default();
    let summary = ccactl_report::summarize(&recordings, &options)?;
    let charts = ccactl_report::charts(&recordings, &summary, &options)?;
    Ok((summary, charts))
}

fn named(figures: &[paper::Figure], what: OverTime) -> Option<String> {
    figures.iter().find(|figure| figure.name == what.name()).map(|figure| figure.svg.clone())
}
