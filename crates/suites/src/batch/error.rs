//! What can go wrong with a batch system.

use ccactl_abi::exit;
use std::io;
use std::path::PathBuf;
use std::process::ExitStatus;

/// Any failure of this room.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A program of the batch system cannot be started.
    #[error(
        "{program}: expected Slurm's program on PATH, found: {cause}; submit from a host of the cluster, or see --dry-run"
    )]
    Start {
        /// Its name.
        program: &'static str,
        /// What the system answered.
        cause: io::Error,
    },
    /// It refuses.
    #[error("{command}: expected that Slurm takes it, found {status}: {said}")]
    Refused {
        /// With its arguments.
        command: String,
        /// How it ended.
        status: ExitStatus,
        /// What it said.
        said: String,
    },
    /// It answers something else than its manual says.
    #[error("{command}: expected {expected}, found {found:?}")]
    Answer {
        /// With its arguments.
        command: String,
        /// In words.
        expected: &'static str,
        /// What it said.
        found: String,
    },
    /// The cells are submitted, their report is not.
    #[error("job {array} is submitted, but not the report that is to wait for it: {cause}; when it has ended: ccactl bench report {}", folder.display())]
    NoReport {
        /// Number of the job.
        array: String,
        /// Of the results.
        folder: PathBuf,
        /// Why.
        cause: Box<Error>,
    },
    /// An option that would hide the jobs.
    #[error(
        "{found}: expected options for this cluster, as what is submitted to another one is not seen from here; submit there"
    )]
    OtherCluster {
        /// As given.
        found: String,
    },
    /// The report was to be written by now.
    #[error("{}: expected that the report is written, found an older one or none; see {}", page.display(), log.display())]
    NotReported {
        /// The page.
        page: PathBuf,
        /// What the job said.
        log: PathBuf,
    },
    /// A path that no shell can be given.
    #[error("{found:?}: expected a path without a NUL")]
    Path {
        /// The path.
        found: String,
    },
}

impl Error {
    /// Exit code of the binary.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self {
            Error::Start { .. } | Error::Path { .. } | Error::OtherCluster { .. } => exit::USAGE,
            Error::Refused { .. } | Error::Answer { .. } | Error::NoReport { .. } | Error::NotReported { .. } => {
                exit::FAILURE
            }
        }
    }
}

/// Result of this room.
pub type Result<T, E = Error> = std::result::Result<T, E>;
