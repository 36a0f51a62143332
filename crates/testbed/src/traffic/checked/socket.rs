//! What the kernel says about a socket.

use nix::sys::socket::getsockopt;
use nix::sys::socket::sockopt::TcpCongestion;
use std::io;
use std::net::TcpStream;
use std::os::fd::AsRawFd;

/// The algorithm of a socket, as the application sees it.
pub fn congestion_control(socket: &TcpStream) -> io::Result<String> {
    let name = getsockopt(socket, TcpCongestion)?;
    Ok(ccactl_abi::layout::name_str(name.as_encoded_bytes()).to_owned())
}

/// `TCP_INFO`.
pub fn tcp_info(socket: &TcpStream) -> io::Result<libc::tcp_info> {
    // SAFETY: tcp_info is a plain C struct for which all zeroes is a valid value.
    let mut info: libc::tcp_info = unsafe { std::mem::zeroed() };
    let mut length = size_of::<libc::tcp_info>() as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes to `info`, which outlives the call.
    let result = unsafe {
        libc::getsockopt(socket.as_raw_fd(), libc::IPPROTO_TCP, libc::TCP_INFO, (&raw mut info).cast(), &raw mut length)
    };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(info) }
}
