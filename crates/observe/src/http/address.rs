//! What `--listen` says.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;

/// What a unix socket's address starts with.
const UNIX: &str = "unix:";

/// A TCP port or a unix socket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    /// `127.0.0.1:9097`
    Tcp(SocketAddr),
    /// `unix:/run/ccactl/exporter.sock`
    Unix(PathBuf),
}

impl FromStr for Address {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Address, String> {
        if let Some(path) = text.strip_prefix(UNIX).filter(|path| !path.is_empty()) {
            return Ok(Address::Unix(path.into()));
        }
        text.parse().map(Address::Tcp).map_err(|_| {
            "expected an IP address and a port, such as 127.0.0.1:9097 or [::1]:9097, or unix:PATH".to_owned()
        })
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::Tcp(address) => address.fmt(f),
            Address::Unix(path) => write!(f, "{UNIX}{}", path.display()),
        }
    }
}
