//! The page of a single cell: that of `ccactl report` over its valid runs, or over all when none is.

use crate::Result;
use crate::results::CellResults;
use ccactl_report::{Options, html};
use std::path::PathBuf;

const PAGE: &str = "report.html";

/// Writes it, unless it is there: a finished cell does not change any more.
pub fn write(cell: &CellResults) -> Result<()> {
    let page = cell.folder.join(PAGE);
    if page.exists() {
        return Ok(());
    }
    let valid = cell.runs.iter().map(|run| &run.directory);
    let rejected = cell.rejected.iter().map(|run| &run.directory);
    let directories: Vec<_> = if cell.runs.is_empty() { rejected.collect() } else { valid.collect() };
    let files: Vec<PathBuf> =
        directories.iter().map(|directory| cell.folder.join(directory).join("recording.parquet")).collect();
    let recordings = ccactl_report::open_all(&files)?;
    let options = Options::default();
    let summary = ccactl_report::summarize(&recordings, &options)?;
    let mut notes: Vec<String> = cell.runs.iter().map(|run| format!("{}: valid", run.directory)).collect();
    let not_valid =
        cell.rejected.iter().map(|run| format!("{}: not valid ({})", run.directory, run.problems.join("; ")));
    notes.extend(not_valid);
    notes.push("How well the emulated link kept time is in result.json.".to_owned());
    let heading = html::Heading { title: cell.id.clone(), notes };
    html::write(&page, &recordings, &summary, &options, &heading)?;
    Ok(())
}
