//! The page of a single cell: that of `ccactl report` over its valid runs, or over all when none is.

use crate::Result;
use crate::results::{CellResults, read};
use ccactl_report::{Options, html};
use ccactl_testbed::bench::{RECORDING_FILE, RunResult};
use std::path::{Path, PathBuf};

const PAGE: &str = "report.html";

/// Writes it, unless it is there and younger than the cell's result: further runs make it anew.
pub fn write(cell: &CellResults) -> Result<()> {
    let page = cell.folder.join(PAGE);
    let modified = |path: &Path| path.metadata().and_then(|metadata| metadata.modified()).ok();
    if modified(&page) >= modified(&cell.folder.join("result.json")) && page.exists() {
        return Ok(());
    }
    let valid = cell.runs.iter().map(|run| &run.directory);
    let rejected = cell.rejected.iter().map(|run| &run.directory);
    let directories: Vec<_> = if cell.runs.is_empty() { rejected.collect() } else { valid.collect() };
    let files: Vec<PathBuf> =
        directories.iter().map(|directory| cell.folder.join(directory).join(RECORDING_FILE)).collect();
    let recordings = ccactl_report::open_all(&files)?;
    let options = Options::default();
    let summary = ccactl_report::summarize(&recordings, &options)?;
    let result = read(&cell.folder)?;
    let carried = format!("Links: {}.", result.backend.described());
    let notes = std::iter::once(carried).chain(result.runs.iter().map(note)).collect();
    let heading = html::Heading { title: cell.id.clone(), notes };
    let charts = ccactl_report::charts(&recordings, &summary, &options)?;
    html::write(&page, &recordings, &summary, &charts, &heading)?;
    Ok(())
}

/// Whether a run counts, and how well the emulated link kept time in it.
fn note(run: &RunResult) -> String {
    let verdict = if run.valid { "valid".to_owned() } else { format!("not valid ({})", run.problems.join("; ")) };
    let Some(lateness) = &run.link.lateness else { return format!("{}: {verdict}", run.directory) };
    let p99_ms = lateness.p99_us / 1e3;
    let rate = run.link.rate_error().map_or_else(String::new, |error| format!(", rate error {:+.2} %", error * 100.0));
    format!("{}: {verdict}; lateness p99 {p99_ms:.3} ms{rate}", run.directory)
}
