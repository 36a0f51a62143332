//! The queueing delay of the bottleneck over time, from the link model's own series.

use crate::results::read;
use crate::{Error, Result};
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, UInt64Type};
use arrow_array::{Array, RecordBatch};
use ccactl_link::network::Way;
use ccactl_report::figure::plot::{Line, Over, Plot, Point, Style};
use ccactl_scenario::LINK;
use ccactl_testbed::bench::LINK_FILE;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use std::fs::File;
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
    let way = match run.link.way {
        Way::Up => "up",
        Way::Down => "down",
    };
    let path = cell.join(directory).join(LINK_FILE);
    let delays = delays(&path, way)?;
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
fn delays(path: &Path, way: &str) -> Result<Vec<(f64, f64)>> {
    let unreadable = |reason: String| Error::Result { path: path.to_owned(), reason };
    let file = File::open(path).map_err(Error::folder(path, "read it"))?;
    let reader = ParquetRecordBatchReaderBuilder::try_new(file).and_then(|builder| builder.build());
    let mut delays = Vec::new();
    for batch in reader.map_err(|error| unreadable(error.to_string()))? {
        let batch = batch.map_err(|error| unreadable(error.to_string()))?;
        let of_batch = delays_in(&batch, way).ok_or_else(|| unreadable("other columns than expected".to_owned()))?;
        delays.extend(of_batch);
    }
    Ok(delays)
}

fn delays_in(batch: &RecordBatch, way: &str) -> Option<Vec<(f64, f64)>> {
    let time = batch.column_by_name("time_us")?.as_primitive_opt::<UInt64Type>()?;
    let link = batch.column_by_name("link")?.as_string_opt::<i32>()?;
    let ways = batch.column_by_name("way")?.as_string_opt::<i32>()?;
    let sojourn = batch.column_by_name("sojourn_mean_us")?.as_primitive_opt::<Float64Type>()?;
    let of_bottleneck =
        (0..batch.num_rows()).filter(|&row| link.value(row) == LINK && ways.value(row) == way && sojourn.is_valid(row));
    Some(of_bottleneck.map(|row| (time.value(row) as f64 / US_PER_S, sojourn.value(row) / US_PER_MS)).collect())
}
