//! What ends a search.

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
            Error::Bounds { .. } => ccactl_abi::exit::USAGE,
        }
    }
}
