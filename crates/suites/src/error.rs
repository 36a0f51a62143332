//! What can go wrong with a suite, each with the exit code of the binary.

use ccactl_abi::exit;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

/// Any failure of this crate.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A run, or its scenario.
    #[error(transparent)]
    Testbed(#[from] ccactl_testbed::Error),
    /// A recording, a page or a figure.
    #[error(transparent)]
    Report(#[from] ccactl_report::Error),
    /// A batch system.
    #[error(transparent)]
    Batch(#[from] crate::batch::Error),
    /// `--only` names what is not there.
    #[error("--only: expected {expected}, found {found:?}")]
    Selection {
        /// What there is.
        expected: String,
        /// What was asked for.
        found: String,
    },
    /// `--cell` names what is not there.
    #[error("--cell: expected a cell of the matrix, as `ccactl bench cells` lists them, found {found:?}{}", nearest.as_ref().map_or_else(String::new, |id| format!(", nearest: {id}")))]
    Cell {
        /// As given.
        found: String,
        /// What may have been meant.
        nearest: Option<String>,
    },
    /// The folder of a suite cannot be used.
    #[error("suite folder {}: {action}: {cause}; choose another with -o", path.display())]
    Folder {
        /// The folder or a file in it.
        path: PathBuf,
        /// What was tried.
        action: &'static str,
        /// What the system answered.
        cause: io::Error,
    },
    /// Where cells are to be made is no folder.
    #[error("--scratch {}: expected a folder, or room for one, found: {cause}; choose another", path.display())]
    Scratch {
        /// As given.
        path: PathBuf,
        /// What the system answered.
        cause: io::Error,
    },
    /// The folder has results that this suite must not touch or cannot take over.
    #[error("suite folder {}: expected {expected}, found {found}; choose another with -o", path.display())]
    OtherSuite {
        /// The folder.
        path: PathBuf,
        /// What would be resumed.
        expected: String,
        /// What is there.
        found: String,
    },
    /// Another process writes there.
    #[error("suite folder {}: expected that no other process writes its plan or its report for longer than a minute, found one that does; end it, or choose another with -o", path.display())]
    Busy {
        /// The folder.
        path: PathBuf,
    },
    /// Cells that are asked for are not finished, since other processes run them.
    #[error("{}: expected that nobody else runs what is asked for, found {} under way in other processes ({}); run the command again when they have ended", path.display(), cells_text(cells.len()), cells.join(", "))]
    Elsewhere {
        /// The folder.
        path: PathBuf,
        /// Names of the cells.
        cells: Vec<String>,
    },
    /// Cells that a batch system was given have no result.
    #[error("{}: expected that all cells are finished, found {} that are not ({}); submit again, which runs only these", path.display(), cells_text(cells.len()), cells.join("; "))]
    Unfinished {
        /// The folder.
        path: PathBuf,
        /// Names of the cells, with how they ended and where their logs are.
        cells: Vec<String>,
    },
    /// A result that ccactl wrote cannot be read.
    #[error("{}: expected a result of this version of ccactl, found: {reason}; remove the folder of this cell and run the suite again", path.display())]
    Result {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// `--quick` or `--as-printed` of a scenario that does not say what that is.
    #[error(
        "--{name}: expected a scenario with a table [{name}], found none in {scenario}; change it with --set instead"
    )]
    NoVariant {
        /// Name of the table.
        name: &'static str,
        /// Name of the scenario.
        scenario: String,
    },
    /// A seed that TOML cannot hold.
    #[error("--seed: expected a number up to {}, found {found}", i64::MAX)]
    Seed {
        /// As given.
        found: u64,
    },
    /// Where a cell runs when not on this host.
    #[error("{cause}")]
    OffHost {
        /// What went wrong there.
        cause: Box<dyn std::error::Error + Send + Sync>,
        /// Exit code of the binary.
        exit_code: u8,
    },
    /// SIGINT or SIGTERM.
    #[error("interrupted; the same command goes on with what is left")]
    Interrupted,
    /// A thread of the runner panicked.
    #[error("a run ended with a panic; this is a fault of ccactl")]
    Panicked,
}

fn cells_text(count: usize) -> String {
    if count == 1 { "one cell".to_owned() } else { format!("{count} cells") }
}

impl Error {
    /// Wraps a system error with the file and what was tried.
    pub(crate) fn folder(path: impl Into<PathBuf>, action: &'static str) -> impl FnOnce(io::Error) -> Error {
        let path = path.into();
        move |cause| Error::Folder { path, action, cause }
    }

    /// An error once a signal has asked for the end.
    pub(crate) fn check(interrupt: &AtomicBool) -> Result<()> {
        if interrupt.load(Ordering::Relaxed) { Err(Error::Interrupted) } else { Ok(()) }
    }

    /// Whether a signal asked for the end.
    #[must_use]
    pub fn is_interrupt(&self) -> bool {
        matches!(self, Error::Interrupted | Error::Testbed(ccactl_testbed::Error::Interrupted))
    }

    /// Exit code of the binary.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self {
            Error::Testbed(error) => error.exit_code(),
            Error::Report(error) => error.exit_code(),
            Error::Batch(error) => error.exit_code(),
            Error::OffHost { exit_code, .. } => *exit_code,
            Error::Folder { cause, .. } if cause.kind() == io::ErrorKind::StorageFull => exit::FAILURE,
            Error::NoVariant { .. }
            | Error::Seed { .. }
            | Error::Selection { .. }
            | Error::Cell { .. }
            | Error::Folder { .. }
            | Error::Scratch { .. }
            | Error::OtherSuite { .. }
            | Error::Busy { .. } => exit::USAGE,
            Error::Result { .. } | Error::Elsewhere { .. } | Error::Unfinished { .. } | Error::Panicked => {
                exit::FAILURE
            }
            Error::Interrupted => exit::INTERRUPTED,
        }
    }
}

/// Result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;
