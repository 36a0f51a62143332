//! `ccactl __flow`: the built-in traffic of `bench`, started by it inside namespace and cgroup.

use anyhow::Result;
use ccactl_testbed::traffic::{self, ReceiveOptions, SendOptions};
use std::net::{Ipv4Addr, SocketAddr};
use std::process::ExitCode;

#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    end: End,
}

#[derive(clap::Subcommand)]
enum End {
    /// Sends as much as TCP takes
    Send {
        /// Receiver, ADDRESS:PORT
        to: SocketAddr,
        /// Start in ns after the beginning of the run
        start_ns: u64,
        /// Stop in ns after the beginning of the run
        stop_ns: u64,
        /// Payload; endless when absent
        bytes: Option<u64>,
    },
    /// Takes everything on a range of ports
    Receive {
        /// Address to listen on
        address: Ipv4Addr,
        /// First port
        first_port: u16,
        /// Number of ports
        ports: u16,
    },
}

pub fn run(args: Args) -> Result<ExitCode> {
    match args.end {
        End::Send { to, start_ns, stop_ns, bytes } => {
            traffic::sender::send(SendOptions { to, start_ns, stop_ns, bytes })?;
        }
        End::Receive { address, first_port, ports } => {
            traffic::receiver::receive(ReceiveOptions { address, first_port, ports })?;
        }
    }
    Ok(ExitCode::SUCCESS)
}
