//! What every socket of the proxy has, and how the kernel is asked about one.

use ccactl_abi::layout::name_str;
use nix::errno::Errno;
use nix::sys::socket::sockopt::{
    IpBindAddressNoPort, IpTransparent, KeepAlive, Linger, OobInline, RcvBufForce, SndBufForce, SocketError,
    TcpCongestion, TcpNoDelay,
};
use nix::sys::socket::{
    AddressFamily, SockFlag, SockType, SockaddrStorage, getpeername, getsockname, getsockopt, setsockopt, socket,
};
use std::ffi::OsString;
use std::mem::size_of_val;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};

/// Unsent bytes that a send buffer takes at most; the rest waits in the pipe and at the sender, and not behind a window that may
/// shrink. Beyond that the buffer holds what is in flight. 0.2 ms at 10 Gbit/s, which the proxy's thread needs to come back.
const NOTSENT_LOWAT_BYTES: libc::c_int = 256 * 1024;

/// A closing socket sends a reset instead of the rest.
const RESET: libc::linger = libc::linger { l_onoff: 1, l_linger: 0 };
/// A closing socket sends the rest.
const IN_ORDER: libc::linger = libc::linger { l_onoff: 0, l_linger: 0 };

/// What a socket is to be like.
#[derive(Debug, Clone)]
pub(crate) struct Shape {
    /// Kernel name.
    pub(crate) algorithm: String,
    /// See [`crate::Options::buffer_bytes`].
    pub(crate) buffer_bytes: Option<u32>,
    /// May have an address that is not this host's.
    pub(crate) is_transparent: bool,
}

/// A TCP socket that does not block.
pub(crate) fn open(of: IpAddr, shape: &Shape) -> nix::Result<OwnedFd> {
    let family = if of.is_ipv4() { AddressFamily::Inet } else { AddressFamily::Inet6 };
    let socket = socket(family, SockType::Stream, SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK, None)?;
    setsockopt(&socket, Linger, &RESET)?;
    // What has come goes on at once: the sender has decided what belongs together.
    setsockopt(&socket, TcpNoDelay, &true)?;
    // A peer that has gone in silence ends the connection some day.
    setsockopt(&socket, KeepAlive, &true)?;
    // An urgent byte stays in its place of the stream, as a byte like any other.
    setsockopt(&socket, OobInline, &true)?;
    set_int(&socket, libc::IPPROTO_TCP, libc::TCP_NOTSENT_LOWAT, NOTSENT_LOWAT_BYTES)?;
    if let Some(bytes) = shape.buffer_bytes {
        // The kernel doubles it, for its own use. Without the right to go beyond its limits it would cut it in silence.
        setsockopt(&socket, RcvBufForce, &(bytes as usize / 2))?;
        setsockopt(&socket, SndBufForce, &(bytes as usize / 2))?;
    }
    if shape.is_transparent {
        be_transparent(&socket, of)?;
    }
    setsockopt(&socket, TcpCongestion, &OsString::from(&shape.algorithm))?;
    Ok(socket)
}

/// Lets a socket use addresses of others.
pub(crate) fn be_transparent(socket: &OwnedFd, of: IpAddr) -> nix::Result<()> {
    if of.is_ipv4() {
        setsockopt(socket, IpTransparent, &true)
    } else {
        set_int(socket, libc::IPPROTO_IPV6, libc::IPV6_TRANSPARENT, 1)
    }
}

/// The port is chosen with the connection, so that it is free for this destination and not for all.
pub(crate) fn leave_port_open(socket: &OwnedFd) -> nix::Result<()> {
    setsockopt(socket, IpBindAddressNoPort, &true)
}

/// From now on a close sends what is left, and the end.
pub(crate) fn end_in_order(socket: &OwnedFd) -> nix::Result<()> {
    setsockopt(socket, Linger, &IN_ORDER)
}

/// The error that came in, if any; it is taken.
pub(crate) fn error_of(socket: &OwnedFd) -> Option<Errno> {
    let raw = getsockopt(socket, SocketError).unwrap_or_else(|errno| errno as i32);
    (raw != 0).then(|| Errno::from_raw(raw))
}

/// Kernel name of a socket's algorithm.
pub(crate) fn algorithm_of(socket: &OwnedFd) -> nix::Result<String> {
    Ok(name_str(getsockopt(socket, TcpCongestion)?.as_encoded_bytes()).to_owned())
}

/// Own address of a socket. IPv4 is IPv4, on a socket of IPv6 as well.
pub(crate) fn local(socket: &OwnedFd) -> nix::Result<SocketAddr> {
    plain(&getsockname::<SockaddrStorage>(socket.as_raw_fd())?)
}

/// Address of a socket's peer.
pub(crate) fn peer(socket: &OwnedFd) -> nix::Result<SocketAddr> {
    plain(&getpeername::<SockaddrStorage>(socket.as_raw_fd())?)
}

fn plain(address: &SockaddrStorage) -> nix::Result<SocketAddr> {
    let v4 = address.as_sockaddr_in().map(|v4| SocketAddr::from((v4.ip(), v4.port())));
    let v6 = || address.as_sockaddr_in6().map(|v6| SocketAddr::from((v6.ip().to_canonical(), v6.port())));
    v4.or_else(v6).ok_or(Errno::EAFNOSUPPORT)
}

/// Moves bytes between a socket and a pipe without waiting for either.
pub(crate) fn splice(from: BorrowedFd<'_>, to: BorrowedFd<'_>, bytes: usize) -> nix::Result<usize> {
    let flags = libc::SPLICE_F_MOVE | libc::SPLICE_F_NONBLOCK;
    // SAFETY: both descriptors are open, and no offsets are passed.
    let moved = unsafe {
        libc::splice(from.as_raw_fd(), std::ptr::null_mut(), to.as_raw_fd(), std::ptr::null_mut(), bytes, flags)
    };
    usize::try_from(moved).map_err(|_| Errno::last())
}

fn set_int(socket: &OwnedFd, level: libc::c_int, name: libc::c_int, value: libc::c_int) -> nix::Result<()> {
    let length = size_of_val(&value) as libc::socklen_t;
    // SAFETY: the kernel reads one int, which the pointer is to.
    let ret = unsafe { libc::setsockopt(socket.as_raw_fd(), level, name, (&raw const value).cast(), length) };
    Errno::result(ret).map(drop)
}
