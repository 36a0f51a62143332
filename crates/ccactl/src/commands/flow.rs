//! `ccactl __flow`: the built-in traffic of `bench`, started by it inside namespace and cgroup.

use anyhow::Result;
use ccactl_testbed::traffic::checked::EndOptions;
use ccactl_testbed::traffic::{self, RatePlan, ReceiveOptions, SendOptions, UdpSendOptions};
use std::net::{Ipv4Addr, SocketAddr};
use std::process::ExitCode;
use std::str::FromStr;

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
        /// Number of TCP ports
        ports: u16,
        /// Number of UDP ports, after those
        udp_ports: u16,
        /// Congestion control of a TCP port, INDEX=NAME
        #[arg(value_parser = pair::<u16, String>)]
        algorithms: Vec<(u16, String)>,
    },
    /// Sends paced UDP packets
    Udp {
        /// Receiver, ADDRESS:PORT
        to: SocketAddr,
        /// Stop in ns after the beginning of the run
        stop_ns: u64,
        /// Payload of a packet
        payload_bytes: usize,
        /// What the rates count per packet
        packet_bytes: u64,
        /// NS=BPS: a rate and its time after the beginning of the run
        #[arg(required = true, value_parser = pair::<u64, u64>)]
        steps: Vec<(u64, u64)>,
    },
    /// One end of many connections on which every byte is checked
    Checked {
        /// What to do, JSON
        #[arg(value_parser = checked_options)]
        options: EndOptions,
    },
}

fn checked_options(text: &str) -> Result<EndOptions, serde_json::Error> {
    serde_json::from_str(text)
}

fn pair<A: FromStr, B: FromStr>(text: &str) -> Result<(A, B), String> {
    text.split_once('=')
        .and_then(|(a, b)| Some((a.parse().ok()?, b.parse().ok()?)))
        .ok_or_else(|| format!("expected A=B, found {text:?}"))
}

pub fn run(args: Args) -> Result<ExitCode> {
    match args.end {
        End::Send { to, start_ns, stop_ns, bytes } => {
            traffic::sender::send(SendOptions { to, start_ns, stop_ns, bytes })?;
        }
        End::Receive { address, first_port, ports, udp_ports, algorithms } => {
            traffic::receiver::receive(ReceiveOptions { address, first_port, ports, udp_ports, algorithms })?;
        }
        End::Udp { to, stop_ns, payload_bytes, packet_bytes, steps } => {
            let plan = RatePlan::new(steps, stop_ns, packet_bytes);
            traffic::udp::send(UdpSendOptions { to, payload_bytes, plan })?;
        }
        End::Checked { options } => traffic::checked::end::run(options)?,
    }
    Ok(ExitCode::SUCCESS)
}
