//! The recording of a simulated run: a stream beside it while it runs, then the Parquet file.

use crate::error::{Error, Result};
use ccactl_abi::layout::{EVENTS, Sample};
use ccactl_link::Nanos;
use ccactl_recording::write::rows::{self, Context};
use ccactl_recording::write::{Clock, KnownAlgorithm, Resolver, StreamEncoder, by_event_name, convert_stream};
use ccactl_recording::{DropReasons, Metadata};
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Virtual time begins with the epoch: the same run gives the same file.
pub const CLOCK: Clock = Clock { monotonic_ns: 0, unix_ns: 0 };

const BATCH_ROWS: usize = 32 * 1024;

/// The stream on disk; it goes with its owner, as it is of no use beside the recording or without the rest of a run.
struct Stream(PathBuf);

impl Drop for Stream {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_file(&self.0) {
            tracing::warn!("{}: not removed: {error}", self.0.display());
        }
    }
}

/// A recording that grows.
pub struct RecordingFile {
    target: PathBuf,
    out: File,
    stream: Stream,
    encoder: StreamEncoder,
    schema: arrow_schema::SchemaRef,
    context: Context,
    metadata: Metadata,
    waiting: Vec<Sample>,
    rows: u64,
    rows_by_event: [u64; EVENTS],
}

impl RecordingFile {
    /// Begins it; `known` are the algorithms behind the kernel names of its rows.
    pub fn create(target: &Path, metadata: Metadata, known: Vec<KnownAlgorithm>) -> Result<RecordingFile> {
        let path = target.with_extension("arrows");
        let resolve: Resolver = Arc::new(move |name| known.iter().find(|of| of.kernel_name == name).cloned());
        let schema = rows::schema(&metadata.to_pairs());
        let (encoder, header) = StreamEncoder::new(&schema);
        let mut out = File::create(&path).map_err(output(&path))?;
        let stream = Stream(path);
        out.write_all(&header).map_err(output(&stream.0))?;
        Ok(RecordingFile {
            target: target.to_owned(),
            out,
            stream,
            encoder,
            schema,
            context: Context::new(CLOCK, resolve),
            metadata,
            waiting: Vec::with_capacity(BATCH_ROWS),
            rows: 0,
            rows_by_event: [0; EVENTS],
        })
    }

    /// Adds a row; they come in the order of time.
    pub fn push(&mut self, row: Sample) -> Result<()> {
        self.rows += 1;
        self.rows_by_event[usize::from(row.event) % EVENTS] += 1;
        self.waiting.push(row);
        if self.waiting.len() == BATCH_ROWS { self.flush() } else { Ok(()) }
    }

    /// Rows so far.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    fn flush(&mut self) -> Result<()> {
        self.context.learn(&self.waiting);
        let batch = rows::batch(&self.schema, &self.waiting, &self.context);
        self.waiting.clear();
        self.out.write_all(&self.encoder.batch(&batch)).map_err(output(&self.stream.0))
    }

    /// Completes it, after a run of that length; the number of rows.
    pub fn finish(mut self, duration_ns: Nanos) -> Result<u64> {
        self.flush()?;
        self.out.write_all(&self.encoder.end()).map_err(output(&self.stream.0))?;
        let metadata = Metadata {
            algorithms: Some(self.context.known().map(Into::into).collect()),
            duration_us: Some(duration_ns / 1000),
            rows: Some(self.rows),
            rows_by_event: Some(by_event_name(&self.rows_by_event)),
            drops: Some(0),
            drops_by_reason: Some(DropReasons::default()),
            ..self.metadata
        };
        let converted = convert_stream(&self.stream.0, &self.target, &metadata.to_pairs(), true);
        converted.map_err(|reason| Error::Output { path: self.target, cause: io::Error::other(reason) })?;
        Ok(self.rows)
    }
}

fn output(path: &Path) -> impl FnOnce(io::Error) -> Error {
    let path = path.to_owned();
    move |cause| Error::Output { path, cause }
}
