//! Built-in traffic: transfers over TCP in either direction, paced UDP, and checked streams on thousands of connections. The ends are
//! child processes of a bench, started as `ccactl __flow END`, with an [`End`] in JSON.
//!
//! | | opens the connection | is connected to |
//! |---|---|---|
//! | sends | [`sender`] | [`server`] |
//! | receives | [`client`] | [`receiver`] |
//!
//! [`loopback`] is apart: one connection of a process to itself.
//!
//! A child says `ready` on its standard output, waits for `go T0` on its standard input (`CLOCK_MONOTONIC` in
//! ns, to which all its times are relative) and, at the end, prints one line of JSON. A receiver ends when its
//! standard input does. [`checked`] has words of its own.

pub mod checked;
pub mod client;
pub mod loopback;
pub mod receiver;
pub mod sender;
pub mod server;
pub mod supply;
pub mod transfer;
pub mod udp;

pub use client::{FetchOptions, FetchReport};
pub use loopback::{Looped, over_loopback};
pub use receiver::{Arrival, ReceiveOptions, ReceiveReport, UdpCount};
pub use sender::{SendOptions, SendReport};
pub use server::ServeOptions;
pub use supply::Supply;
pub use transfer::{Algorithms, Schedule, Transfer};
pub use udp::{RatePlan, UdpSendOptions, UdpSendReport};

use crate::clock;
use crate::host::priority;
use ccactl_link::Nanos;
use serde::{Deserialize, Serialize};
use std::io::{self, BufRead, Write};
use std::path::Path;
use std::process::Command;
use std::time::Duration;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

/// One end of the traffic, as it stands on the command line of its process.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum End {
    /// Connects and sends.
    Send(SendOptions),
    /// Is connected to and receives, for all flows and UDP sources.
    Receive(ReceiveOptions),
    /// Is connected to and sends.
    Serve(ServeOptions),
    /// Connects and receives.
    Fetch(FetchOptions),
    /// Sends paced UDP packets.
    Udp(UdpSendOptions),
    /// One end of many connections on which every byte is checked.
    Checked(checked::EndOptions),
}

impl End {
    /// The command that runs it; `program` is the `ccactl` binary.
    #[must_use]
    pub fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.arg("__flow").arg(serde_json::to_string(self).expect("plain data"));
        command
    }

    /// Runs it in this process, whose standard input and output belong to the bench. An end of a scenario takes the [priority of
    /// ends](priority::ENDS); checked streams go as fast as the CPUs do and stay ordinary.
    ///
    /// # Errors
    /// What the kernel refuses, or that the bench is gone.
    pub fn run(self) -> io::Result<()> {
        if !matches!(self, End::Checked(_)) {
            // Without the right to it the run goes on; the bench looks and tells.
            let _ = priority::ENDS.take();
        }
        match self {
            End::Send(options) => sender::send(options),
            End::Receive(options) => receiver::receive(options),
            End::Serve(options) => server::serve(options),
            End::Fetch(options) => client::fetch(options),
            End::Udp(options) => udp::send(options),
            End::Checked(options) => checked::end::run(options),
        }
    }
}

/// First port of the receiver; flow `i` goes to this port + `i`, UDP source `j` to the UDP port that follows the flows'.
pub const FIRST_PORT: u16 = 5201;

/// The line by which a child says that it can start.
pub const READY: &str = "ready";

/// Lines of standard input; closed when the bench closes its end.
type Commands = UnboundedReceiver<String>;

/// Hands on what the bench says.
fn commands() -> Commands {
    let (send, receive) = unbounded_channel();
    read_lines(move |line| send.send(line).is_ok());
    receive
}

/// The same for an end that has no runtime.
fn line_reader() -> std::sync::mpsc::Receiver<String> {
    let (send, receive) = std::sync::mpsc::channel();
    read_lines(move |line| send.send(line).is_ok());
    receive
}

/// A thread of its own reads standard input, as a read of it cannot be cancelled, until nobody wants its lines.
fn read_lines(take: impl Fn(String) -> bool + Send + 'static) {
    std::thread::spawn(move || io::stdin().lock().lines().map_while(io::Result::ok).all(take));
}

/// One line on standard output, at once.
fn say(line: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{line}")?;
    out.flush()
}

/// Says ready and waits for the start of the run.
async fn wait_for_go(commands: &mut Commands) -> io::Result<Nanos> {
    say(READY)?;
    let line = commands.recv().await.ok_or_else(|| io::Error::from(io::ErrorKind::UnexpectedEof))?;
    parse_go(&line)
}

/// Says ready, and does `work` from the start of the run on for as long as the bench is there: once it has closed its end,
/// nobody waits for a result.
async fn after_go<T>(work: impl AsyncFnOnce(Nanos) -> io::Result<T>) -> io::Result<T> {
    let mut commands = commands();
    let t0 = wait_for_go(&mut commands).await?;
    tokio::select! {
        done = work(t0) => done,
        _ = commands.recv() => Err(io::Error::from(io::ErrorKind::UnexpectedEof)),
    }
}

fn parse_go(line: &str) -> io::Result<Nanos> {
    line.strip_prefix("go ")
        .and_then(|t0| t0.parse().ok())
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, format!("expected \"go T0\", found {line:?}")))
}

async fn sleep_until(at: Nanos) {
    tokio::time::sleep(Duration::from_nanos(at.saturating_sub(clock::now()))).await;
}

/// Runs a future on a runtime of the calling thread alone.
fn block_on<T>(future: impl Future<Output = io::Result<T>>) -> io::Result<T> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(future)
}
