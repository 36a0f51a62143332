//! `ccactl exporter`

use super::filters::Filters;
use crate::error::{Context, Result};
use ccactl_collector::{Every, Output, RecordOptions};
use ccactl_host::errln;
use ccactl_host::units::{parse_bytes, parse_duration};
use ccactl_loader::Paths;
use ccactl_observe::http::Address;
use ccactl_observe::metrics::{Bounds, Buckets, Options};
use std::process::ExitCode;
use std::time::Duration;

#[derive(clap::Args)]
pub struct Args {
    /// Address and port to answer scrapes on, such as `[::]:9097` for every address of the host, or unix:PATH
    #[arg(long, default_value = "127.0.0.1:9097", value_name = "ADDR:PORT|unix:PATH")]
    listen: Address,
    #[command(flatten)]
    filters: Filters,
    /// How often a socket is looked at while it delivers data, which is one value in the histograms: ack, rtt, 100ms
    #[arg(long, default_value = "100ms", value_name = "ack|rtt|TIME")]
    every: Every,
    /// Combinations of cgroup, algorithm and namespace with series of their own; all others are counted as "other"
    #[arg(long, default_value_t = Options::DEFAULT_LABEL_SETS, value_name = "N", value_parser = label_sets)]
    max_series: usize,
    /// Cut the paths of cgroups to their first N names, and count what lies below together
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    cgroup_depth: Option<u16>,
    /// Bounds of the RTT histogram, ascending, such as 1ms,10ms,100ms [default: 30 from 20us to 5s]
    #[arg(long, value_name = "TIME,…", value_parser = parse_duration, value_delimiter = ',')]
    rtt_buckets: Vec<Duration>,
    /// Bounds of the window histogram in segments, ascending [default: 1, 2, 4 … 16384]
    #[arg(long, value_name = "N,…", value_delimiter = ',')]
    cwnd_buckets: Vec<u64>,
    /// Bounds of the completion time histogram, ascending [default: 22 from 100us to 1000s]
    #[arg(long, value_name = "TIME,…", value_parser = parse_duration, value_delimiter = ',')]
    completion_buckets: Vec<Duration>,
    /// Let the kernel measure the run time of BPF programs, and show that of the recorder's; costs all BPF programs of the host
    #[arg(long)]
    bpf_stats: bool,
    /// Ring buffer between kernel and ccactl; rounded up to a power of two
    #[arg(long, default_value = "16MiB", value_name = "SIZE", value_parser = parse_bytes)]
    buffer: u64,
}

pub fn run(args: Args) -> Result<ExitCode> {
    let options = Options {
        buckets: buckets(&args)?,
        max_label_sets: args.max_series,
        cgroup_depth: args.cgroup_depth.map(usize::from),
        bpf_stats: args.bpf_stats,
    };
    let mut record = RecordOptions::new(Output::Nowhere);
    args.filters.apply(&mut record)?;
    record.every = args.every;
    // What does not fit is out of range as well, and the collector says so.
    record.buffer_bytes = u32::try_from(args.buffer).unwrap_or(u32::MAX);
    // Without root, the recorder's own complaint says what is missing.
    if let Err(error) = ccactl_loader::mount_bpffs_if_missing(&Paths::from_env()) {
        tracing::debug!("{error}");
    }
    let on_ready = |address: &Address| match address {
        Address::Tcp(address) => errln!("metrics on http://{address}/metrics"),
        Address::Unix(_) => errln!("metrics on {address}, path /metrics"),
    };
    ccactl_observe::metrics::run(&args.listen, record, options, on_ready)?;
    Ok(ExitCode::SUCCESS)
}

fn label_sets(text: &str) -> Result<usize, String> {
    let expected = || "expected a number from 1 to 100000".to_owned();
    text.parse().ok().filter(|count| (1..=100_000).contains(count)).ok_or_else(expected)
}

/// What was not given keeps its default.
fn buckets(args: &Args) -> Result<Buckets> {
    let mut buckets = Buckets::default();
    if !args.rtt_buckets.is_empty() {
        buckets.rtt = Bounds::of_times(&args.rtt_buckets).context("--rtt-buckets")?;
    }
    if !args.cwnd_buckets.is_empty() {
        buckets.cwnd = Bounds::of_counts(&args.cwnd_buckets).context("--cwnd-buckets")?;
    }
    if !args.completion_buckets.is_empty() {
        buckets.completion = Bounds::of_times(&args.completion_buckets).context("--completion-buckets")?;
    }
    Ok(buckets)
}
