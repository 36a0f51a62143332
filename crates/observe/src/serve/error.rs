//! Why there is no live page.

use crate::http;
use ccactl_abi::exit;
use std::io;
use std::path::PathBuf;
use thiserror::Error;

/// Result of this module.
pub type Result<T> = std::result::Result<T, Error>;

/// Every error names the object, what was found, and what to do.
#[derive(Debug, Error)]
pub enum Error {
    /// There is nowhere to answer.
    #[error(transparent)]
    Http(#[from] http::Error),
    /// The recorder did not start or has ended.
    #[error(transparent)]
    Recorder(#[from] ccactl_collector::Error),
    /// A folder of results that cannot be opened.
    #[error("--results {}: expected a folder: {cause}", path.display())]
    Results {
        /// As asked.
        path: PathBuf,
        /// What the system said.
        cause: io::Error,
    },
    /// The file with the token can be neither read nor made.
    #[error("{}: expected the token of the live page, or room for one: {cause}; CCACTL_STATE names another folder", path.display())]
    Token {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        cause: io::Error,
    },
}

impl Error {
    /// Exit code of the binary for this error.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self {
            Error::Http(error) => error.exit_code(),
            Error::Recorder(error) => error.exit_code(),
            Error::Results { .. } => exit::USAGE,
            Error::Token { cause, .. } if cause.kind() == io::ErrorKind::PermissionDenied => exit::PERMISSION,
            Error::Token { .. } => exit::FAILURE,
        }
    }
}
