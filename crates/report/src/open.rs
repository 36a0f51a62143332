//! From what the user named to recordings.

use std::path::PathBuf;

use ccactl_recording::read;

use crate::{Error, Recording};

/// As [`read::open_all`].
///
/// # Errors
/// The same, as an error of this crate.
pub fn open_all(paths: &[PathBuf]) -> Result<Vec<Recording>, Error> {
    Ok(read::open_all(paths)?)
}
