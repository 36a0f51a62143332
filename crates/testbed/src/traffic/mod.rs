//! Built-in traffic: transfers over TCP in either direction, paced UDP, and checked streams on thousands of connections. The ends are
//! child processes of a bench, started as `ccactl __flow END`, with an [`End`] in JSON.
//!
//! | | opens the connection | is connected to |
//! |---|---|---|
//! | sends | [`sender`] | [`server`] |
//! | receives | [`client`] | [`receiver`] |
//!
//! A [`proxy`] may stand between them. [`loopback`] is apart: one connection of a process to itself.
//!
//! A child says `ready` on its standard output, waits for `go T0` on its standard input (`CLOCK_MONOTONIC` in
//! ns, to which all its times are relative) and, at the end, prints one line of JSON. A receiver ends when its
//! standard input does. [`checked`] has words of its own.

mod application;
pub mod checked;
pub mod client;
pub mod loopback;
mod protocol;
pub mod proxy;
pub mod receiver;
pub mod sender;
pub mod server;
pub mod supply;
pub mod transfer;
pub mod udp;

pub use application::Application;
pub use client::{FetchOptions, FetchReport};
pub use loopback::{Looped, over_loopback};
pub use protocol::READY;
pub use proxy::ProxyOptions;
pub use receiver::{Arrival, ReceiveOptions, ReceiveReport, UdpCount};
pub use sender::{Closing, SendOptions, SendReport};
pub use server::ServeOptions;
pub use supply::Supply;
pub use transfer::{Algorithms, Content, Protocol, Schedule, Transfer};
pub use udp::{RatePlan, UdpSendOptions, UdpSendReport};

use crate::host::priority;
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::io;
use std::path::Path;

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
    /// Takes connections on their way.
    Proxy(ProxyOptions),
    /// One end of many connections on which every byte is checked.
    Checked(checked::EndOptions),
}

impl End {
    /// The command line that runs it; `program` is the `ccactl` binary.
    #[must_use]
    pub fn words(&self, program: &Path) -> [OsString; 3] {
        let json = serde_json::to_string(self).expect("plain data");
        [program.into(), "__flow".into(), json.into()]
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
            End::Proxy(options) => proxy::run(options),
            End::Checked(options) => checked::end::run(options),
        }
    }
}

/// First port of the receiver; flow `i` goes to this port + `i`, UDP source `j` to the UDP port that follows the flows'.
pub const FIRST_PORT: u16 = 5201;
