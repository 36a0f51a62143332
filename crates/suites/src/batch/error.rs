//! What can go wrong with a batch system.

use ccactl_abi::exit;
use std::io;
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
            Error::Start { .. } | Error::Path { .. } => exit::USAGE,
            Error::Refused { .. } | Error::Answer { .. } => exit::FAILURE,
        }
    }
}

/// Result of this room.
pub type Result<T, E = Error> = std::result::Result<T, E>;
