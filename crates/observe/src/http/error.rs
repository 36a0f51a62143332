//! Why a server cannot answer.

use crate::http::address::Address;
use ccactl_abi::exit;
use std::io;
use std::path::PathBuf;
use thiserror::Error;

/// Result of this module.
pub type Result<T> = std::result::Result<T, Error>;

/// Every error names the object, what was found, and what to do.
#[derive(Debug, Error)]
pub enum Error {
    /// The address cannot be listened on.
    #[error("cannot listen on {address}: {}; --listen names another address or port", reason(address, cause))]
    Listen {
        /// As asked.
        address: Address,
        /// What the system said.
        cause: io::Error,
    },
    /// There is something else in the place of the unix socket.
    #[error("cannot listen on unix:{}: it {found}; {remedy}", path.display())]
    Socket {
        /// As asked.
        path: PathBuf,
        /// What is there.
        found: String,
        /// What to do.
        remedy: String,
    },
    /// The HTTP server cannot run.
    #[error("the HTTP server cannot {doing}: {cause}")]
    Server {
        /// What was being done.
        doing: &'static str,
        /// What the system said.
        cause: io::Error,
    },
}

impl Error {
    /// Exit code of the binary for this error.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self {
            Error::Listen { cause, .. } if cause.kind() == io::ErrorKind::PermissionDenied => exit::PERMISSION,
            Error::Listen { .. } | Error::Socket { .. } | Error::Server { .. } => exit::FAILURE,
        }
    }
}

/// What the usual reasons mean; the system's own words for the others.
fn reason(address: &Address, cause: &io::Error) -> String {
    match (address, cause.kind()) {
        (_, io::ErrorKind::AddrInUse) => "another process listens there".to_owned(),
        (Address::Tcp(_), io::ErrorKind::AddrNotAvailable) => "no interface of this host has that address".to_owned(),
        (Address::Tcp(_), io::ErrorKind::PermissionDenied) => "ports below 1024 need CAP_NET_BIND_SERVICE".to_owned(),
        (Address::Unix(_), io::ErrorKind::NotFound) => "its folder does not exist".to_owned(),
        _ => cause.to_string(),
    }
}
