//! `ccactl record`

use super::blackbox;
use super::filters::Filters;
use super::label::{self, Label};
use super::store::{self, Sending, Upload};
use crate::error::{Context, Result};
use ccactl_abi::exit;
use ccactl_collector::{
    Drops, Error, EventSet, Every, Output, Phase, Progress, RecordOptions, Recorder, Rotation, Summary, utc_compact,
};
use ccactl_host::capabilities::Capability;
use ccactl_host::units::{parse_bytes, parse_duration};
use ccactl_host::{errln, interrupt, name, outln, terminal};
use ccactl_loader::Paths;
use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;
use signal_hook::consts::SIGTERM;
use signal_hook::flag;
use std::borrow::Cow;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// After SIGTERM. Every command ends within 2 s of it; the rest of them is for detaching and for what is not ours.
const TIME_FOR_THE_FILE: Duration = Duration::from_secs(1);

#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    filters: Filters,
    /// Events beside the samples: all, none, or a list of open, close, retrans, ca_state, algorithm, rto, ecn
    #[arg(long, default_value = "all", value_name = "all|none|LIST")]
    events: EventSet,
    /// A row per ACK, per smoothed RTT, or per interval: ack, rtt, 10ms [default: ack, with --ring 500ms]
    #[arg(long, value_name = "ack|rtt|TIME")]
    every: Option<Every>,
    /// End by itself after this time, such as 150s; otherwise Ctrl-C ends the recording
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    duration: Option<Duration>,
    /// Parquet file, an Arrow IPC stream if it ends in .arrows, - for such a stream on standard output, or with --rotate a store:
    /// s3://BUCKET/PREFIX or file:///FOLDER [default: ccactl-TIME.parquet]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Record into the folder FILE, with a new part after each such time or size of its stream, such as 60s or 512MiB
    #[arg(long, value_name = "TIME|SIZE", requires = "output")]
    rotate: Option<Rotation>,
    /// Ring buffer between kernel and ccactl; rounded up to a power of two [default: 16MiB, with --ring 2MiB]
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes)]
    buffer: Option<u64>,
    /// Replace FILE, and what a killed recording to it left behind
    #[arg(long)]
    force: bool,
    /// Written into the recording, for who reads many; may be repeated
    #[arg(long, value_name = "KEY=VALUE")]
    label: Vec<Label>,
    #[command(flatten)]
    store: store::Args,
    #[command(flatten)]
    blackbox: blackbox::Args,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

pub fn run(args: Args) -> Result<ExitCode> {
    let signals = Signals::register().context("cannot handle signals")?;
    if let Some(before) = args.blackbox.ring() {
        if let Some(text) = args.output.as_deref().and_then(store::location_in) {
            return Err(crate::error::Error::Argument(format!(
                "-o {text}: --ring writes into a folder of this host, and --rotate into a store"
            )));
        }
        let folder = args.output.clone().expect("--ring requires --output");
        let mut options = options(&args, Output::Nowhere)?;
        options.every = args.every.unwrap_or(blackbox::EVERY);
        return blackbox::run(&args.blackbox, before, &folder, options, &signals.is_stopped, args.json);
    }
    let location = store::location_of(args.output.as_deref(), args.rotate.is_some(), args.force, &args.store)?;
    // What is wrong with the other arguments is told before a store is asked.
    let mut options = options(&args, Output::Nowhere)?;
    let upload = Upload::prepare(location, &args.store)?;
    options.output = match (&upload, args.rotate) {
        (Some(upload), Some(rotation)) => Output::Parts { folder: upload.folder(), rotation },
        _ => output(&args)?,
    };
    let needed = needed_rights(&options.output);
    // Without root, the recorder's own complaint says what is missing.
    if let Err(error) = ccactl_loader::mount_bpffs_if_missing(&Paths::from_env()) {
        tracing::debug!("{error}");
    }
    let recorder = Recorder::start_keeping(options, needed)?;
    let sending = upload.map(Upload::start).transpose()?;
    let summary = follow(recorder, &signals, sending.as_ref());
    // What was recorded before an error is sent as well.
    let Some(sent) = sending.map(|sending| sending.end(&signals)) else {
        print(&summary?, None, args.json)?;
        return Ok(ExitCode::SUCCESS);
    };
    if summary.is_err() && !args.json {
        sent.print();
    }
    let upload = args.json.then(|| serde_json::to_value(sent.json())).transpose()?;
    print(&summary?, Some((sent.location(), upload)), args.json)?;
    if !args.json {
        sent.print();
    }
    Ok(if sent.is_complete() { ExitCode::SUCCESS } else { ExitCode::from(exit::FAILURE) })
}

/// The first signal ends the recording, a second one while the file is being made ends ccactl.
pub struct Signals {
    is_stopped: Arc<AtomicBool>,
    /// By SIGTERM, whose sender waits: a service manager, or a host that is going down.
    is_terminated: Arc<AtomicBool>,
}

impl Signals {
    fn register() -> io::Result<Signals> {
        let is_terminated = Arc::new(AtomicBool::new(false));
        let is_stopped = interrupt::on_first_signal(exit::INTERRUPTED)?;
        flag::register(SIGTERM, Arc::clone(&is_terminated))?;
        Ok(Signals { is_stopped, is_terminated })
    }

    /// By any of them.
    pub fn is_stopped(&self) -> bool {
        self.is_stopped.load(Ordering::Relaxed)
    }

    /// By SIGTERM.
    pub fn is_terminated(&self) -> bool {
        self.is_terminated.load(Ordering::Relaxed)
    }
}

/// Reading the ring and the counts, detaching, and removing our own pins need no rights. Files may be in a folder of another
/// user, as in `sudo ccactl record -o ~/x.parquet`, and are made and renamed there until the end.
fn needed_rights(output: &Output) -> &'static [Capability] {
    match output {
        Output::File(_) | Output::Parts { .. } => &[Capability::CAP_DAC_OVERRIDE],
        Output::Stdout | Output::Nowhere => &[],
    }
}

fn output(args: &Args) -> Result<Output> {
    match &args.output {
        None => Ok(Output::File(PathBuf::from(format!("ccactl-{}.parquet", utc_compact())))),
        Some(path) if path == Path::new("-") => {
            if args.json {
                let reason = "and --json both want standard output: give only one of them";
                return Err(Error::Stdout { reason }.into());
            }
            if terminal::is_out() {
                let reason = "would write a binary stream to the terminal: pipe it, or name a file";
                return Err(Error::Stdout { reason }.into());
            }
            if args.rotate.is_some() {
                return Err(Error::Stdout { reason: "has no parts: --rotate needs a folder" }.into());
            }
            Ok(Output::Stdout)
        }
        Some(path) => Ok(match args.rotate {
            Some(rotation) => Output::Parts { folder: path.clone(), rotation },
            None => Output::File(path.clone()),
        }),
    }
}

fn options(args: &Args, output: Output) -> Result<RecordOptions> {
    let mut options = RecordOptions::new(output);
    args.filters.apply(&mut options)?;
    options.events = args.events;
    options.every = args.every.unwrap_or_default();
    options.duration = args.duration;
    options.force = args.force;
    options.metadata.labels = label::together(&args.label)?;
    // What does not fit is out of range as well, and the collector says so.
    let usual =
        if args.blackbox.ring().is_some() { blackbox::BUFFER_BYTES } else { RecordOptions::DEFAULT_BUFFER_BYTES };
    options.buffer_bytes = args.buffer.map_or(usual, |bytes| u32::try_from(bytes).unwrap_or(u32::MAX));
    Ok(options)
}

/// Shows the progress until the recording has ended by itself or by a signal.
fn follow(recorder: Recorder, signals: &Signals, sending: Option<&Sending>) -> Result<Summary> {
    let style = ProgressStyle::with_template("{spinner} {msg}").expect("the template is valid");
    // On standard error, and silent when that is not a terminal.
    let line = ProgressBar::new_spinner().with_style(style);
    super::bench_view::hide_if_unwanted(&line);
    let mut has_asked = false;
    while !recorder.is_finished() {
        if signals.is_stopped() && !has_asked {
            if signals.is_terminated() {
                recorder.request_stop_by(Instant::now() + TIME_FOR_THE_FILE);
            } else {
                recorder.request_stop();
            }
            has_asked = true;
        }
        let sent = sending.map(Sending::progress).unwrap_or_default();
        line.set_message(progress_text(&recorder.progress()) + &sent);
        line.tick();
        sleep(Duration::from_millis(50));
    }
    line.finish_and_clear();
    Ok(recorder.wait()?)
}

fn progress_text(progress: &Progress) -> String {
    if progress.phase == Phase::Finishing {
        return format!("writing {} rows", progress.rows);
    }
    let drops = progress.drops.total();
    format!(
        "{:.0} s · {} flows · {:.0} rows/s · {drops} drops",
        progress.elapsed.as_secs_f64(),
        progress.flows,
        progress.rows_per_s
    )
}

#[derive(Serialize)]
struct Report<'a> {
    path: Option<Cow<'a, str>>,
    rows: u64,
    flows: u64,
    drops: u64,
    drops_by_reason: Drops,
    half_closed_samples: bool,
    duration_us: u64,
    /// With a store in the place of a file.
    #[serde(skip_serializing_if = "Option::is_none")]
    upload: Option<serde_json::Value>,
}

/// `upload` is the address of a store, and what has become of the parts, for JSON.
fn print(summary: &Summary, upload: Option<(&str, Option<serde_json::Value>)>, json: bool) -> Result<()> {
    let drops = summary.drops.total();
    if json {
        let result = Report {
            path: upload
                .as_ref()
                .map(|(location, _)| (*location).into())
                .or(summary.path.as_deref().map(name::of_path)),
            rows: summary.rows,
            flows: summary.flows,
            drops,
            drops_by_reason: summary.drops,
            half_closed_samples: summary.has_half_closed_samples,
            duration_us: u64::try_from(summary.duration.as_micros()).unwrap_or(u64::MAX),
            upload: upload.as_ref().and_then(|(_, upload)| upload.clone()),
        };
        return super::output::json_line(&result);
    }
    let seconds = summary.duration.as_secs_f64();
    let line = format!("{} rows · {} flows · {drops} drops · {seconds:.1} s", summary.rows, summary.flows);
    match (&summary.path, &upload) {
        (_, Some((location, _))) => outln!("{line} · {location}"),
        (Some(path), None) => outln!("{line} · {}", path.display()),
        // Standard output carries the stream.
        (None, None) => errln!("{line}"),
    }
    let Drops { ring_full_samples, ring_full_events, no_storage } = summary.drops;
    if ring_full_samples + ring_full_events > 0 {
        errln!(
            "{ring_full_samples} samples and {ring_full_events} events were dropped because the ring buffer was full: a \
             larger --buffer or a rarer --every helps"
        );
    }
    if !summary.has_half_closed_samples {
        // Of each recording on such a kernel, and seldom of interest.
        tracing::info!(
            "this kernel shows no ACKs of sockets that one side has closed: of those there are events and totals only"
        );
    }
    if no_storage > 0 {
        errln!("{no_storage} rows were dropped because the kernel had no memory for the state of a socket");
    }
    Ok(())
}
