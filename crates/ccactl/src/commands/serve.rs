//! `ccactl serve`

use super::filters::Filters;
use crate::error::{Error, Result};
use ccactl_collector::{Every, Output, RecordOptions};
use ccactl_host::units::{duration_text, parse_duration};
use ccactl_host::{errln, terminal};
use ccactl_loader::Paths;
use ccactl_observe::http::Address;
use ccactl_observe::serve::{self, Assets, Options, Token};
use ccactl_report::html::{LivePage, live_page};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

#[derive(clap::Args)]
pub struct Args {
    /// Address and port to answer on, or unix:PATH
    #[arg(long, default_value = "127.0.0.1:9098", value_name = "ADDR:PORT|unix:PATH")]
    listen: Address,
    #[command(flatten)]
    filters: Filters,
    /// A socket is looked at with every ACK, per smoothed RTT, or per interval: ack, rtt, 500ms
    #[arg(long, default_value = "500ms", value_name = "ack|rtt|TIME")]
    every: Every,
    /// Rates and percentiles are over this time, and come this often
    #[arg(long, default_value = "1s", value_name = "TIME", value_parser = parse_duration)]
    interval: Duration,
    /// Folder of benches, suites and recordings' pages to browse; may be repeated. That of canaries is always there
    #[arg(long, value_name = "DIR")]
    results: Vec<PathBuf>,
    /// A name by which browsers call this host, beside its address; may be repeated
    #[arg(long, value_name = "NAME")]
    host: Vec<String>,
}

/// Figures that come faster than people read cost more than they say.
const LEAST_INTERVAL: Duration = Duration::from_millis(100);

pub fn run(args: Args) -> Result<ExitCode> {
    if args.interval < LEAST_INTERVAL {
        let found = duration_text(args.interval);
        return Err(Error::Argument(format!("--interval: expected 100ms or more, found {found}")));
    }
    let mut record = RecordOptions::new(Output::Nowhere);
    args.filters.apply(&mut record)?;
    record.every = args.every;
    // Without root, the recorder's own complaint says what is missing.
    if let Err(error) = ccactl_loader::mount_bpffs_if_missing(&Paths::from_env()) {
        tracing::debug!("{error}");
    }
    let options =
        Options { hosts: args.host, results: args.results, interval: args.interval, filter: args.filters.text() };
    let LivePage { html, style, script } = live_page();
    let on_ready = |address: &Address, token: &Token| match address {
        Address::Tcp(address) => {
            errln!("live page: http://{address}/{}/", token.page());
            if !address.ip().is_loopback() {
                terminal::note("not only this host can reach it, and what is sent is not encrypted: put TLS in front");
            }
        }
        Address::Unix(_) => errln!("live page: on {address}, path /{}/", token.page()),
    };
    serve::run(&args.listen, record, options, Assets { html, style, script }, on_ready)?;
    Ok(ExitCode::SUCCESS)
}
