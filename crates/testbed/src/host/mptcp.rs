//! MPTCP of a namespace: what the kernel's path manager may do, by `ip mptcp`.

use super::iproute;
use super::netns::Netns;
use crate::error::{Error, Result};
use std::io;
use std::net::Ipv4Addr;
use std::os::fd::{FromRawFd, OwnedFd};

/// Most subflows beside the first one (`MPTCP_PM_ADDR_MAX`).
const SUBFLOWS: &str = "8";

/// A socket of MPTCP, not blocking.
///
/// # Errors
/// What the kernel answers: `EPROTONOSUPPORT` without MPTCP, `ENOPROTOOPT` where it is switched off.
pub fn open_socket() -> io::Result<OwnedFd> {
    let kind = libc::SOCK_STREAM | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
    // SAFETY: the call takes no pointer.
    let fd = unsafe { libc::socket(libc::AF_INET, kind, libc::IPPROTO_MPTCP) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: a fresh descriptor that nobody else owns.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Whether this host has MPTCP, before anything is made of a run.
///
/// # Errors
/// [`Error::NoMptcp`]
pub fn check() -> Result<()> {
    open_socket().map(drop).map_err(|cause| Error::NoMptcp { cause })
}

/// Lets the connections of a namespace have further subflows, opened by either end.
///
/// # Errors
/// What `ip` says.
pub fn allow_subflows(netns: &Netns) -> Result<()> {
    mptcp(netns, &["limits", "set", "subflows", SUBFLOWS])
}

/// Has each connection that the namespace opens open a subflow from this address and device too.
///
/// # Errors
/// What `ip` says.
pub fn add_endpoint(netns: &Netns, address: Ipv4Addr, device: &str) -> Result<()> {
    mptcp(netns, &["endpoint", "add", &address.to_string(), "dev", device, "subflow"])
}

fn mptcp(netns: &Netns, words: &[&str]) -> Result<()> {
    let words = ["-n", netns.name(), "mptcp"].into_iter().chain(words.iter().copied());
    iproute::run("ip", &words.map(str::to_owned).collect::<Vec<_>>()).map(|_| ())
}
