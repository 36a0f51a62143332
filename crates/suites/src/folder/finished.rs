//! Whether a cell is finished.

use super::PlannedCell;
use crate::runner::VERSION;
use crate::{Error, MAX_FILE_BYTES, Result};
use ccactl_host::input;
use ccactl_testbed::bench::{Backend, RECORDING_FILE};
use serde::Deserialize;
use std::io;
use std::path::Path;

/// A cell whose `result.json` is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Finished {
    /// Runs that count.
    pub valid_runs: usize,
    /// Runs that were tried, whether they count or not.
    pub runs: u32,
}

impl Finished {
    /// Whether nothing is to be done for a cell with so many runs: one in which no run counts is tried again.
    #[must_use]
    pub fn is_enough(&self, repeat: u32) -> bool {
        self.valid_runs > 0 && self.runs >= repeat
    }
}

#[derive(Deserialize)]
struct Head {
    ccactl_version: String,
    #[serde(default)]
    backend: Backend,
    runs: Vec<Run>,
}

#[derive(Deserialize)]
struct Run {
    run: u32,
    valid: bool,
    directory: String,
}

/// Looks into the folder of a cell; `None` is missing or half made.
///
/// # Errors
/// When there is a result, but not of this cell: it was put there by hand, and nothing of that kind is removed.
pub fn look(folder: &Path, cell: &PlannedCell, backend: Backend) -> Result<Option<Finished>> {
    let path = folder.join("result.json");
    let json = match input::read(&path, MAX_FILE_BYTES) {
        Err(cause) if matches!(cause.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        other => other.map_err(Error::folder(&path, "read it"))?,
    };
    let unusable = |reason: String| Error::Result { path: path.clone(), reason };
    let head: Head = serde_json::from_slice(&json).map_err(|error| unusable(error.to_string()))?;
    if head.ccactl_version != VERSION {
        return Err(unusable(format!("one of ccactl {}", head.ccactl_version)));
    }
    if head.backend != backend {
        return Err(unusable(format!("one of --link {}", head.backend)));
    }
    let scenario = input::read_text(&folder.join("scenario.toml"), MAX_FILE_BYTES)
        .map_err(|error| unusable(format!("no scenario beside it ({error})")))?;
    if !cell.is_of(&scenario) {
        return Err(unusable("one of another scenario".to_owned()));
    }
    // The page is made from them: better to say so now than after hours of other cells.
    let mut recordings =
        head.runs.iter().filter(|run| run.valid).map(|run| Path::new(&run.directory).join(RECORDING_FILE));
    if let Some(missing) = recordings.find(|recording| !folder.join(recording).is_file()) {
        return Err(unusable(format!("one without its recording ({} is missing)", missing.display())));
    }
    let valid_runs = head.runs.iter().filter(|run| run.valid).count();
    Ok(Some(Finished { valid_runs, runs: head.runs.iter().map(|run| run.run).max().unwrap_or(0) }))
}
