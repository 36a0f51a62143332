//! The receiving end of all flows: one port per flow, everything is counted and thrown away.

use super::protocol::{block_on, commands, say, wait_for_go};
use super::transfer::{CHUNK_BYTES, Protocol};
use crate::clock;
use ccactl_link::Nanos;
use nix::sys::socket::setsockopt;
use nix::sys::socket::sockopt::{RcvBufForce, TcpCongestion};
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use tokio::io::AsyncReadExt;
use tokio::net::{TcpListener, TcpStream, UdpSocket};

/// Receive buffer of a UDP port: 0.3 s at 100 Mbit/s.
const UDP_BUFFER_BYTES: usize = 4 << 20;

/// Where to listen.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ReceiveOptions {
    /// Address.
    pub address: Ipv4Addr,
    /// First port.
    pub first_port: u16,
    /// Whether there is a listener, by TCP port from the first one on.
    pub ports: Vec<bool>,
    /// TCP ports, counted from the first, whose listener is one of MPTCP.
    #[serde(default)]
    pub mptcp_ports: Vec<u16>,
    /// Number of UDP ports, after those.
    pub udp_ports: u16,
    /// TCP ports, counted from the first, whose listener takes this congestion control.
    pub algorithms: Vec<(u16, String)>,
}

/// What was received.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReceiveReport {
    /// Connections by port, each in the order in which they were accepted.
    pub arrivals: Vec<Vec<Arrival>>,
    /// By UDP port, in order.
    pub udp: Vec<UdpCount>,
}

/// What came in on a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Arrival {
    /// Payload.
    pub bytes: u64,
    /// When the last of it was read (`CLOCK_MONOTONIC`); the time of the accepted connection when there was none.
    pub last_at: Nanos,
}

/// What came in on a UDP port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct UdpCount {
    /// Packets.
    pub packets: u64,
    /// Payload.
    pub bytes: u64,
}

/// Runs the receiving end; standard input and output belong to the bench.
///
/// # Errors
/// When a port cannot be taken or the bench is gone.
pub fn receive(options: ReceiveOptions) -> io::Result<()> {
    let ports: Vec<Arrivals> = options.ports.iter().map(|_| Arrivals::default()).collect();
    let udp: Vec<Arc<Datagrams>> = (0..options.udp_ports).map(|_| Arc::default()).collect();
    block_on(async {
        let listening = (0..).zip(&options.ports).zip(&ports).filter(|((_, listens), _)| **listens);
        for ((i, _), arrivals) in listening {
            let address = SocketAddr::from((options.address, options.first_port + i));
            let protocol = if options.mptcp_ports.contains(&i) { Protocol::Mptcp } else { Protocol::Tcp };
            let listener = protocol.listen(address)?;
            if let Some((_, name)) = options.algorithms.iter().find(|(port, _)| *port == i) {
                setsockopt(&listener, TcpCongestion, &OsString::from(name))?;
            }
            tokio::spawn(accept(listener, Arc::clone(arrivals)));
        }
        for (i, count) in (0..options.udp_ports).zip(&udp) {
            let address = SocketAddr::from((options.address, options.first_port + options.ports.len() as u16 + i));
            let socket = UdpSocket::bind(address).await?;
            // A busy moment of this process must not look like loss on the path.
            setsockopt(&socket, RcvBufForce, &UDP_BUFFER_BYTES)?;
            tokio::spawn(count_datagrams(socket, Arc::clone(count)));
        }
        let mut commands = commands();
        wait_for_go(&mut commands).await?;
        while commands.recv().await.is_some() {}
        Ok(())
    })?;
    let arrivals = ports.iter().map(|port| std::mem::take(&mut *port.lock().expect("no holder panics"))).collect();
    let udp = udp.iter().map(|count| count.read()).collect();
    say(&serde_json::to_string(&ReceiveReport { arrivals, udp })?)
}

/// Connections of one port.
type Arrivals = Arc<Mutex<Vec<Arrival>>>;

async fn accept(listener: TcpListener, arrivals: Arrivals) {
    // A failed accept is a connection that went away by itself.
    loop {
        if let Ok((stream, _)) = listener.accept().await {
            let mut all = arrivals.lock().expect("no holder panics");
            all.push(Arrival { bytes: 0, last_at: clock::now() });
            tokio::spawn(drain(stream, Arc::clone(&arrivals), all.len() - 1));
        }
    }
}

async fn drain(mut stream: TcpStream, arrivals: Arrivals, index: usize) {
    let mut chunk = vec![0; CHUNK_BYTES];
    // A sender that stops resets its connection: the end, as much as a close in order.
    while let Ok(length @ 1..) = stream.read(&mut chunk).await {
        let last_at = clock::now();
        let arrival = &mut arrivals.lock().expect("no holder panics")[index];
        *arrival = Arrival { bytes: arrival.bytes + length as u64, last_at };
    }
}

#[derive(Default)]
struct Datagrams {
    packets: AtomicU64,
    bytes: AtomicU64,
}

impl Datagrams {
    fn read(&self) -> UdpCount {
        UdpCount { packets: self.packets.load(Ordering::Relaxed), bytes: self.bytes.load(Ordering::Relaxed) }
    }
}

async fn count_datagrams(socket: UdpSocket, count: Arc<Datagrams>) {
    let mut packet = [0; 1 << 16];
    loop {
        // An error is an ICMP message that belongs to nobody.
        if let Ok(length) = socket.recv(&mut packet).await {
            count.packets.fetch_add(1, Ordering::Relaxed);
            count.bytes.fetch_add(length as u64, Ordering::Relaxed);
        }
    }
}
