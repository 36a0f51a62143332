//! Why the exporter did not start, or did not go on.

use ccactl_abi::exit;
use std::io;
use std::net::SocketAddr;
use thiserror::Error;

/// Result of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// Every error names the object, what was found, and what to do.
#[derive(Debug, Error)]
pub enum Error {
    /// The address cannot be listened on.
    #[error("cannot listen on {address}: {}; --listen names another address or port", reason(cause))]
    Listen {
        /// As asked.
        address: SocketAddr,
        /// What the system said.
        cause: io::Error,
    },
    /// The HTTP server cannot run.
    #[error("the exporter cannot {doing}: {cause}")]
    Server {
        /// What was being done.
        doing: &'static str,
        /// What the system said.
        cause: io::Error,
    },
    /// The kernel does not measure BPF programs.
    #[error("--bpf-stats: the kernel does not measure the run time of BPF programs: {reason}; leave the option out")]
    BpfStats {
        /// What the kernel said.
        reason: String,
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
            Error::Listen { cause, .. } if cause.kind() == io::ErrorKind::PermissionDenied => exit::PERMISSION,
            Error::Listen { .. } | Error::Server { .. } => exit::FAILURE,
            Error::BpfStats { .. } => exit::KERNEL,
            Error::Recorder(error) => error.exit_code(),
        }
    }
}

/// What the three usual reasons mean; the system's own words for the others.
fn reason(cause: &io::Error) -> String {
    match cause.kind() {
        io::ErrorKind::AddrInUse => "another process listens there".to_owned(),
        io::ErrorKind::AddrNotAvailable => "no interface of this host has that address".to_owned(),
        io::ErrorKind::PermissionDenied => "ports below 1024 need CAP_NET_BIND_SERVICE".to_owned(),
        _ => cause.to_string(),
    }
}
