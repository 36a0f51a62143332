//! How far a recording is.

use crate::counts::Drops;
use std::time::Duration;

/// Where a recording stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Phase {
    /// Not attached yet.
    #[default]
    Starting,
    /// Rows are taken.
    Recording,
    /// Detached; the file is being made.
    Finishing,
}

/// What a progress line shows.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Progress {
    /// Where the recording stands.
    pub phase: Phase,
    /// Time since the attachment.
    pub elapsed: Duration,
    /// Sockets with a row so far.
    pub flows: u64,
    /// Rows taken so far.
    pub rows: u64,
    /// Over the time since the last change of this progress, a quarter of a second.
    pub rows_per_s: f64,
    /// Rows lost so far.
    pub drops: Drops,
}
