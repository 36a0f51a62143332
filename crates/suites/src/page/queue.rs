//! The queueing delay of the bottleneck over time, from the link model's own series.

use crate::Result;
use crate::results::read;
use ccactl_link::network::Way;
use ccactl_report::figure::plot::{Line, Over, Plot, Point, Style};
use ccactl_scenario::LINK;
use ccactl_testbed::bench::{LINK_FILE, LinkRow, link_rows};
use std::path::Path;

/// Points of the figure, at most; each is the mean over the intervals that it stands for.
const POINTS: usize = 400;
const US_PER_S: f64 = 1e6;
const US_PER_MS: f64 = 1e3;

/// The plot of a run in the folder of its cell; none where nobody saw the queue.
pub fn plot(cell: &Path, directory: &str) -> Result<Option<Plot>> {
    let results = read(cell)?;
    let run = results.runs.iter().find(|run| run.directory == directory).expect("drawings are of runs with a result");
    if run.link.queue.is_none() {
        return Ok(None);
    }
    let path = cell.join(directory).join(LINK_FILE);
    let delays = delays(&path, run.link.way)?;
    let apart = delays.len().div_ceil(POINTS).max(1);
    let mean = |chunk: &[(f64, f64)]| {
        let n = chunk.len() as f64;
        let (t, delay) = chunk.iter().fold((0.0, 0.0), |(t, delay), point| (t + point.0, delay + point.1));
        Point { x: t / n, y: delay / n, ci95: None }
    };
    let line = Line {
        name: "queueing delay (link model)".to_owned(),
        color: "#444444".to_owned(),
        number: 0,
        style: Style::Measured,
        points: delays.chunks(apart).map(mean).collect(),
    };
    Ok(Some(Plot {
        title: "Queueing delay of the bottleneck over time".to_owned(),
        over: Over::Time,
        x_label: "Time [s]".to_owned(),
        y_label: "Queueing delay [ms]".to_owned(),
        lines: vec![line],
    }))
}

/// Seconds and milliseconds; intervals in which nothing left have no delay.
fn delays(path: &Path, way: Way) -> Result<Vec<(f64, f64)>> {
    let point = |row: LinkRow| Some((row.time_us as f64 / US_PER_S, row.sojourn_mean_us? / US_PER_MS));
    Ok(link_rows(path, LINK, way)?.into_iter().filter_map(point).collect())
}
