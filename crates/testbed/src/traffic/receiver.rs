//! The receiving end of all flows: one port per flow, everything is counted and thrown away.

use super::{CHUNK_BYTES, block_on, commands, say, wait_for_go};
use serde::{Deserialize, Serialize};
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::io::AsyncReadExt;
use tokio::net::{TcpListener, TcpStream};

/// Where to listen.
#[derive(Debug, Clone, Copy)]
pub struct ReceiveOptions {
    /// Address.
    pub address: Ipv4Addr,
    /// First port.
    pub first_port: u16,
    /// Number of ports.
    pub ports: u16,
}

/// What was received.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReceiveReport {
    /// Payload by port, in order.
    pub received_bytes: Vec<u64>,
}

/// Runs the receiving end; standard input and output belong to the bench.
///
/// # Errors
/// When a port cannot be taken or the bench is gone.
pub fn receive(options: ReceiveOptions) -> io::Result<()> {
    let counts: Vec<Arc<AtomicU64>> = (0..options.ports).map(|_| Arc::default()).collect();
    block_on(async {
        for (i, count) in (0..options.ports).zip(&counts) {
            let address = SocketAddr::from((options.address, options.first_port + i));
            let listener = TcpListener::bind(address).await?;
            tokio::spawn(accept(listener, Arc::clone(count)));
        }
        let mut commands = commands();
        wait_for_go(&mut commands).await?;
        while commands.recv().await.is_some() {}
        Ok(())
    })?;
    let received_bytes = counts.iter().map(|count| count.load(Ordering::Relaxed)).collect();
    say(&serde_json::to_string(&ReceiveReport { received_bytes })?)
}

async fn accept(listener: TcpListener, count: Arc<AtomicU64>) {
    // A failed accept is a connection that went away by itself.
    loop {
        if let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(drain(stream, Arc::clone(&count)));
        }
    }
}

async fn drain(mut stream: TcpStream, count: Arc<AtomicU64>) {
    let mut chunk = vec![0; CHUNK_BYTES];
    // A sender that stops resets its connection: the end, as much as a close in order.
    while let Ok(length @ 1..) = stream.read(&mut chunk).await {
        count.fetch_add(length as u64, Ordering::Relaxed);
    }
}
