//! Why a stream is not read.

use std::path::PathBuf;

/// A stream that cannot be read at all.
#[derive(Debug, thiserror::Error)]
#[error("{} is not the stream of a recording: {reason}", path.display())]
pub struct NotAStream {
    /// The file.
    pub path: PathBuf,
    /// What the reader said.
    pub reason: String,
}
