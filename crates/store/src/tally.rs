//! What is counted of an upload.

use serde::Serialize;
use std::ops::AddAssign;
use std::path::PathBuf;

/// Parts, and what they hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Tally {
    /// Files.
    pub parts: u64,
    /// Their rows; those of a file that does not say are 0.
    pub rows: u64,
    /// Their bytes.
    pub bytes: u64,
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Tally) {
        self.parts += other.parts;
        self.rows += other.rows;
        self.bytes += other.bytes;
    }
}

/// What is so while it goes on.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Status {
    /// Parts that the store has.
    pub stored: Tally,
    /// Parts that the spool had no room for.
    pub given_up: Tally,
    /// Parts in the spool.
    pub waiting_parts: u64,
    /// Their bytes.
    pub waiting_bytes: u64,
    /// Why nothing goes out now.
    pub trouble: Option<String>,
}

/// What an upload has come to.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Report {
    /// Parts that the store has. Of them, how many it had already, to the byte: an earlier upload was cut off between the
    /// answer of the store and the removal of the file.
    pub stored: Tally,
    /// How many of `stored` the store had already.
    pub were_there: u64,
    /// Parts that the spool had no room for: their rows are lost.
    pub given_up: Tally,
    /// Parts that are in the spool still.
    pub waiting: Tally,
    /// How many of `waiting` the store has refused for what they are, each with the reason.
    pub refused: Vec<String>,
    /// Streams in the spool whose files were not made.
    pub streams: u64,
    /// Folders of the spool that have something in them.
    pub folders: Vec<PathBuf>,
    /// What the store answered last, when it was no success.
    pub trouble: Option<String>,
}

impl Report {
    /// Whether the store has all of it.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.given_up.parts == 0 && self.waiting.parts == 0 && self.streams == 0
    }
}
