//! A proxy on the path of the flows, which takes their connections without either end's knowledge. It runs until the bench closes
//! its standard input.

use super::protocol::{line_reader, say};
use super::{FIRST_PORT, READY};
use ccactl_split::{Destination, Event, Options, Proxy, Target};
use serde::{Deserialize, Serialize};
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How long a connection to the server may take to open: a queue of seconds and lost SYNs are no fault of the proxy's.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(60);
/// At the end the flows have been reset already.
const DRAIN: Duration = Duration::from_millis(100);

/// What to split.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ProxyOptions {
    /// The server whose connections are taken.
    pub server: Ipv4Addr,
    /// Ports from the first one on.
    pub ports: u16,
    /// See [`Options::client_algorithm`].
    pub client_algorithm: String,
    /// See [`Options::server_algorithm`].
    pub server_algorithm: String,
    /// See [`Options::upload_target`].
    pub upload_target: Option<Duration>,
}

/// Runs the proxy; standard input and output belong to the bench.
///
/// # Errors
/// What the proxy cannot get, or that the bench is gone.
pub fn run(options: ProxyOptions) -> io::Result<()> {
    let target = |port: u16| Target::new(options.server.into(), FIRST_PORT + port);
    let proxy = Proxy::claim(Options {
        listen: SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0)),
        destination: Destination::Original((0..options.ports).map(target).collect()),
        client_algorithm: options.client_algorithm,
        server_algorithm: options.server_algorithm,
        keep_client_address: true,
        upload_target: options.upload_target,
        buffer_bytes: None,
        connect_timeout: CONNECT_TIMEOUT,
        drain: DRAIN,
        duration: None,
    })
    .map_err(io::Error::other)?;
    let stop = Arc::new(AtomicBool::new(false));
    let stopped = Arc::clone(&stop);
    let lines = line_reader();
    std::thread::spawn(move || {
        // The beginning of the run is no news to it.
        while lines.recv().is_ok() {}
        stopped.store(true, Ordering::Relaxed);
    });
    let tally = proxy.run(&stop, &mut |event| match event {
        // A bench that is gone is noticed by its input.
        Event::Ready { .. } => drop(say(READY)),
        // All flows end before it.
        Event::Draining { .. } => {}
        other => tracing::warn!("{other}"),
    });
    say(&serde_json::to_string(&tally.map_err(io::Error::other)?)?)
}
