//! What can be wrong with a recording.

use std::path::{Path, PathBuf};

use super::find::partial_of;
use crate::metadata::{Key, MetadataError, VERSIONS};

// The codes of `ccactl_abi::exit`, of which a reader knows no more than it must: it needs no BPF.
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
    /// What comes through a pipe cannot be kept for the reader.
    #[error("{path}: cannot be written: {cause}")]
    Spool {
        /// Where it was to be kept.
        path: PathBuf,
        /// From the operating system.
        cause: std::io::Error,
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
    /// What is wrong with the metadata of this file.
    pub(super) fn metadata(path: &Path) -> impl FnOnce(MetadataError) -> Error {
        let path = path.to_owned();
        |error| match error {
            MetadataError::NoVersion => {
                let found = format!("a file without the metadata key {}", Key::SchemaVersion.name());
                Error::NotARecording { path, found }
            }
            MetadataError::OtherVersion { found, writer } => {
                Error::SchemaVersion { path, found, expected: (*VERSIONS.start(), *VERSIONS.end()), writer }
            }
            MetadataError::Value { key, expected, found } => {
                Error::Metadata { path, key: key.name().to_owned(), expected, found }
            }
        }
    }

    /// Exit code of `ccactl`: a bad recording is bad input, all else a failure.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self {
            Error::Io { .. } | Error::Spool { .. } | Error::Rows { .. } => FAILURE,
            _ => BAD_INPUT,
        }
    }

    /// Adds the path to a Polars error and keeps it on one line.
    pub fn rows(path: &Path) -> impl Fn(polars::error::PolarsError) -> Error + '_ {
        move |error| Error::Rows {
            path: path.to_owned(),
            reason: error.to_string().lines().next().unwrap_or("unknown").to_owned(),
        }
    }

    /// Adds the path to an error of the operating system.
    pub(super) fn io(path: &Path, cause: std::io::Error) -> Error {
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
