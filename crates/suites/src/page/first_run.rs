//! What is drawn of the recording of a cell's first valid run; kept beside it, since it takes longer than all else of a report.

use crate::Result;
use crate::results::{CellResults, Results, Run, kept};
use crate::suite::OfFlow;
use ccactl_report::figure::paper;
use ccactl_report::figure::plot::Point;
use ccactl_report::{FlowCharts, Series};
use ccactl_testbed::bench::RECORDING_FILE;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;

/// Points of a line over time, at most.
const POINTS: usize = 600;
const FILE: &str = "drawn.json";

/// Of each cell that was asked for.
#[derive(Default)]
pub struct Charts(BTreeMap<String, FirstRun>);

impl Charts {
    /// That of a cell.
    pub fn of(&mut self, cell: &str, results: &Results) -> Result<&FirstRun> {
        if !self.0.contains_key(cell) {
            let (of, run) = first_run(cell, results);
            self.0.insert(cell.to_owned(), FirstRun::of(of, run)?);
        }
        Ok(&self.0[cell])
    }
}

/// What a recording has to draw.
#[derive(Serialize, Deserialize)]
pub struct FirstRun {
    /// Figures of what happened over time, as SVG by name.
    pub figures: BTreeMap<String, String>,
    /// What may be drawn beside that of other cells.
    pub first_flow: Option<FirstFlow>,
}

/// The first flow, in points of time in s and value; colour as in its own figures.
#[derive(Serialize, Deserialize)]
pub struct FirstFlow {
    /// Of its algorithm.
    pub color: String,
    min_rtt: Vec<(f64, f64)>,
    bandwidth: Vec<(f64, f64)>,
    delivered: Vec<(f64, f64)>,
}

/// The first run that counts of a cell of which there is a drawing.
pub fn first_run<'a>(cell: &str, results: &'a Results) -> (&'a CellResults, &'a Run) {
    let cell = results.cells.iter().find(|of| of.id == cell).expect("drawings are of cells with results");
    (cell, cell.runs.first().expect("drawings are of cells with a valid run"))
}

impl FirstRun {
    fn of(cell: &CellResults, run: &Run) -> Result<FirstRun> {
        let recording = cell.folder.join(&run.directory).join(RECORDING_FILE);
        kept(&cell.folder.join(FILE), &[&run.directory], "figures of one column", || FirstRun::read(&recording))
    }

    fn read(recording: &Path) -> Result<FirstRun> {
        let recordings = ccactl_report::open_all(&[recording.to_owned()])?;
        let options = ccactl_report::Options::default();
        let summary = ccactl_report::summarize(&recordings, &options)?;
        let charts = ccactl_report::charts(&recordings, &summary, &options)?;
        let figures = paper::figures(&summary, &charts, paper::Width::Single);
        Ok(FirstRun {
            figures: figures.into_iter().map(|figure| (figure.name, figure.svg)).collect(),
            first_flow: charts.first().and_then(|charts| charts.flows.first()).map(FirstFlow::of),
        })
    }
}

impl FirstFlow {
    fn of(flow: &FlowCharts) -> FirstFlow {
        let inner = |name: &str| flow.inner.iter().find(|chart| chart.name == name).map(|chart| thinned(&chart.series));
        let width_s = flow.rate.t.get(1).zip(flow.rate.t.first()).map_or(0.0, |(second, first)| second - first);
        // Not every bucket, when they are many: each stands for those that were left out.
        let apart = apart(&flow.rate) as f64;
        let mut sum = 0.0;
        let mut delivered = thinned(&flow.rate);
        for (_, rate) in &mut delivered {
            sum += *rate * width_s * apart;
            *rate = sum;
        }
        FirstFlow {
            color: flow.color.clone(),
            min_rtt: inner("min_rtt_us").unwrap_or_default(),
            bandwidth: inner("bw_bps").unwrap_or_default(),
            delivered,
        }
    }

    /// Of one figure; empty where the recording does not have it.
    pub fn points(&self, what: OfFlow) -> Vec<Point> {
        let points = match what {
            OfFlow::MinRtt => &self.min_rtt,
            OfFlow::Bandwidth => &self.bandwidth,
            OfFlow::Delivered => &self.delivered,
        };
        points.iter().map(|&(x, y)| Point { x, y, ci95: None }).collect()
    }
}

fn apart(series: &Series) -> usize {
    series.t.len().div_ceil(POINTS).max(1)
}

fn thinned(series: &Series) -> Vec<(f64, f64)> {
    let all = series.t.iter().zip(&series.v).filter_map(|(&x, &y)| Some((x, y?)));
    all.step_by(apart(series)).collect()
}
