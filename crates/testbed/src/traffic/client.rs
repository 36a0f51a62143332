//! The receiving end that opens its connections: takes what the sending end has for it, and measures how long that takes.

use super::protocol::{after_go, block_on, say, sleep_until};
use super::transfer::{self, CHUNK_BYTES, Next, Protocol, Schedule, Transfer};
use crate::clock;
use ccactl_link::Nanos;
use serde::{Deserialize, Serialize};
use std::io;
use std::net::SocketAddr;
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;

/// What to fetch.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct FetchOptions {
    /// The sending end.
    pub from: SocketAddr,
    /// Of its connections.
    #[serde(default)]
    pub protocol: Protocol,
    /// When.
    pub schedule: Schedule,
    /// Payload that each connection is to bring; endless when absent.
    pub bytes: Option<u64>,
    /// Congestion control of this end, for algorithms that need the same one at both.
    pub algorithm: Option<String>,
}

/// What was fetched.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FetchReport {
    /// One per connection.
    pub transfers: Vec<Transfer>,
}

/// Runs the receiving end; standard input and output belong to the bench.
///
/// # Errors
/// When a connection fails before the stop or the bench is gone.
pub fn fetch(options: FetchOptions) -> io::Result<()> {
    let report = block_on(after_go(async |t0| fetch_from(t0, &options).await))?;
    say(&serde_json::to_string(&report)?)
}

async fn fetch_from(t0: Nanos, options: &FetchOptions) -> io::Result<FetchReport> {
    let mut report = FetchReport::default();
    let each = async |stop| {
        let mut transfer = Transfer::begin(t0);
        let stream = transfer::connect(options.protocol, options.from, options.algorithm.as_deref(), stop).await?;
        let next = match stream {
            None => Next::Stopped,
            Some(mut stream) => {
                transfer.connect_us = Some(transfer.micros_to(clock::now() - t0));
                let last = take(&mut stream, &mut transfer.bytes, stop).await?;
                let complete = options.bytes.is_some_and(|size| size == transfer.bytes);
                if !complete && clock::now() < stop {
                    return Err(ended_early(options, transfer.bytes));
                }
                transfer.completion_us = last.filter(|_| complete).map(|at| transfer.micros_to(at - t0));
                if complete {
                    Next::GoOn
                } else {
                    // What is still on its way is unwanted: a reset instead of an orderly end.
                    stream.set_zero_linger()?;
                    Next::Stopped
                }
            }
        };
        report.transfers.push(transfer);
        Ok(next)
    };
    options.schedule.follow(t0, each).await?;
    transfer::ensure_connected(options.from, &report.transfers)?;
    Ok(report)
}

fn ended_early(options: &FetchOptions, found: u64) -> io::Error {
    let expected = options.bytes.map_or_else(|| "data until the stop".to_owned(), |size| format!("{size} bytes"));
    let message = format!("{}: expected {expected}, found an end after {found} bytes", options.from);
    io::Error::new(io::ErrorKind::UnexpectedEof, message)
}

/// Reads until the other end closes or the stop has come; gives the time of the last byte.
async fn take(stream: &mut TcpStream, bytes: &mut u64, stop: Nanos) -> io::Result<Option<Nanos>> {
    let mut chunk = vec![0; CHUNK_BYTES];
    let mut last = None;
    loop {
        let read = tokio::select! {
            read = stream.read(&mut chunk) => read,
            () = sleep_until(stop) => return Ok(last),
        };
        match read {
            Ok(0) => return Ok(last),
            Ok(length) => {
                last = Some(clock::now());
                *bytes += length as u64;
            }
            // The sending end resets what is open at the stop.
            Err(_) if clock::now() >= stop => return Ok(last),
            Err(error) => return Err(error),
        }
    }
}
