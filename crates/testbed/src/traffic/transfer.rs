//! What all ends of TCP flows have in common: when connections are opened, and what became of each.

use super::application::Application;
use super::protocol::sleep_until;
use super::supply::Supply;
use crate::clock;
use crate::host::mptcp;
use ccactl_link::Nanos;
use nix::sys::socket::sockopt::TcpCongestion;
use nix::sys::socket::{getsockopt, setsockopt};
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd};
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpSocket, TcpStream};

/// Bytes handed to or taken from the kernel at once.
pub(super) const CHUNK_BYTES: usize = 256 * 1024;

/// When the connections of a flow are opened, one after the other. Times are relative to the beginning of the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Schedule {
    /// The first one.
    pub start_ns: Nanos,
    /// Everything ends, whatever has been transferred.
    pub stop_ns: Nanos,
    /// How many; until the stop when absent.
    pub transfers: Option<u32>,
    /// From the end of one to the beginning of the next.
    pub gap_ns: Nanos,
}

impl Schedule {
    /// Calls `one` for each connection, with its stop, until one of them says that the stop has come.
    pub(super) async fn follow(
        &self,
        t0: Nanos,
        mut one: impl AsyncFnMut(Nanos) -> io::Result<Next>,
    ) -> io::Result<()> {
        let stop = t0 + self.stop_ns;
        sleep_until(t0 + self.start_ns).await;
        let mut done = 0;
        while self.transfers.is_none_or(|all| done < all) && clock::now() < stop {
            if one(stop).await? == Next::Stopped {
                break;
            }
            done += 1;
            sleep_until(stop.min(clock::now() + self.gap_ns)).await;
        }
        Ok(())
    }
}

/// What each connection of a sending end carries.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Content {
    /// Of the connections.
    #[serde(default)]
    pub protocol: Protocol,
    /// Payload of each; endless when absent.
    pub bytes: Option<u64>,
    /// What makes the payload; without it there is always more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub application: Option<Application>,
}

impl Content {
    /// Whether its sockets tell if this end kept them filled: not an application that has nothing for them at times, and the kernel
    /// says of an MPTCP connection only whether its first subflow has data.
    pub(super) fn tells_supply(&self) -> bool {
        self.protocol == Protocol::Tcp && self.application.is_none()
    }
}

/// What follows a transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    /// The next one.
    GoOn,
    /// Nothing: the flow's stop has come.
    Stopped,
}

/// One transfer of a flow with a size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Transfer {
    /// When its connection began to be opened, in ns after the beginning of the run.
    pub start_ns: Nanos,
    /// From then to the established connection, at the end that opened it; none when the stop came before.
    pub connect_us: Option<u64>,
    /// From the start to the last byte, as the receiving application saw it; none when the stop came before.
    pub completion_us: Option<u64>,
    /// Payload that the receiving application got.
    pub bytes: u64,
}

impl Transfer {
    /// One whose connection is being opened now.
    pub(super) fn begin(t0: Nanos) -> Self {
        let start_ns = clock::now().saturating_sub(t0);
        Transfer { start_ns, connect_us: None, completion_us: None, bytes: 0 }
    }

    /// Time from its start to `at_ns` (after the beginning of the run), in µs.
    pub(crate) fn micros_to(&self, at_ns: Nanos) -> u64 {
        at_ns.saturating_sub(self.start_ns) / 1000
    }
}

/// Names of the congestion control of a flow's sockets in the order in which they were seen, each change once.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Algorithms(Vec<String>);

impl Algorithms {
    /// Looks at a socket.
    pub(super) fn see(&mut self, stream: &TcpStream) -> io::Result<()> {
        let name = getsockopt(stream, TcpCongestion)?;
        self.push(ccactl_abi::layout::name_str(name.as_encoded_bytes()).to_owned());
        Ok(())
    }

    /// Adds what was seen of a later connection.
    pub(super) fn append(&mut self, later: Algorithms) {
        later.0.into_iter().for_each(|name| self.push(name));
    }

    fn push(&mut self, name: String) {
        if self.0.last() != Some(&name) {
            self.0.push(name);
        }
    }

    /// All of them.
    #[must_use]
    pub fn names(&self) -> &[String] {
        &self.0
    }
}

/// What a connection is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Protocol {
    /// One path.
    #[default]
    Tcp,
    /// Several: the kernel's path manager opens the subflows. IPv4.
    Mptcp,
}

impl Protocol {
    fn socket(self, address: SocketAddr) -> io::Result<TcpSocket> {
        match self {
            Protocol::Tcp if address.is_ipv4() => TcpSocket::new_v4(),
            Protocol::Tcp => TcpSocket::new_v6(),
            Protocol::Mptcp => Ok(TcpSocket::from_std_stream(mptcp::open_socket()?.into())),
        }
    }

    /// A listening socket.
    pub(super) fn listen(self, at: SocketAddr) -> io::Result<TcpListener> {
        let socket = self.socket(at)?;
        socket.set_reuseaddr(true)?;
        socket.bind(at)?;
        socket.listen(BACKLOG)
    }
}

/// Connections that wait to be accepted.
const BACKLOG: u32 = 1024;

/// Opens a connection, with a congestion control of the caller's choice if there is one; `None` when `stop` comes before.
pub(super) async fn connect(
    protocol: Protocol,
    to: SocketAddr,
    algorithm: Option<&str>,
    stop: Nanos,
) -> io::Result<Option<TcpStream>> {
    let socket = protocol.socket(to)?;
    if let Some(name) = algorithm {
        setsockopt(&socket, TcpCongestion, &OsString::from(name))?;
    }
    let time_left = Duration::from_nanos(stop.saturating_sub(clock::now()));
    match tokio::time::timeout(time_left, socket.connect(to)).await {
        Ok(connected) => connected.map(Some),
        Err(_) => Ok(None),
    }
}

/// A flow that never got a connection has measured nothing.
pub(super) fn ensure_connected(to: SocketAddr, transfers: &[Transfer]) -> io::Result<()> {
    if transfers.iter().any(|transfer| transfer.connect_us.is_some()) {
        return Ok(());
    }
    Err(io::Error::new(io::ErrorKind::TimedOut, format!("no connection to {to} before the stop")))
}

/// Hands what there is to the kernel and closes the sending side; never returns without a size, unless the application ends.
pub(super) async fn write(
    stream: &mut TcpStream,
    t0: Nanos,
    content: &Content,
    written: &mut u64,
    supply: &mut Supply,
) -> io::Result<()> {
    match &content.application {
        None => hand_over(stream, content.bytes, written, supply).await?,
        Some(application) => {
            limit_unsent(stream)?;
            let mut before_ns = None;
            while let Some(piece) = application.piece_after(before_ns, clock::now().saturating_sub(t0)) {
                before_ns = Some(piece.at_ns);
                sleep_until(t0 + piece.at_ns).await;
                let size = Some(*written + piece.bytes);
                hand_over(stream, size, written, supply).await?;
            }
            // Nothing more until the stop, which ends this.
            return std::future::pending().await;
        }
    }
    stream.shutdown().await
}

/// A socket with an application takes no more while so much has not been sent: without it the kernel's buffer, which grows to
/// megabytes, would go on sending through a pause.
const MOST_UNSENT_BYTES: libc::c_int = 64 * 1024;

/// `TCP_NOTSENT_LOWAT`.
fn limit_unsent(stream: &TcpStream) -> io::Result<()> {
    let most = MOST_UNSENT_BYTES;
    // SAFETY: the kernel reads one int from the pointer, which outlives the call.
    let result = unsafe {
        libc::setsockopt(
            stream.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_NOTSENT_LOWAT,
            (&raw const most).cast(),
            size_of::<libc::c_int>() as libc::socklen_t,
        )
    };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Writes until the kernel has taken so much in all.
async fn hand_over(stream: &TcpStream, bytes: Option<u64>, written: &mut u64, supply: &mut Supply) -> io::Result<()> {
    let chunk = vec![0x5a; CHUNK_BYTES];
    let mut since = clock::now();
    while bytes.is_none_or(|size| *written < size) {
        let left = bytes.map_or(CHUNK_BYTES as u64, |size| size - *written).min(CHUNK_BYTES as u64);
        // A receiver that keeps up would never let it wait, and the stop would not be seen.
        tokio::task::consume_budget().await;
        match stream.try_write(&chunk[..left as usize]) {
            Ok(taken) => *written += taken as u64,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                stream.writable().await?;
                supply.woken(stream.as_fd())?;
                // Bit by bit: a stop may end this at any await.
                supply.busy += Duration::from_nanos(clock::now() - std::mem::replace(&mut since, clock::now()));
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Bytes that the kernel has taken but the other end has not acknowledged.
pub(super) fn unacked_bytes(stream: &TcpStream) -> io::Result<u64> {
    let mut queued: libc::c_int = 0;
    // SAFETY: SIOCOUTQ (TIOCOUTQ) writes one int to the pointer, which outlives the call.
    let result = unsafe { libc::ioctl(stream.as_raw_fd(), libc::TIOCOUTQ, &raw mut queued) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(u64::from(queued.cast_unsigned())) }
}
