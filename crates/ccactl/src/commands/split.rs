//! `ccactl split`

use super::output;
use crate::error::{Context, Result};
use ccactl_abi::exit;
use ccactl_host::units::{parse_bytes, parse_duration};
use ccactl_host::{errln, interrupt, outln};
use ccactl_split::{Destination, Options, Proxy, Tally, Target};
use std::net::SocketAddr;
use std::process::ExitCode;
use std::time::Duration;

#[derive(clap::Args)]
#[command(group(clap::ArgGroup::new("destination").required(true)))]
pub struct Args {
    /// Address and port that clients connect to; port 0 is any. With --transparent it is where the listener is, for which no
    /// client asks
    #[arg(long, value_name = "ADDR:PORT")]
    listen: SocketAddr,
    /// Address and port of the server behind the proxy
    #[arg(long, value_name = "ADDR:PORT", group = "destination")]
    to: Option<SocketAddr>,
    /// Take connections to other hosts that are routed to this one, by prefix and port, such as 10.0.0.0/8:80 or
    /// [fd00::/64]:443; each goes on to where it was going
    #[arg(long, value_name = "PREFIX:PORT,…", value_delimiter = ',', group = "destination")]
    transparent: Vec<Target>,
    /// Algorithm of the legs to clients: a name of `ccactl list`, a file, the kernel name of a loaded one, or native:NAME
    #[arg(long, value_name = "ALGO")]
    client_algorithm: String,
    /// Algorithm of the legs to servers
    #[arg(long, value_name = "ALGO")]
    server_algorithm: String,
    /// Towards the server, come from the client's address: the way back has to lead through this host
    #[arg(long)]
    keep_client_address: bool,
    /// Offer clients a window with which the queue of their uplink stays near this delay, such as 50ms (rLEDBAT)
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    upload_target: Option<Duration>,
    /// Send and receive buffer of each socket [default: the kernel's autotuning]
    #[arg(long, value_name = "SIZE", value_parser = buffer)]
    buffer: Option<u32>,
    /// How long a server may take to answer
    #[arg(long, default_value = "10s", value_name = "TIME", value_parser = parse_duration)]
    connect_timeout: Duration,
    /// How long open connections may go on after SIGINT or SIGTERM; what is left is reset. A second signal ends it
    #[arg(long, default_value = "1s", value_name = "TIME", value_parser = parse_duration)]
    drain: Duration,
    /// End by itself after this time
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    duration: Option<Duration>,
    /// Print what it did as JSON
    #[arg(long)]
    json: bool,
}

pub fn run(args: Args) -> Result<ExitCode> {
    let options = Options {
        listen: args.listen,
        destination: args.to.map_or(Destination::Original(args.transparent), Destination::Server),
        client_algorithm: args.client_algorithm,
        server_algorithm: args.server_algorithm,
        keep_client_address: args.keep_client_address,
        upload_target: args.upload_target,
        buffer_bytes: args.buffer,
        connect_timeout: args.connect_timeout,
        drain: args.drain,
        duration: args.duration,
    };
    let stop = interrupt::on_signals().context("watch for SIGINT and SIGTERM")?;
    let tally = Proxy::claim(options)?.run(&stop, &mut |event| errln!("{event}"))?;
    if args.json {
        output::json(&tally)?;
    } else {
        print(&tally);
    }
    // Somebody asked for an algorithm, and a connection had another one.
    let is_true = tally.failures.other_algorithm == 0;
    Ok(ExitCode::from(if is_true { exit::OK } else { exit::FAILURE }))
}

fn print(tally: &Tally) {
    let Tally { connections, completed, peak, bytes_up, bytes_down, .. } = tally;
    outln!("{connections} connections, {peak} at a time; {completed} ended in order");
    outln!("{bytes_up} bytes to servers, {bytes_down} to clients");
    let mut others = tally.failures.named();
    others.extend(
        [
            ("reset by clients", tally.resets_by_client),
            ("reset by servers", tally.resets_by_server),
            ("reset at the end", tally.resets_at_end),
        ]
        .into_iter()
        .filter(|(_, count)| *count > 0),
    );
    if !others.is_empty() {
        let others: Vec<String> = others.iter().map(|(name, count)| format!("{count} {name}")).collect();
        outln!("others: {}", others.join(", "));
    }
}

/// The kernel rounds small ones up, and cuts what is beyond its limits.
fn buffer(text: &str) -> Result<u32, String> {
    let bytes = parse_bytes(text).map_err(|error| error.to_string())?;
    let expected = || "expected 4KiB to 1GiB".to_owned();
    u32::try_from(bytes).ok().filter(|bytes| (4096..=1 << 30).contains(bytes)).ok_or_else(expected)
}
