//! The sending end that others connect to: each connection gets what the flow's size says, or as much as TCP takes.

use super::protocol::{after_go, block_on, say, sleep_until};
use super::sender::{Closing, SendReport, fill};
use super::transfer::Content;
use ccactl_link::Nanos;
use serde::{Deserialize, Serialize};
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

/// What to send, and where to be found.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ServeOptions {
    /// Address and port to listen on.
    pub at: SocketAddr,
    /// What.
    #[serde(flatten)]
    pub content: Content,
    /// End of everything, after the beginning of the run.
    pub stop_ns: Nanos,
}

/// Runs the sending end until the flow's stop; standard input and output belong to the bench.
///
/// # Errors
/// When the port cannot be taken, a connection fails before the stop, or the bench is gone.
pub fn serve(options: ServeOptions) -> io::Result<()> {
    let report = block_on(async {
        // Before the bench knows of this end: nobody may connect to a port that is not there yet.
        let listener = options.content.protocol.listen(options.at)?;
        after_go(async |t0| serve_from(t0, &listener, &options).await).await
    })?;
    say(&serde_json::to_string(&report)?)
}

async fn serve_from(t0: Nanos, listener: &TcpListener, options: &ServeOptions) -> io::Result<SendReport> {
    let stop = t0 + options.stop_ns;
    let report = Arc::new(Mutex::new(SendReport::default()));
    let mut connections = JoinSet::new();
    let mut stopped = std::pin::pin!(sleep_until(stop));
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                let (stream, _) = accepted?;
                connections.spawn(one(stream, options.content.clone(), (t0, stop), Arc::clone(&report)));
            }
            Some(ended) = connections.join_next() => ended??,
            () = &mut stopped => break,
        }
    }
    while let Some(ended) = connections.join_next().await {
        ended??;
    }
    Ok(std::mem::take(&mut *report.lock().expect("no holder panics")))
}

async fn one(
    stream: TcpStream,
    content: Content,
    times: (Nanos, Nanos),
    sum: Arc<Mutex<SendReport>>,
) -> io::Result<()> {
    let mut own = SendReport::default();
    fill(stream, &content, times, Closing::Reset, &mut own).await?;
    sum.lock().expect("no holder panics").add(own);
    Ok(())
}
