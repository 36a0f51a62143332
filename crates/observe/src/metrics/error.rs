//! Why the exporter did not start, or did not go on.

use crate::http;
use ccactl_abi::exit;
use std::io;
use thiserror::Error;

/// Result of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// Every error names the object, what was found, and what to do.
#[derive(Debug, Error)]
pub enum Error {
    /// There is nowhere to answer.
    #[error(transparent)]
    Http(#[from] http::Error),
    /// The kernel does not measure BPF programs.
    #[error("--bpf-stats: the kernel does not measure the run time of BPF programs: {cause}; leave the option out")]
    BpfStats {
        /// What the kernel said.
        cause: io::Error,
    },
    /// The recorder did not start or has ended.
    #[error(transparent)]
    Recorder(#[from] ccactl_collector::Error),
}

impl Error {
    /// Exit code of the binary for this error.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self {
            Error::Http(error) => error.exit_code(),
            Error::BpfStats { cause } if cause.kind() == io::ErrorKind::PermissionDenied => exit::PERMISSION,
            Error::BpfStats { .. } => exit::KERNEL,
            Error::Recorder(error) => error.exit_code(),
        }
    }
}
