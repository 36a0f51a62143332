//! What can go wrong, each with the exit code of the binary.

use ccactl_abi::exit;
use std::io;
use std::path::PathBuf;

/// Result of this module.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error with its causes in one line, as people are to read it.
#[must_use]
pub fn one_line(error: &dyn std::error::Error) -> String {
    let mut line = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        line.push_str(": ");
        line.push_str(&error.to_string());
        cause = error.source();
    }
    line
}

/// Why a policy file was not taken. Nothing has been applied then.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The file could not be read.
    #[error("{}: expected a policy file, found: {cause}", path.display())]
    Read {
        /// What the user named.
        path: PathBuf,
        /// What the system answered.
        cause: io::Error,
    },
    /// It is not TOML.
    #[error("{origin}:{line}: not valid TOML: {message}")]
    Syntax {
        /// File name.
        origin: String,
        /// Line, from 1.
        line: usize,
        /// What the parser says.
        message: String,
    },
    /// A field is unknown, missing or has a value that cannot be.
    #[error("{origin}:{line}: {field}: {message}")]
    Field {
        /// File name.
        origin: String,
        /// Line, from 1.
        line: usize,
        /// Path such as `cgroup."/edge".algorithm`.
        field: String,
        /// Expected and found.
        message: String,
    },
}

impl FileError {
    /// Exit code of the binary for this error (`ccactl_abi::exit`).
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Read { cause, .. } if cause.kind() == io::ErrorKind::PermissionDenied => exit::PERMISSION,
            Self::Read { .. } | Self::Syntax { .. } | Self::Field { .. } => exit::USAGE,
        }
    }
}

/// Any failure of this module.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The policy file was not taken.
    #[error(transparent)]
    File(#[from] FileError),
    /// The kernel, a pin or a cgroup.
    #[error(transparent)]
    Loader(#[from] crate::Error),
    /// A system call of the service was refused.
    #[error("{action}: {cause}")]
    System {
        /// What was tried, with the object in it.
        action: String,
        /// What the kernel answered.
        cause: io::Error,
    },
}

impl Error {
    /// Exit code of the binary for this error (`ccactl_abi::exit`).
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::File(error) => error.exit_code(),
            Self::Loader(error) => error.exit_code(),
            Self::System { cause, .. } if cause.kind() == io::ErrorKind::PermissionDenied => exit::PERMISSION,
            Self::System { .. } => exit::FAILURE,
        }
    }

    /// For `map_err`: an errno with what was being done.
    pub(crate) fn system(action: impl Into<String>) -> impl FnOnce(nix::errno::Errno) -> Self {
        let action = action.into();
        move |errno| Self::System { action, cause: errno.into() }
    }
}
