//! What can be wrong with a recording, a question about it, or a place to write to.

use std::path::{Path, PathBuf};

use crate::recording::partial_of;

// The codes of `ccactl_abi::exit`, of which this crate knows no more than it must: it reads files, it needs no BPF.
const FAILURE: u8 = 1;
const BAD_INPUT: u8 = 2;

/// One line for the user: which object, what was expected, what was found, what to do.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The path does not exist.
    #[error("{path}: no such file or folder; {remedy}")]
    Missing {
        /// As given.
        path: PathBuf,
        /// What to do.
        remedy: String,
    },
    /// The file cannot be opened or read.
    #[error("{path}: cannot be read: {cause}")]
    Io {
        /// As given.
        path: PathBuf,
        /// From the operating system.
        cause: std::io::Error,
    },
    /// A folder without recordings.
    #[error("{path}: no recording in this folder (looked for *.parquet and *.arrows, {depth} levels deep)")]
    EmptyFolder {
        /// As given.
        path: PathBuf,
        /// How deep the search went.
        depth: usize,
    },
    /// Not written by `ccactl record`.
    #[error("{path}: not a recording: expected Parquet or an Arrow stream written by `ccactl record`, found {found}")]
    NotARecording {
        /// As given.
        path: PathBuf,
        /// What the file looks like.
        found: String,
    },
    /// Cut before anything could be used.
    #[error("{path}: truncated: {found}; {remedy}")]
    Truncated {
        /// As given.
        path: PathBuf,
        /// What is there.
        found: String,
        /// What to do.
        remedy: String,
    },
    /// Some byte of a finished recording is not what was written.
    #[error("{path}: damaged: its bytes do not have the checksum that it was written with; copy the file again")]
    Damaged {
        /// As given.
        path: PathBuf,
    },
    /// What reads the format has panicked: the file says of itself what cannot be.
    #[error("{path}: damaged: its rows cannot be decoded ({reason}); copy the file again or record again")]
    Undecodable {
        /// As given.
        path: PathBuf,
        /// First line of what the reader said.
        reason: String,
    },
    /// Written by a ccactl with other columns.
    #[error(
        "{path}: recording of schema version {found}, expected {} to {}; use the ccactl that wrote it{}",
        .expected.0, .expected.1,
        .writer.as_deref().map(|v| format!(" ({v})")).unwrap_or_default()
    )]
    SchemaVersion {
        /// As given.
        path: PathBuf,
        /// In the file.
        found: String,
        /// Oldest and newest that this ccactl reads.
        expected: (u32, u32),
        /// Version of ccactl that wrote the file.
        writer: Option<String>,
    },
    /// A column of `docs/schema.md` is missing or has another type.
    #[error("{path}: column {column}: expected {expected}, found {found}; see docs/schema.md")]
    Column {
        /// As given.
        path: PathBuf,
        /// Its name.
        column: String,
        /// Kind of type that the schema asks for.
        expected: &'static str,
        /// Type in the file, or "no such column".
        found: String,
    },
    /// A metadata value that does not parse.
    #[error("{path}: metadata {key}: expected {expected}, found {found}")]
    Metadata {
        /// As given.
        path: PathBuf,
        /// Key with its `ccactl.` prefix.
        key: String,
        /// What the key should hold.
        expected: &'static str,
        /// What is wrong with the value.
        found: String,
    },
    /// Nothing to report on.
    #[error("{path}: no flow that sent data: {found}; record while a transfer runs")]
    NoFlow {
        /// As given.
        path: PathBuf,
        /// Rows and flows that are there.
        found: String,
    },
    /// `--from` and `--to` are not a window.
    #[error("{from_s} s to {to_s} s is not a time window: expected 0 <= from < to")]
    Window {
        /// Asked for.
        from_s: f64,
        /// Asked for.
        to_s: f64,
    },
    /// The rows span more intervals than anybody can look at, or the memory holds.
    #[error(
        "{path}: {span_s:.0} s in intervals of {interval_s} s are more than {most} {of}: give a wider --interval, or a part of the \
         recording with --from and --to"
    )]
    TooManyIntervals {
        /// As given.
        path: PathBuf,
        /// From the first row to the last one that was read.
        span_s: f64,
        /// Asked for.
        interval_s: f64,
        /// How many there may be …
        most: u64,
        /// … and where they are counted.
        of: &'static str,
    },
    /// The window lies outside of the recording.
    #[error("{path}: no rows between {from_s} s and {to_s} s: the recording covers {first_s:.1} s to {last_s:.1} s")]
    EmptyWindow {
        /// As given.
        path: PathBuf,
        /// Asked for.
        from_s: f64,
        /// Asked for, or the end.
        to_s: f64,
        /// First row.
        first_s: f64,
        /// Last row.
        last_s: f64,
    },
    /// A side of a comparison holds recordings that are not runs of one thing.
    #[error(
        "{side}: expected repeats of one scenario with the same algorithms, found {one} and {other}, which differ; name the folder or \
         file of one"
    )]
    NotRepeats {
        /// As given.
        side: String,
        /// One recording.
        one: String,
        /// Another that is not a repeat of it.
        other: String,
    },
    /// The page or table cannot be written.
    #[error("{path}: cannot be written: {cause}")]
    Output {
        /// As given.
        path: PathBuf,
        /// From the operating system.
        cause: std::io::Error,
    },
    /// A figure cannot be turned into pixels.
    #[error("a figure cannot be drawn as PNG: {reason}; try --format svg")]
    Figure {
        /// What the renderer says.
        reason: String,
    },
    /// Polars could not go through the rows.
    #[error("{path}: reading the rows failed: {reason}")]
    Rows {
        /// As given.
        path: PathBuf,
        /// First line of what Polars says.
        reason: String,
    },
}

impl Error {
    /// Exit code of `ccactl`: a bad recording or argument is bad input, all else a failure.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self {
            Error::Io { .. } | Error::Output { .. } | Error::Rows { .. } | Error::Figure { .. } => FAILURE,
            _ => BAD_INPUT,
        }
    }

    /// Adds the path to a Polars error and keeps it on one line.
    pub(crate) fn rows(path: &Path) -> impl Fn(polars::error::PolarsError) -> Error + '_ {
        move |error| Error::Rows {
            path: path.to_owned(),
            reason: error.to_string().lines().next().unwrap_or("unknown").to_owned(),
        }
    }

    /// Adds the path to an error of the operating system.
    pub(crate) fn io(path: &Path, cause: std::io::Error) -> Error {
        if cause.kind() != std::io::ErrorKind::NotFound {
            return Error::Io { path: path.to_owned(), cause };
        }
        let remedy = match partial_of(path) {
            Some(partial) => format!("its recorder was killed: report on {}", partial.display()),
            None => format!("record one with `ccactl record -o {}`", path.display()),
        };
        Error::Missing { path: path.to_owned(), remedy }
    }
}
