//! Why a proxy did not start, or did not go on.

use ccactl_abi::exit;
use std::io;
use std::net::SocketAddr;

/// Result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Every error names the object, what was found, and what to do.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The address cannot be listened on.
    #[error("cannot listen on {address}: {}; --listen names another address or port", reason(cause))]
    Listen {
        /// As asked.
        address: SocketAddr,
        /// What the system said.
        cause: io::Error,
    },
    /// The proxy would connect to itself.
    #[error("a loop: {server} is where this proxy listens; --to names the server behind it")]
    Loop {
        /// As asked.
        server: SocketAddr,
    },
    /// The listener's family cannot take connections to a target.
    #[error(
        "{listen} cannot take connections to {target}: expected --listen with an address of the same family, or [::]:PORT for both"
    )]
    Family {
        /// The listener.
        listen: SocketAddr,
        /// One of the targets.
        target: String,
    },
    /// An upload target out of range.
    #[error("--upload-target: {cause}")]
    UploadTarget {
        /// What the receiving algorithm says of it.
        cause: ccactl_loader::Error,
    },
    /// Addresses that are not this host's.
    #[error(
        "cannot use addresses of others (IP_TRANSPARENT): missing CAP_NET_ADMIN; run as root, for example with sudo"
    )]
    NotTransparent,
    /// The program that steers connections was not loaded or attached.
    #[error(
        "cannot steer connections to the listener: {reason}; expected Linux 5.9 or later with BPF sk_lookup programs"
    )]
    Steer {
        /// What the kernel said.
        reason: String,
        /// Whether a right is missing.
        is_denied: bool,
    },
    /// A system call.
    #[error("cannot {doing}")]
    System {
        /// What was being done.
        doing: &'static str,
        /// What the system said.
        source: io::Error,
    },
    /// Algorithms and cgroups.
    #[error(transparent)]
    Loader(#[from] ccactl_loader::Error),
}

impl Error {
    /// Exit code of the binary for this error.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Listen { cause: io, .. } | Self::System { source: io, .. }
                if io.kind() == io::ErrorKind::PermissionDenied =>
            {
                exit::PERMISSION
            }
            Self::NotTransparent | Self::Steer { is_denied: true, .. } => exit::PERMISSION,
            Self::Steer { .. } => exit::KERNEL,
            Self::Loop { .. } | Self::Family { .. } | Self::UploadTarget { .. } => exit::USAGE,
            Self::Listen { .. } | Self::System { .. } => exit::FAILURE,
            Self::Loader(error) => error.exit_code(),
        }
    }

    /// For `map_err`: a system call with what was being done.
    pub(crate) fn system<E: Into<io::Error>>(doing: &'static str) -> impl FnOnce(E) -> Self {
        move |source| Self::System { doing, source: source.into() }
    }
}

/// What the usual reasons mean; the system's own words for the others.
fn reason(source: &io::Error) -> String {
    match source.kind() {
        io::ErrorKind::AddrInUse => "another process listens there".to_owned(),
        io::ErrorKind::AddrNotAvailable => "no interface of this host has that address".to_owned(),
        io::ErrorKind::PermissionDenied => "a port below 1024 needs root".to_owned(),
        _ => source.to_string(),
    }
}
