//! The sending end that opens its connections: as much as TCP takes, from a start to a stop or until a size is reached.

use super::protocol::{after_go, block_on, say, sleep_until};
use super::supply::Supply;
use super::transfer::{self, Algorithms, Content, Next, Schedule, Transfer};
use crate::clock;
use ccactl_link::Nanos;
use serde::{Deserialize, Serialize};
use std::io;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// What to send.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SendOptions {
    /// Receiver.
    pub to: SocketAddr,
    /// What.
    #[serde(flatten)]
    pub content: Content,
    /// When.
    pub schedule: Schedule,
    /// Congestion control that no policy gives to this end.
    pub algorithm: Option<String>,
    /// What happens to a connection that is open at the stop.
    pub closing: Closing,
}

/// What becomes of a connection that is still sending when its flow stops.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Closing {
    /// It is reset: the run is over.
    Reset,
    /// What the kernel has taken is still sent, and both ends close: only then does the host remember the path.
    InOrder,
}

/// How long what is in the socket may take to arrive.
const CLOSES_WITHIN: Duration = Duration::from_secs(20);

/// What was sent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SendReport {
    /// Congestion control of the sockets, at the beginning and at the end of each connection.
    pub algorithms: Algorithms,
    /// Payload acknowledged by the receiver.
    pub acked_bytes: u64,
    /// The connections that this end opened, as it saw them: when a transfer was complete is known to the receiver alone.
    pub opened: Vec<Transfer>,
    /// Whether this end kept its sockets filled.
    pub supply: Supply,
}

impl SendReport {
    /// Adds what another connection of the same flow has sent.
    pub(super) fn add(&mut self, other: SendReport) {
        self.algorithms.append(other.algorithms);
        self.acked_bytes += other.acked_bytes;
        self.opened.extend(other.opened);
        self.supply.add(other.supply);
    }
}

/// Runs the sending end; standard input and output belong to the bench.
///
/// # Errors
/// When the connection fails or the bench is gone.
pub fn send(options: SendOptions) -> io::Result<()> {
    let report = block_on(after_go(async |t0| send_from(t0, &options).await))?;
    say(&serde_json::to_string(&report)?)
}

async fn send_from(t0: Nanos, options: &SendOptions) -> io::Result<SendReport> {
    let mut report = SendReport::default();
    let each = async |stop| {
        let mut transfer = Transfer::begin(t0);
        let stream =
            transfer::connect(options.content.protocol, options.to, options.algorithm.as_deref(), stop).await?;
        transfer.connect_us = stream.as_ref().map(|_| transfer.micros_to(clock::now() - t0));
        report.opened.push(transfer);
        match stream {
            Some(stream) => fill(stream, &options.content, (t0, stop), options.closing, &mut report).await,
            None => Ok(Next::Stopped),
        }
    };
    options.schedule.follow(t0, each).await?;
    transfer::ensure_connected(options.to, &report.opened)?;
    Ok(report)
}

/// Sends on one connection until its size is received or the stop has come; `t0` is the beginning of the run.
pub(super) async fn fill(
    mut stream: TcpStream,
    content: &Content,
    (t0, stop): (Nanos, Nanos),
    closing: Closing,
    report: &mut SendReport,
) -> io::Result<Next> {
    report.algorithms.see(&stream)?;
    let mut written = 0;
    let mut unknown = Supply::default();
    let supply = if content.tells_supply() { &mut report.supply } else { &mut unknown };
    let complete = tokio::select! {
        result = transfer(&mut stream, t0, content, &mut written, supply) => after_stop(result, stop)?,
        () = sleep_until(stop) => false,
    };
    report.acked_bytes += written - if complete { 0 } else { transfer::unacked_bytes(&stream)? };
    report.algorithms.see(&stream)?;
    if complete {
        return Ok(Next::GoOn);
    }
    match closing {
        // Without this the kernel would go on sending what is in the socket, megabytes long after the stop.
        Closing::Reset => stream.set_zero_linger()?,
        Closing::InOrder => close(&mut stream).await?,
    }
    Ok(Next::Stopped)
}

/// Ends the sending side and waits for the other end to have everything.
async fn close(stream: &mut TcpStream) -> io::Result<()> {
    stream.shutdown().await?;
    let mut byte = [0];
    match tokio::time::timeout(CLOSES_WITHIN, stream.read(&mut byte)).await {
        Ok(read) => read.map(|_| ()),
        Err(_) => {
            let message = format!("expected its data to arrive within {} s of the stop", CLOSES_WITHIN.as_secs());
            Err(io::Error::new(io::ErrorKind::TimedOut, message))
        }
    }
}

/// Writes until the size is reached and the other end has closed; never returns without a size.
async fn transfer(
    stream: &mut TcpStream,
    t0: Nanos,
    content: &Content,
    written: &mut u64,
    supply: &mut Supply,
) -> io::Result<()> {
    transfer::write(stream, t0, content, written, supply).await?;
    // The receiver closes when it has everything.
    let mut byte = [0];
    stream.read(&mut byte).await.map(|_| ())
}

/// At the stop the other end may be the first to reset the connection; before it, nobody does.
fn after_stop(result: io::Result<()>, stop: Nanos) -> io::Result<bool> {
    match result {
        Err(error) if clock::now() < stop => Err(error),
        Err(_) => Ok(false),
        Ok(()) => Ok(true),
    }
}
