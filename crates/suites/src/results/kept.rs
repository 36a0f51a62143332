//! What was made of a cell's recordings, kept beside them: a second report reads no recording.
//!
//! A cell is replaced as a whole, and a run that was made does not change. So what is kept stays right as long as it was made by this
//! version, of these runs, in the same way.

use crate::runner::VERSION;
use crate::{MAX_FILE_BYTES, Result};
use ccactl_host::input;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// How a kept value was made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Origin {
    ccactl_version: String,
    /// Folders of the runs.
    runs: Vec<String>,
    /// What was asked of them.
    way: String,
}

#[derive(Serialize, Deserialize)]
struct Kept<T> {
    origin: Origin,
    value: T,
}

/// The value in this file, if it was made in this way of these runs, else that of `make`, which is kept as far as the folder can be
/// written. Both come out of the same text, so that they are the same to the last digit.
pub fn value<T: Serialize + DeserializeOwned>(
    file: &Path,
    runs: &[&str],
    way: &str,
    make: impl FnOnce() -> Result<T>,
) -> Result<T> {
    let runs = runs.iter().map(|run| (*run).to_owned()).collect();
    let origin = Origin { ccactl_version: VERSION.to_owned(), runs, way: way.to_owned() };
    if let Some(value) = there(file, &origin) {
        return Ok(value);
    }
    let kept = Kept { origin, value: make()? };
    let json = serde_json::to_vec(&kept).expect("values have only types that JSON knows");
    // Whoever may only read gets it all the same.
    let _ = ccactl_report::output::write_whole(file, &json);
    let Kept { value, .. } = serde_json::from_slice(&json).expect("it was just written");
    Ok(value)
}

fn there<T: DeserializeOwned>(file: &Path, origin: &Origin) -> Option<T> {
    let json = input::read(file, MAX_FILE_BYTES).ok()?;
    let Kept { origin: there, value } = serde_json::from_slice(&json).ok()?;
    (there == *origin).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[test]
    fn a_value_is_made_once_for_each_way_and_set_of_runs() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("kept.json");
        let made = Cell::new(0);
        let of = |runs: &[&str], way: &str| {
            let make = || {
                made.set(made.get() + 1);
                Ok(0.1 + 0.2)
            };
            let value: f64 = value(&file, runs, way, make).unwrap();
            (value, made.get())
        };
        assert_eq!(of(&["run-1"], "way"), of(&["run-1"], "way"));
        assert_eq!(made.get(), 1);
        assert_eq!(of(&["run-1", "run-2"], "way").1, 2, "of more runs");
        assert_eq!(of(&["run-1", "run-2"], "another").1, 3);
        std::fs::write(&file, "{").unwrap();
        assert_eq!(of(&["run-1", "run-2"], "another").1, 4, "half a file is none");
    }
}
