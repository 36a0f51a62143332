//! The server leg: opened with its algorithm before the handshake, from the client's address where that is asked for.

use crate::socket::{self, Shape};
use crate::tally::Failure;
use nix::errno::Errno;
use nix::sys::socket::{SockaddrStorage, bind, connect};
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, OwnedFd};

/// Begins the connection; it is not there yet.
pub(crate) fn begin(to: SocketAddr, client: Option<SocketAddr>, shape: &Shape) -> Result<OwnedFd, Failure> {
    let server = socket::open(to.ip(), shape).map_err(failure)?;
    if let Some(client) = client {
        if client.is_ipv4() != to.is_ipv4() {
            return Err(Failure::Unreachable(format!("{client} is of another family")));
        }
        socket::leave_port_open(&server).map_err(failure)?;
        bind(server.as_raw_fd(), &SockaddrStorage::from(SocketAddr::new(client.ip(), 0))).map_err(failure)?;
    }
    match connect(server.as_raw_fd(), &SockaddrStorage::from(to)) {
        Ok(()) | Err(Errno::EINPROGRESS) => Ok(server),
        Err(errno) => Err(failure(errno)),
    }
}

/// What an error of a server leg that is not connected means.
pub(crate) fn failure(errno: Errno) -> Failure {
    match errno {
        Errno::ECONNREFUSED => Failure::Refused,
        Errno::ETIMEDOUT => Failure::TimedOut,
        Errno::EMFILE | Errno::ENFILE | Errno::ENOBUFS | Errno::ENOMEM | Errno::EAGAIN | Errno::EADDRNOTAVAIL => {
            Failure::NoResources(errno.desc().to_owned())
        }
        // The algorithm is gone: somebody has unloaded it.
        Errno::ENOENT => Failure::NoResources("its congestion control is no longer registered".to_owned()),
        errno => Failure::Unreachable(errno.desc().to_owned()),
    }
}
