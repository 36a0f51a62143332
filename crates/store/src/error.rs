//! Why recordings do not go into a store, or do not come back.

use crate::fault::Fault;
use ccactl_host::{lock, output};
use std::io;
use std::path::{Path, PathBuf};

/// Result of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// Every error names the object, what was found, and what to do.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No place that this crate knows.
    #[error("{text}: {found}; expected s3://BUCKET/PREFIX or file:///FOLDER")]
    Location {
        /// As the user wrote it.
        text: String,
        /// What is wrong with it.
        found: String,
    },
    /// The settings of the environment do not make a client.
    #[error("{location}: {found}; see docs/how-to/object-store.md for the variables that begin with AWS_")]
    Settings {
        /// Where to.
        location: String,
        /// What the library says.
        found: String,
    },
    /// The store does not take, or does not give.
    #[error("{location}: {}; {}", fault.found, fault.remedy())]
    Store {
        /// Where to.
        location: String,
        /// What it answered.
        fault: Fault,
    },
    /// Nothing to read there.
    #[error(
        "{location}: expected recordings (*.parquet), found none; name the prefix that `record -o` was given, or a longer one"
    )]
    Nothing {
        /// Where they were looked for.
        location: String,
    },
    /// Copies would fill the disk.
    #[error(
        "{location}: its {needed} bytes do not fit into {}, which has {free}; name a longer prefix, such as one date, or set TMPDIR",
        folder.display()
    )]
    NoRoom {
        /// Where they are.
        location: String,
        /// All of them.
        needed: u64,
        /// Of the disk.
        free: u64,
        /// Where the copies would be.
        folder: PathBuf,
    },
    /// A copy of what a store has.
    #[error("cannot write {}: {cause}; TMPDIR names another folder", path.display())]
    Copy {
        /// File.
        path: PathBuf,
        /// What the system said.
        cause: io::Error,
    },
    /// The spool, or the folder for copies.
    #[error("cannot {doing} {}: {cause}; --spool names another folder", path.display())]
    Spool {
        /// What was tried.
        doing: &'static str,
        /// File or folder.
        path: PathBuf,
        /// What the system said.
        cause: io::Error,
    },
    /// Another process has the folder.
    #[error(transparent)]
    Lock(#[from] lock::Error),
    /// A signal came while a store was asked.
    #[error("ended by a signal")]
    Interrupted,
    /// No thread, no runtime.
    #[error("cannot start the upload: {0}")]
    Thread(io::Error),
}

impl Error {
    /// Whether an argument is at fault.
    #[must_use]
    pub fn is_usage(&self) -> bool {
        matches!(self, Error::Location { .. } | Error::Settings { .. } | Error::Nothing { .. } | Error::NoRoom { .. })
    }

    /// Whether this user may not use the spool.
    #[must_use]
    pub fn is_denied(&self) -> bool {
        matches!(self, Error::Spool { cause, .. } if cause.kind() == io::ErrorKind::PermissionDenied)
    }

    pub(crate) fn spool(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Error {
        let path = path.to_owned();
        move |cause| Error::Spool { doing, path, cause }
    }

    pub(crate) fn output(doing: &'static str, path: &Path) -> impl FnOnce(output::Error) -> Error {
        let spool = Error::spool(doing, path);
        move |cause| spool(cause.into())
    }
}
