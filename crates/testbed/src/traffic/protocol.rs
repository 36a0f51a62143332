//! What a bench and its children say to each other on pipes, and how a child waits.

use crate::clock;
use ccactl_link::Nanos;
use std::io::{self, BufRead, Write};
use std::time::Duration;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

/// The line by which a child says that it can start.
pub const READY: &str = "ready";

/// Lines of standard input; closed when the bench closes its end.
pub(super) type Commands = UnboundedReceiver<String>;

/// Hands on what the bench says.
pub(super) fn commands() -> Commands {
    let (send, receive) = unbounded_channel();
    read_lines(move |line| send.send(line).is_ok());
    receive
}

/// The same for an end that has no runtime.
pub(super) fn line_reader() -> std::sync::mpsc::Receiver<String> {
    let (send, receive) = std::sync::mpsc::channel();
    read_lines(move |line| send.send(line).is_ok());
    receive
}

/// A thread of its own reads standard input, as a read of it cannot be cancelled, until nobody wants its lines.
fn read_lines(take: impl Fn(String) -> bool + Send + 'static) {
    std::thread::spawn(move || io::stdin().lock().lines().map_while(io::Result::ok).all(take));
}

/// One line on standard output, at once.
pub(super) fn say(line: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{line}")?;
    out.flush()
}

/// Says ready and waits for the start of the run.
pub(super) async fn wait_for_go(commands: &mut Commands) -> io::Result<Nanos> {
    say(READY)?;
    let line = commands.recv().await.ok_or_else(|| io::Error::from(io::ErrorKind::UnexpectedEof))?;
    parse_go(&line)
}

/// Says ready, and does `work` from the start of the run on for as long as the bench is there: once it has closed its end,
/// nobody waits for a result.
pub(super) async fn after_go<T>(work: impl AsyncFnOnce(Nanos) -> io::Result<T>) -> io::Result<T> {
    let mut commands = commands();
    let t0 = wait_for_go(&mut commands).await?;
    tokio::select! {
        done = work(t0) => done,
        _ = commands.recv() => Err(io::Error::from(io::ErrorKind::UnexpectedEof)),
    }
}

pub(super) fn parse_go(line: &str) -> io::Result<Nanos> {
    line.strip_prefix("go ")
        .and_then(|t0| t0.parse().ok())
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, format!("expected \"go T0\", found {line:?}")))
}

pub(super) async fn sleep_until(at: Nanos) {
    tokio::time::sleep(Duration::from_nanos(at.saturating_sub(clock::now()))).await;
}

/// Runs a future on a runtime of the calling thread alone.
pub(super) fn block_on<T>(future: impl Future<Output = io::Result<T>>) -> io::Result<T> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(future)
}
