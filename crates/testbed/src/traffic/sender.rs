//! The sending end: as much as TCP takes, from a start to a stop or until a size is reached.

use super::{CHUNK_BYTES, block_on, commands, say, sleep_until, wait_for_go};
use crate::clock;
use ccactl_link::Nanos;
use serde::{Deserialize, Serialize};
use std::io;
use std::net::SocketAddr;
use std::os::fd::AsRawFd;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// What to send.
#[derive(Debug, Clone, Copy)]
pub struct SendOptions {
    /// Receiver.
    pub to: SocketAddr,
    /// Start after the beginning of the run.
    pub start_ns: Nanos,
    /// Stop after the beginning of the run, whatever has been sent.
    pub stop_ns: Nanos,
    /// Payload; endless when absent.
    pub bytes: Option<u64>,
}

/// What was sent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SendReport {
    /// Congestion control of the socket when it was connected, as the kernel names it.
    pub algorithm: String,
    /// The same at the end: another one after a swap.
    pub algorithm_at_end: String,
    /// From the start to the established connection, in µs.
    pub connect_us: u64,
    /// Payload acknowledged by the receiver.
    pub acked_bytes: u64,
    /// From the established connection to the end, in µs.
    pub sending_us: u64,
    /// A flow with a size: all of it was received and the connection closed in order before the stop.
    pub complete: bool,
}

/// Runs the sending end; standard input and output belong to the bench.
///
/// # Errors
/// When the connection fails or the bench is gone.
pub fn send(options: SendOptions) -> io::Result<()> {
    let report = block_on(async {
        let mut commands = commands();
        let t0 = wait_for_go(&mut commands).await?;
        tokio::select! {
            report = send_from(t0, options) => report,
            // The bench has closed its end: nobody waits for a result.
            _ = commands.recv() => Err(io::Error::from(io::ErrorKind::UnexpectedEof)),
        }
    })?;
    say(&serde_json::to_string(&report)?)
}

async fn send_from(t0: Nanos, options: SendOptions) -> io::Result<SendReport> {
    sleep_until(t0 + options.start_ns).await;
    let stop = t0 + options.stop_ns;
    let started = clock::now();
    let time_left = Duration::from_nanos(stop.saturating_sub(started));
    let mut stream = tokio::time::timeout(time_left, TcpStream::connect(options.to)).await.map_err(|_| {
        io::Error::new(io::ErrorKind::TimedOut, format!("no connection to {} before the stop", options.to))
    })??;
    let connected = clock::now();
    let algorithm = congestion_control(&stream)?;
    let mut written = 0;
    let complete = tokio::select! {
        result = transfer(&mut stream, options.bytes, &mut written) => result.map(|()| true)?,
        () = sleep_until(stop) => false,
    };
    let acked_bytes = written - if complete { 0 } else { unacked_bytes(&stream)? };
    let algorithm_at_end = congestion_control(&stream)?;
    let sending_us = clock::now().saturating_sub(connected) / 1000;
    if !complete {
        // Without this the kernel would go on sending what is in the socket, megabytes long after the stop.
        stream.set_zero_linger()?;
    }
    Ok(SendReport {
        algorithm,
        algorithm_at_end,
        connect_us: (connected - started) / 1000,
        acked_bytes,
        sending_us,
        complete,
    })
}

/// Writes until the size is reached and the receiver has closed; never returns without a size.
async fn transfer(stream: &mut TcpStream, bytes: Option<u64>, written: &mut u64) -> io::Result<()> {
    let chunk = vec![0x5a; CHUNK_BYTES];
    while bytes.is_none_or(|size| *written < size) {
        let left = bytes.map_or(CHUNK_BYTES as u64, |size| size - *written).min(CHUNK_BYTES as u64);
        *written += stream.write(&chunk[..left as usize]).await? as u64;
    }
    stream.shutdown().await?;
    // The receiver closes when it has everything.
    let mut byte = [0];
    stream.read(&mut byte).await.map(|_| ())
}

/// Bytes that the kernel has taken but the receiver has not acknowledged.
fn unacked_bytes(stream: &TcpStream) -> io::Result<u64> {
    let mut queued: libc::c_int = 0;
    // SAFETY: SIOCOUTQ (TIOCOUTQ) writes one int to the pointer, which outlives the call.
    let result = unsafe { libc::ioctl(stream.as_raw_fd(), libc::TIOCOUTQ, &raw mut queued) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(u64::from(queued.cast_unsigned())) }
}

fn congestion_control(stream: &TcpStream) -> io::Result<String> {
    let name = nix::sys::socket::getsockopt(stream, nix::sys::socket::sockopt::TcpCongestion)?;
    Ok(ccactl_abi::layout::name_str(name.as_encoded_bytes()).to_owned())
}
