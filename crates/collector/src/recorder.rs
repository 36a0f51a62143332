//! One recording from its start to its file.

use crate::deadline::Deadline;
use crate::error::{Error, Result};
use crate::feed::{Feed, Meter};
use crate::host;
use crate::metadata;
use crate::options::{Every, Output, RecordOptions};
use crate::output::Target;
use crate::owner::Owner;
use crate::probe::{Probe, Ring};
use crate::progress::Progress;
use crate::rotate::{End, Parts};
use crate::writer::{Sink, Writer, Written};
use ccactl_abi::layout::{NAME_LEN, name_bytes};
use ccactl_host::state::Presence;
use ccactl_recording::metadata::{AlgorithmInfo, Canary, DropReasons, Metadata};
use ccactl_recording::write::rows::{self, Context};
use ccactl_recording::write::{Clock, KnownAlgorithm, Resolver, by_event_name};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::sync_channel;
use std::time::{Duration, Instant};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::sync::{mpsc, watch};
use tokio::task::spawn_blocking;

/// Chunks that wait for the writer at most; then the ring fills, and then rows are dropped and counted.
const CHUNKS_IN_FLIGHT: usize = 16;

/// What a recording has become.
#[derive(Debug, Clone, PartialEq)]
pub struct Summary {
    /// Rows in the recording.
    pub rows: u64,
    /// Sockets with a row.
    pub flows: u64,
    /// Rows lost.
    pub drops: DropReasons,
    /// When the recording began: its times count from then.
    pub clock: Clock,
    /// From the attachment to the detachment.
    pub duration: Duration,
    /// Whether the kernel has shown the segments of sockets that one side had closed already. If not there are no samples
    /// of them, and their last ACK counts as the one that delivered the last payload.
    pub has_half_closed_samples: bool,
    /// The file, if there is one.
    pub path: Option<PathBuf>,
}

/// Records until `stop` holds `true` (or its sender is gone), the duration is over, or writing fails.
///
/// # Errors
/// [`Error`]; rows that were written before the error are kept and named in it.
pub async fn record(
    options: RecordOptions,
    stop: watch::Receiver<bool>,
    progress: watch::Sender<Progress>,
) -> Result<Summary> {
    Recording::attach(options, &Deadline::default())?.run(stop, progress).await
}

/// A recording whose programs are attached.
///
/// The order of the fields is the order in which an unwinding drops them: detach first, then give the host's state back.
pub(crate) struct Recording {
    probe: Probe,
    ring: Ring,
    presence: Presence,
    target: Option<Target>,
    /// None when the rows go nowhere but to the tap.
    writer: Option<Writer>,
    options: RecordOptions,
    metadata: Metadata,
    clock: Clock,
    attached: Instant,
    end_by: Deadline,
}

impl Recording {
    /// Checks everything that can be wrong, claims the file, and attaches last: an error leaves nothing behind.
    pub(crate) fn attach(options: RecordOptions, end_by: &Deadline) -> Result<Recording> {
        check(&options)?;
        let owner = options.pid.map(Owner::find).transpose()?;
        let mut target = match &options.output {
            Output::File(path) => Some(Target::claim(path, options.force)?),
            Output::Parts { .. } | Output::Stdout | Output::Nowhere => None,
        };
        let mut parts = match &options.output {
            Output::Parts { folder, rotation } => Some(Parts::claim(folder, *rotation, end_by)?),
            Output::File(_) | Output::Stdout | Output::Nowhere => None,
        };
        host::preflight()?;
        let (presence, (mut probe, ring)) =
            host::enter(&options.bpffs, |pin| Probe::load(&options.config(), options.ring_bytes(), pin))?;

        // Before the first row can come; those that come before the header is written wait in the ring.
        let clock = Clock::now();
        probe.attach()?;
        if let Some(owner) = owner {
            probe.adopt(&owner)?;
        }
        let metadata = metadata::at_start(&options, &clock, probe.sees_half_closed());
        let first = parts.as_mut().map_or_else(|| metadata.clone(), |parts| parts.begin(&metadata, clock));
        let sink = match (&target, &parts) {
            (Some(target), _) => Some((Sink::File(target.stream_file()?, 0), target.stream_path().to_owned())),
            (_, Some(parts)) => Some((Sink::File(parts.stream_file()?, 0), parts.folder().to_owned())),
            _ if options.output == Output::Nowhere => None,
            _ => Some((Sink::Stdout, PathBuf::from("standard output"))),
        };
        let start = |(sink, path)| {
            let context = Context::new(clock, resolver(&options));
            Writer::start(rows::schema(&first.to_pairs()), context, sink, path, parts)
        };
        let writer = sink.map(start).transpose()?;
        if let Some(target) = &mut target {
            target.keep_stream();
        }
        Ok(Recording {
            probe,
            ring,
            presence,
            target,
            writer,
            options,
            metadata,
            clock,
            attached: Instant::now(),
            end_by: end_by.clone(),
        })
    }

    /// Records until told to stop, then makes the file.
    pub(crate) async fn run(self, stop: watch::Receiver<bool>, progress: watch::Sender<Progress>) -> Result<Summary> {
        let Recording { probe, ring, presence, target, writer, options, metadata, clock, attached, end_by } = self;
        // SAFETY: the ring owns its map's descriptor, always gives the same one, and closes it only in its own drop.
        let ring = unsafe { AsyncFd::register_with_interest(ring, Interest::READABLE) }
            .map_err(|error| Error::Bpf { doing: "poll the ring buffer", reason: error.to_string() })?;
        let (spent, spare) = sync_channel(CHUNKS_IN_FLIGHT);
        let (sender, writer) = match writer {
            Some(writer) => {
                let (sender, receiver) = mpsc::channel(CHUNKS_IN_FLIGHT);
                (Some(sender), Some(spawn_blocking(move || writer.run(receiver, &spent))))
            }
            None => (None, None),
        };

        let mut feed = Feed::new(ring, sender, options.output == Output::Stdout, spare, options.tap.clone());
        let mut meter = Meter::new(attached, progress);
        let deadline = options.duration.map(|duration| attached + duration);
        feed.pump(probe.counts(), stop, deadline, &mut meter).await;

        let has_half_closed_samples = probe.sees_half_closed();
        let counts = probe.detach();
        let duration = attached.elapsed();
        meter.finishing();
        let rows = feed.finish(&counts).await;
        let written = match writer {
            Some(writer) => Some(writer.await.expect("the writer does not panic")),
            None => None,
        };
        let (flows, drops) = (counts.flows(), counts.drops());
        drop(presence);

        let Some(mut written) = written.transpose()? else {
            return Ok(Summary { rows, flows, drops, clock, duration, has_half_closed_samples, path: None });
        };
        let rows = written.rows;
        let duration_us = u64::try_from(duration.as_micros()).unwrap_or(u64::MAX);
        let decided_us = options.decided_ns.get().map(|&ns| clock.elapsed_us(ns));
        let metadata = Metadata {
            algorithms: Some(algorithms(&options, &written.context)),
            duration_us: Some(duration_us),
            rows: Some(rows),
            rows_by_event: Some(by_event_name(&written.rows_by_event)),
            drops: Some(drops.total()),
            drops_by_reason: Some(drops),
            canary: metadata.canary.map(|canary| Canary { decided_us, ..canary }),
            ..metadata
        };
        let path = match (target, written.parts.take()) {
            (Some(target), _) => {
                let file = spawn_blocking(move || make_file(target, &metadata, &written, &end_by));
                Some(file.await.expect("the conversion does not panic")?)
            }
            (None, Some(parts)) => {
                let end = End { duration_us, drops: drops.total(), is_sorted: written.is_sorted };
                let folder = spawn_blocking(move || parts.finish(metadata, end));
                Some(folder.await.expect("the conversion does not panic")?)
            }
            (None, None) => None,
        };
        Ok(Summary { rows, flows, drops, clock, duration, has_half_closed_samples, path })
    }
}

/// Turns the complete stream into what was asked for.
fn make_file(target: Target, metadata: &Metadata, written: &Written, end_by: &Deadline) -> Result<PathBuf> {
    let path = target.path().to_owned();
    let stream = target.stream_path().to_owned();
    let made = if target.is_stream() {
        target.rename_stream().map_err(|error| error.to_string())
    } else {
        target.convert_stream(metadata, written.is_sorted, end_by)
    };
    match made {
        Ok(()) => {
            target.remove_stream();
            Ok(path)
        }
        Err(reason) => Err(Error::Convert { path, stream, rows: written.rows, reason }),
    }
}

fn check(options: &RecordOptions) -> Result<()> {
    let bytes = options.buffer_bytes;
    if !(RecordOptions::MIN_BUFFER_BYTES..=RecordOptions::MAX_BUFFER_BYTES).contains(&bytes) {
        let expected =
            format!("{} bytes to {} MiB", RecordOptions::MIN_BUFFER_BYTES, RecordOptions::MAX_BUFFER_BYTES >> 20);
        return Err(Error::Option { option: "--buffer", found: format!("{bytes} bytes"), expected });
    }
    if let Every::Interval(interval) = options.every
        && !(Duration::from_micros(1)..=Duration::from_secs(3600)).contains(&interval)
    {
        let expected = "1us to 1h".to_owned();
        return Err(Error::Option { option: "--every", found: options.every.to_string(), expected });
    }
    if let Some(name) = &options.algorithm
        && (name.is_empty() || name_bytes::<NAME_LEN>(name).is_none())
    {
        let expected = format!("a kernel name of at most {} bytes", NAME_LEN - 1);
        return Err(Error::Option { option: "--algorithm", found: format!("{name:?}"), expected });
    }
    Ok(())
}

/// The algorithms that the caller knows to be loaded, before its resolver is asked.
pub(crate) fn resolver(options: &RecordOptions) -> Resolver {
    let loaded = options.loaded.clone();
    let resolve = Arc::clone(&options.resolve);
    Arc::new(move |name| loaded.iter().find(|known| known.kernel_name == name).cloned().or_else(|| resolve(name)))
}

/// Algorithms loaded at the start or seen in a row.
pub(crate) fn algorithms(options: &RecordOptions, context: &Context) -> Vec<AlgorithmInfo> {
    let is_loaded = |known: &&KnownAlgorithm| options.loaded.iter().any(|l| l.kernel_name == known.kernel_name);
    let seen = context.known().filter(|known| !is_loaded(known));
    metadata::algorithms(options.loaded.iter().chain(seen), context.unknown())
}
