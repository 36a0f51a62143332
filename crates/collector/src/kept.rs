//! A recording of rows that somebody has kept in memory.

use crate::deadline::Deadline;
use crate::error::{Error, Result};
use crate::metadata;
use crate::options::RecordOptions;
use crate::output::Target;
use crate::recorder::{algorithms, resolver};
use crate::writer::Sink;
use ccactl_abi::layout::{EVENTS, Sample};
use ccactl_recording::metadata::Metadata;
use ccactl_recording::write::rows::{self, Context};
use ccactl_recording::write::{Clock, StreamEncoder, by_event_name};
use std::path::Path;

/// Writes the rows, which are in order of time, into a Parquet file that does not exist yet; its size in bytes. The recording
/// begins with its first row. `options` are those of the recorder that took the rows.
///
/// # Errors
/// [`Error::Exists`], [`Error::Target`], [`Error::Write`] and [`Error::Convert`].
pub fn write_rows(path: &Path, options: &RecordOptions, metadata: Metadata, rows: Vec<Sample>) -> Result<u64> {
    let mut target = Target::claim(path, false)?;
    let now = Clock::now();
    let begin_ns = rows.first().map_or(now.monotonic_ns, |row| row.time_ns);
    let clock = Clock {
        monotonic_ns: begin_ns,
        unix_ns: now.unix_ns.saturating_sub(now.monotonic_ns.saturating_sub(begin_ns)),
    };
    let options = RecordOptions { metadata, ..options.clone() };
    // Whether the kernel shows sockets that one side has closed is the recorder's to know.
    let metadata = Metadata { half_closed_samples: None, ..metadata::at_start(&options, &clock, false) };
    let mut context = Context::new(clock, resolver(&options));
    context.learn(&rows);
    let schema = rows::schema(&metadata.to_pairs());
    let (mut encoder, header) = StreamEncoder::new(&schema);
    let mut sink = Sink::File(target.stream_file()?, 0);
    let failed = |cause| Error::Write { path: path.to_owned(), rows: 0, cause };
    sink.append(&header).map_err(failed)?;
    sink.append(&encoder.batch(&rows::batch(&schema, &rows, &context))).map_err(failed)?;
    sink.append(&encoder.end()).map_err(failed)?;
    target.keep_stream();

    let mut by_event = [0; EVENTS];
    rows.iter().for_each(|row| by_event[usize::from(row.event) % EVENTS] += 1);
    let lost_at = |row: Option<&Sample>| row.map_or(0, |row| row.dropped_rows);
    let metadata = Metadata {
        // Those that these rows know of; by reason only the recorder knows.
        drops: Some(lost_at(rows.last()).saturating_sub(lost_at(rows.first()))),
        algorithms: Some(algorithms(&options, &context)),
        duration_us: Some(rows.last().map_or(0, |row| clock.elapsed_us(row.time_ns))),
        rows: Some(rows.len() as u64),
        rows_by_event: Some(by_event_name(&by_event)),
        ..metadata
    };
    let (stream, count) = (target.stream_path().to_owned(), rows.len() as u64);
    drop(rows);
    target.convert_stream(&metadata, true, &Deadline::default()).map_err(|reason| Error::Convert {
        path: path.to_owned(),
        stream,
        rows: count,
        reason,
    })?;
    target.remove_stream();
    std::fs::metadata(path).map(|file| file.len()).map_err(failed)
}
