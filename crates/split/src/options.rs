//! What a proxy is asked to do.

use crate::target::Target;
use std::fmt;
use std::net::SocketAddr;
use std::time::Duration;

/// Where the server legs go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Destination {
    /// All to one server.
    Server(SocketAddr),
    /// Each to where its client was going; only connections to these targets are taken.
    Original(Vec<Target>),
}

/// A proxy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// Where clients connect, and where a transparent proxy's listener is; port 0 is any.
    pub listen: SocketAddr,
    /// Where the server legs go.
    pub destination: Destination,
    /// Algorithm of the client legs, as [`HeldAlgorithm::find`](ccactl_loader::HeldAlgorithm::find) takes it.
    pub client_algorithm: String,
    /// Algorithm of the server legs.
    pub server_algorithm: String,
    /// Towards the server, come from the client's address.
    pub keep_client_address: bool,
    /// Bound what clients may send so that the queue of their uplink stays near this delay.
    pub upload_target: Option<Duration>,
    /// Send and receive buffer of each socket, bytes; `None` leaves them to the kernel's autotuning.
    pub buffer_bytes: Option<u32>,
    /// How long a server may take to answer.
    pub connect_timeout: Duration,
    /// How long open connections may go on after the first signal or `duration`; what is left is reset.
    pub drain: Duration,
    /// End by itself after this time.
    pub duration: Option<Duration>,
}

impl fmt::Display for Destination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Server(server) => write!(f, "{server}"),
            Self::Original(targets) => {
                f.write_str("where they were going: ")?;
                let targets: Vec<String> = targets.iter().map(Target::to_string).collect();
                f.write_str(&targets.join(", "))
            }
        }
    }
}
