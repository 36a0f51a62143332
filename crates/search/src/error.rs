//! What ends a search.

use std::path::PathBuf;

/// Result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a search did not come to its end.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A run could not be simulated, or its results not be read.
    #[error(transparent)]
    Testbed(#[from] ccactl_testbed::Error),
    /// A page or figure could not be written.
    #[error(transparent)]
    Report(#[from] ccactl_report::Error),
    /// A replay that says nothing.
    #[error(
        "{}: expected a valid run of the finding, found none in {attempts} attempts; result.json there says why, and \
         `ccactl bench` runs the scenario beside it again",
        folder.display()
    )]
    NoValidRun {
        /// With the runs.
        folder: PathBuf,
        /// How many.
        attempts: usize,
    },
    /// Bounds that leave nothing to look for.
    #[error("{option}: expected {expected}, found {found}")]
    Bounds {
        /// As on the command line.
        option: &'static str,
        /// What would do.
        expected: String,
        /// What was given.
        found: String,
    },
}

impl Error {
    /// Exit code of the binary for this error.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self {
            Error::Testbed(error) => error.exit_code(),
            Error::Report(error) => error.exit_code(),
            Error::NoValidRun { .. } => ccactl_abi::exit::FAILURE,
            Error::Bounds { .. } => ccactl_abi::exit::USAGE,
        }
    }
}
