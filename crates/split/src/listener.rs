//! The listening socket, whose options its connections inherit.

use crate::error::{Error, Result};
use crate::options::{Destination, Options};
use crate::socket::{self, Shape};
use nix::sys::socket::sockopt::{Ipv6V6Only, ReuseAddr};
use nix::sys::socket::{Backlog, Shutdown, SockFlag, SockaddrStorage, accept4, bind, listen, setsockopt, shutdown};
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// Connections that the kernel keeps until we accept them; it cuts this to `net.core.somaxconn`.
const BACKLOG: i32 = 4096;

/// A port that clients reach.
#[derive(Debug)]
pub(crate) struct Listener {
    pub(crate) socket: OwnedFd,
    pub(crate) address: SocketAddr,
}

impl Listener {
    /// Takes the port, without listening yet.
    pub(crate) fn claim(options: &Options, shape: &Shape) -> Result<Self> {
        let address = options.listen;
        let failed = |errno: nix::Error| Error::Listen { address, cause: errno.into() };
        let socket = open(address, shape).map_err(Error::system("set the listening socket up"))?;
        bind(socket.as_raw_fd(), &SockaddrStorage::from(address)).map_err(failed)?;
        let address = socket::local(&socket).map_err(failed)?;
        check(options, address)?;
        Ok(Self { socket, address })
    }

    /// Takes connections from now on.
    pub(crate) fn listen(&self) -> Result<()> {
        let backlog = Backlog::new(BACKLOG).expect("it is in the range");
        listen(&self.socket, backlog).map_err(|errno| Error::Listen { address: self.address, cause: errno.into() })
    }

    /// Takes no more, and resets what has not been accepted.
    pub(crate) fn close(&self) {
        // Of a listener this is all that can be shut down, and it listens: there is nothing to fail.
        let _ = shutdown(self.socket.as_raw_fd(), Shutdown::Read);
    }

    /// The next connection.
    pub(crate) fn accept(&self) -> nix::Result<OwnedFd> {
        let raw = accept4(self.socket.as_raw_fd(), SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK)?;
        // SAFETY: the kernel has just made it, and nobody else has it.
        Ok(unsafe { OwnedFd::from_raw_fd(raw) })
    }
}

fn open(address: SocketAddr, shape: &Shape) -> nix::Result<OwnedFd> {
    let socket = socket::open(address.ip(), shape)?;
    setsockopt(&socket, ReuseAddr, &true)?;
    if address.is_ipv6() {
        setsockopt(&socket, Ipv6V6Only, &!takes_both(address))?;
    }
    Ok(socket)
}

/// Whether a listener takes connections of IPv4, too.
fn takes_both(listen: SocketAddr) -> bool {
    listen.is_ipv6() && listen.ip().is_unspecified()
}

fn check(options: &Options, address: SocketAddr) -> Result<()> {
    match &options.destination {
        Destination::Server(server) => {
            let is_ours = address.ip() == server.ip() || address.ip().is_unspecified() && is_local(*server);
            if address.port() == server.port() && is_ours {
                return Err(Error::Loop { server: *server });
            }
        }
        Destination::Original(targets) => {
            let is_out = |target: &&crate::Target| target.is_ipv4() != address.is_ipv4() && !takes_both(options.listen);
            if let Some(target) = targets.iter().find(is_out) {
                return Err(Error::Family { listen: options.listen, target: target.to_string() });
            }
        }
    }
    Ok(())
}

/// Whether an address is one of this host: only such a one can be bound.
fn is_local(address: SocketAddr) -> bool {
    let bound: io::Result<UdpSocket> = UdpSocket::bind((address.ip(), 0));
    bound.is_ok()
}
