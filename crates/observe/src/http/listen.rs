//! Where requests are answered: a TCP port or a unix socket.

use crate::http::address::Address;
use crate::http::error::{Error, Result};
use nix::errno::Errno;
use nix::sys::socket::{AddressFamily, SockFlag, SockType, UnixAddr, connect, socket};
use nix::sys::stat::{Mode, umask};
use nix::unistd::geteuid;
use std::fs::{self, Metadata};
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::os::unix::net;
use std::path::{Path, PathBuf};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpSocket, UnixListener};

/// Connections that the kernel keeps until we accept them; it cuts this to `net.core.somaxconn`. With the usual 128 a
/// crowd of clients fills the queue within milliseconds, and who finds it full tries again after a second.
const BACKLOG: u32 = 4096;
/// Of a unix socket: owner and group may connect.
const OTHERS_AND_EXECUTION: Mode = Mode::from_bits_truncate(0o117);

/// A connection of either kind.
pub(crate) trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

/// A claimed address. Dropping it gives the address back.
#[derive(Debug)]
pub enum Listener {
    /// A port.
    Tcp(TcpListener),
    /// A socket in the file system.
    Unix(UnixListener, SocketFile),
}

impl Listener {
    /// Claims the address, before anything else is begun; within a runtime. Other threads must not make files meanwhile:
    /// the umask is that of the socket for a moment.
    ///
    /// # Errors
    /// [`Error::Listen`] and [`Error::Socket`].
    pub fn bind(address: &Address) -> Result<Listener> {
        let failed = |cause| Error::Listen { address: address.clone(), cause };
        match address {
            Address::Tcp(tcp) => bind_tcp(*tcp).map(Listener::Tcp).map_err(failed),
            Address::Unix(path) => {
                make_way(path)?;
                // Not a chmod afterwards, by which somebody else's file could be meant.
                let before = umask(OTHERS_AND_EXECUTION);
                let listener = net::UnixListener::bind(path);
                umask(before);
                let listener = listener.map_err(failed)?;
                let file = SocketFile::new(path).map_err(failed)?;
                listener.set_nonblocking(true).map_err(failed)?;
                Ok(Listener::Unix(UnixListener::from_std(listener).map_err(failed)?, file))
            }
        }
    }

    /// Where it listens, which matters with port 0.
    ///
    /// # Errors
    /// [`Error::Server`].
    pub fn address(&self) -> Result<Address> {
        let failed = |cause| Error::Server { doing: "say where it listens", cause };
        Ok(match self {
            Listener::Tcp(listener) => Address::Tcp(listener.local_addr().map_err(failed)?),
            Listener::Unix(_, file) => Address::Unix(file.path.clone()),
        })
    }

    pub(crate) async fn accept(&self) -> io::Result<Box<dyn Stream>> {
        Ok(match self {
            Listener::Tcp(listener) => Box::new(listener.accept().await?.0),
            Listener::Unix(listener, _) => Box::new(listener.accept().await?.0),
        })
    }
}

fn bind_tcp(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    // A predecessor's connections may still be closing.
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// Removes what a server that was killed has left. Nothing else is removed, and nobody else's.
fn make_way(path: &Path) -> Result<()> {
    let refused = |found: &str, remedy: &str| {
        Err(Error::Socket { path: path.to_owned(), found: found.to_owned(), remedy: remedy.to_owned() })
    };
    let Ok(there) = fs::symlink_metadata(path) else { return Ok(()) };
    if !there.file_type().is_socket() {
        return refused("is not a socket", "move it away, or name another path");
    }
    let own = geteuid().as_raw();
    if there.uid() != own {
        let found = format!("is a socket of user {}, expected one of user {own}", there.uid());
        return refused(&found, "have its owner remove it, or name another path");
    }
    let is_the_same = |now: Metadata| (now.dev(), now.ino()) == (there.dev(), there.ino());
    // Another server that starts at this moment may have taken its place.
    if try_connect(path).is_err_and(|errno| errno == Errno::ECONNREFUSED)
        && fs::symlink_metadata(path).is_ok_and(is_the_same)
    {
        return fs::remove_file(path)
            .or_else(|error| refused(&format!("is left over and stays: {error}"), "remove it"));
    }
    refused("is in use: another process listens there", "end that process, or name another path")
}

/// Does not wait: a listener that is stopped accepts nobody, and is one all the same.
fn try_connect(path: &Path) -> nix::Result<OwnedFd> {
    let flags = SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC;
    let client = socket(AddressFamily::Unix, SockType::Stream, flags, None)?;
    connect(client.as_raw_fd(), &UnixAddr::new(path)?)?;
    Ok(client)
}

/// The name of a listening socket, removed in the end.
#[derive(Debug)]
pub struct SocketFile {
    path: PathBuf,
    device_and_inode: (u64, u64),
}

impl SocketFile {
    fn new(path: &Path) -> io::Result<SocketFile> {
        let made = fs::symlink_metadata(path)?;
        Ok(SocketFile { path: path.to_owned(), device_and_inode: (made.dev(), made.ino()) })
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        // Somebody may have removed ours and put another one there since.
        let is_ours =
            fs::symlink_metadata(&self.path).is_ok_and(|there| (there.dev(), there.ino()) == self.device_and_inode);
        if is_ours && let Err(error) = fs::remove_file(&self.path) {
            tracing::warn!("{} stays behind: {error}", self.path.display());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_socket_of_a_listener_that_accepts_nobody_is_in_use() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.sock");
        let listener = net::UnixListener::bind(&path).unwrap();
        // Its queue is full: who connects now waits.
        let clients: Vec<_> = std::iter::from_fn(|| try_connect(&path).ok()).collect();
        assert!(clients.len() > 1);
        let error = make_way(&path).unwrap_err().to_string();
        assert!(error.contains("another process listens there"), "{error}");
        drop((listener, clients));
        make_way(&path).unwrap();
        assert!(!path.exists());
    }

    #[test]
    fn an_address_is_a_port_or_a_path() {
        for text in ["127.0.0.1:9097", "[::1]:9097", "unix:/run/ccactl/exporter.sock", "unix:x.sock"] {
            assert_eq!(text.parse::<Address>().unwrap().to_string(), text);
        }
        for text in ["", "localhost", "127.0.0.1", "unix:", "/run/x.sock"] {
            assert!(text.parse::<Address>().is_err(), "{text}");
        }
    }
}
