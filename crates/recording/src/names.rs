//! Names of the files of a recording.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Extension of a finished recording.
pub const FINISHED: &str = "parquet";
/// Extension of an Arrow stream.
pub const STREAM: &str = "arrows";
/// What the recorder appends to the name of its target while it records.
pub const PARTIAL_SUFFIX: &str = ".partial.arrows";

/// The stream that stands beside `file` while a recording runs.
#[must_use]
pub fn partial_path(file: &Path) -> PathBuf {
    let mut name = OsString::from(file);
    name.push(PARTIAL_SUFFIX);
    name.into()
}

/// The file beside which `stream` stands, or stood until its recorder was killed.
#[must_use]
pub fn target_of(stream: &Path) -> Option<PathBuf> {
    stream.to_str().and_then(|name| name.strip_suffix(PARTIAL_SUFFIX)).map(PathBuf::from)
}

/// Where the rows of `stream` go unless somebody says otherwise: the name without what marks a stream.
#[must_use]
pub fn recovered_path(stream: &Path) -> PathBuf {
    target_of(stream).unwrap_or_else(|| stream.with_extension(FINISHED))
}

/// Part `number` of a recording in parts.
#[must_use]
pub fn part_path(folder: &Path, number: u32) -> PathBuf {
    folder.join(format!("part-{number:05}.{FINISHED}"))
}
