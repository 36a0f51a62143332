//! A recording in parts: each is complete, and readable by itself, as soon as it is closed.
//!
//! While one part is recorded, a thread of low priority makes Parquet files of the parts that were closed before. It works
//! from their streams on disk, so a conversion that is slower than the recording costs disk and no memory, and no row waits
//! for it. When [`MOST_WAITING`] streams wait, the part that is being written is not closed but grows until one of them is
//! done.

use crate::deadline::Deadline;
use crate::error::{Error, Result};
use crate::output::Target;
use ccactl_abi::layout::{EVENTS, Sample};
use ccactl_host::output::{self, Folder};
use ccactl_host::units::{parse_bytes, parse_duration};
use ccactl_recording::Metadata;
use ccactl_recording::names::part_path;
use ccactl_recording::write::{Clock, by_event_name, rfc3339};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread::{self, JoinHandle};
use std::time::Duration;
use thiserror::Error as ThisError;

/// Closed streams that wait for their conversion at most.
const MOST_WAITING: usize = 16;
/// Lowest priority that a thread can have.
const NICE: i32 = 19;

/// When a part is closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rotation {
    /// After this time.
    Time(Duration),
    /// When its stream has reached this size; the Parquet file is about a twentieth of it.
    Bytes(u64),
}

/// Neither a time nor a size.
#[derive(Debug, Clone, PartialEq, Eq, ThisError)]
#[error("expected a time of at least 1s, such as 60s, or a size of at least 1MiB, such as 512MiB")]
pub struct RotationError;

impl FromStr for Rotation {
    type Err = RotationError;

    fn from_str(text: &str) -> std::result::Result<Rotation, RotationError> {
        if let Ok(time) = parse_duration(text) {
            return if time >= Duration::from_secs(1) { Ok(Rotation::Time(time)) } else { Err(RotationError) };
        }
        let bytes = parse_bytes(text).ok().filter(|&bytes| bytes >= 1 << 20);
        bytes.map(Rotation::Bytes).ok_or(RotationError)
    }
}

/// What is counted in one part.
#[derive(Debug, Clone, Default)]
struct PartCounts {
    rows: u64,
    rows_by_event: [u64; EVENTS],
    /// Rows that were lost while it was written.
    drops: u64,
    duration_us: u64,
}

/// The parts of one recording: the one that is being written, and who converts the others.
pub(crate) struct Parts {
    folder: PathBuf,
    rotation: Rotation,
    /// Shared by all parts.
    dataset: String,
    /// When the recording began: the times of the parts count from then.
    clock: Clock,
    /// What every part says at its beginning.
    start: Metadata,
    number: u32,
    target: Target,
    counts: PartCounts,
    /// When the part began, µs since the start of the recording.
    began_us: u64,
    /// Rows lost before the part began.
    lost_before: u64,
    lost: u64,
    last_us: u64,
    converter: Converter,
}

impl Parts {
    /// Makes the folder, with what is missing of the way to it, and claims the first part in it.
    pub(crate) fn claim(folder: &Path, rotation: Rotation, deadline: &Deadline) -> Result<Parts> {
        let not_empty = || Error::NotEmpty { path: folder.to_owned() };
        let made = Folder::make(folder).map_err(|error| match error {
            output::Error::Io(cause) if cause.kind() == io::ErrorKind::NotADirectory => not_empty(),
            error => Error::output(folder)(error),
        })?;
        let mut names = fs::read_dir(made.reach()).map_err(|cause| Error::Target { path: folder.to_owned(), cause })?;
        if names.next().is_some() {
            return Err(not_empty());
        }
        let target = Target::claim(&part_path(folder, 0), false)?;
        Ok(Parts {
            folder: folder.to_owned(),
            rotation,
            dataset: String::new(),
            clock: Clock::now(),
            start: Metadata::default(),
            number: 0,
            target,
            counts: PartCounts::default(),
            began_us: 0,
            lost_before: 0,
            lost: 0,
            last_us: 0,
            converter: Converter::new(deadline.clone()),
        })
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Says what the parts begin with; the metadata of the first part.
    pub(crate) fn begin(&mut self, start: &Metadata, clock: Clock) -> Metadata {
        // Two recordings of one host do not begin in the same nanosecond, and those of two hosts are told apart by the rest.
        self.dataset = format!("{:x}-{:x}-{:x}", clock.unix_ns, clock.monotonic_ns, std::process::id());
        self.clock = clock;
        self.start = start.clone();
        self.metadata()
    }

    /// What the present part says at its beginning.
    pub(crate) fn metadata(&self) -> Metadata {
        Metadata {
            dataset: Some(self.dataset.clone()),
            part: Some(self.number.into()),
            part_started: Some(rfc3339(self.clock.unix_ns + self.began_us * 1000)),
            drops_before: Some(self.lost_before),
            ..self.start.clone()
        }
    }

    /// The same with its own counts, which its end knows.
    fn metadata_at_end(&self) -> Metadata {
        Metadata {
            drops_before: None,
            duration_us: Some(self.counts.duration_us),
            rows: Some(self.counts.rows),
            rows_by_event: Some(by_event_name(&self.counts.rows_by_event)),
            drops: Some(self.counts.drops),
            ..self.metadata()
        }
    }

    pub(crate) fn stream_file(&self) -> Result<File> {
        self.target.stream_file()
    }

    /// From now on the stream of the present part has its header, and holds rows that somebody may want. One that the
    /// disk had no room for would be an empty file that no reader takes.
    pub(crate) fn keep_stream(&mut self) {
        self.target.keep_stream();
    }

    /// Takes note of rows that were written; `elapsed_us` is that of the last one.
    pub(crate) fn note(&mut self, rows: &[Sample], elapsed_us: u64) {
        self.counts.rows += rows.len() as u64;
        for row in rows {
            self.counts.rows_by_event[usize::from(row.event) % EVENTS] += 1;
            self.lost = self.lost.max(row.dropped_rows);
        }
        self.last_us = self.last_us.max(elapsed_us);
    }

    /// Whether the present part has what it should have, and its successor would not wait too long.
    pub(crate) fn is_due(&self, bytes: u64) -> bool {
        let is_full = match self.rotation {
            Rotation::Time(time) => u128::from(self.last_us - self.began_us) >= time.as_micros(),
            Rotation::Bytes(most) => bytes >= most,
        };
        is_full && self.converter.waiting() < MOST_WAITING
    }

    /// Hands the present part, whose stream is complete, over to the converter, and begins the next one.
    pub(crate) fn next(&mut self, is_sorted: bool) -> Result<()> {
        let next = Target::claim(&part_path(&self.folder, self.number + 1), false)?;
        self.close_counts(self.last_us, self.lost);
        let metadata = self.metadata_at_end();
        let closed =
            Closed { target: std::mem::replace(&mut self.target, next), metadata, is_sorted, rows: self.counts.rows };
        self.converter.take(closed)?;
        self.number += 1;
        self.counts = PartCounts::default();
        self.began_us = self.last_us;
        self.lost_before = self.lost;
        Ok(())
    }

    fn close_counts(&mut self, until_us: u64, lost: u64) {
        self.counts.duration_us = until_us.saturating_sub(self.began_us);
        self.counts.drops = lost.saturating_sub(self.lost_before);
    }

    /// Makes the file of the last part and waits for those of the others. `whole` is what the end of the
    /// recording says of all of it.
    pub(crate) fn finish(mut self, whole: Metadata, end: End) -> Result<PathBuf> {
        self.close_counts(end.duration_us, end.drops);
        let metadata = Metadata {
            algorithms: whole.algorithms,
            drops_by_reason: whole.drops_by_reason,
            parts: Some(u64::from(self.number) + 1),
            ..self.metadata_at_end()
        };
        let last = Closed { target: self.target, metadata, is_sorted: end.is_sorted, rows: self.counts.rows };
        self.converter.take(last)?;
        self.converter.finish()?;
        Ok(self.folder)
    }
}

/// What the end of a recording knows of the whole.
pub(crate) struct End {
    pub(crate) duration_us: u64,
    pub(crate) drops: u64,
    pub(crate) is_sorted: bool,
}

/// A part whose stream is complete.
struct Closed {
    target: Target,
    metadata: Metadata,
    is_sorted: bool,
    rows: u64,
}

impl Closed {
    fn convert(self, deadline: &Deadline) -> Result<()> {
        let (path, stream) = (self.target.path().to_owned(), self.target.stream_path().to_owned());
        match self.target.convert_stream(&self.metadata, self.is_sorted, deadline) {
            Ok(()) => {
                self.target.remove_stream();
                Ok(())
            }
            Err(reason) => Err(Error::Convert { path, stream, rows: self.rows, reason }),
        }
    }
}

/// The thread that makes Parquet files of streams, and its queue of streams on disk.
struct Converter {
    queue: Option<mpsc::Sender<Closed>>,
    waiting: Arc<AtomicUsize>,
    deadline: Deadline,
    thread: Option<JoinHandle<Result<()>>>,
}

impl Converter {
    fn new(deadline: Deadline) -> Converter {
        Converter { queue: None, waiting: Arc::default(), deadline, thread: None }
    }

    /// With the first part, as a recorder has given up its rights by then.
    fn start(&mut self, folder: &Path) -> Result<mpsc::Sender<Closed>> {
        let (queue, closed) = mpsc::channel::<Closed>();
        let (left, deadline) = (Arc::clone(&self.waiting), self.deadline.clone());
        let work = move || {
            // SAFETY: a number in, a number out; 0 is the calling thread.
            if unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, NICE) } != 0 {
                tracing::warn!("parts are converted at normal priority: {}", io::Error::last_os_error());
            }
            let mut first_error = Ok(());
            for part in closed {
                // What cannot be converted stays as a stream, and the next part may be more lucky.
                if let Err(error) = part.convert(&deadline) {
                    tracing::warn!("{error}");
                    first_error = first_error.and(Err(error));
                }
                left.fetch_sub(1, Ordering::Relaxed);
            }
            first_error
        };
        let thread = thread::Builder::new()
            .name("ccactl-convert".to_owned())
            .spawn(work)
            .map_err(|cause| Error::Target { path: folder.to_owned(), cause })?;
        self.thread = Some(thread);
        Ok(queue)
    }

    fn waiting(&self) -> usize {
        self.waiting.load(Ordering::Relaxed)
    }

    fn take(&mut self, part: Closed) -> Result<()> {
        let queue = match self.queue.take() {
            Some(queue) => queue,
            None => self.start(part.target.path())?,
        };
        self.waiting.fetch_add(1, Ordering::Relaxed);
        queue.send(part).expect("the thread takes parts until its queue is closed");
        self.queue = Some(queue);
        Ok(())
    }

    fn finish(mut self) -> Result<()> {
        self.join()
    }

    fn join(&mut self) -> Result<()> {
        self.queue = None;
        match self.thread.take() {
            Some(thread) => thread.join().expect("the conversion does not panic"),
            None => Ok(()),
        }
    }
}

/// A recording that failed waits for the parts that are complete.
impl Drop for Converter {
    fn drop(&mut self) {
        // Its error has been logged, and the recording has a graver one.
        let _ = self.join();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rotation_is_a_time_or_a_size() {
        assert_eq!("60s".parse(), Ok(Rotation::Time(Duration::from_secs(60))));
        assert_eq!("512MiB".parse(), Ok(Rotation::Bytes(512 << 20)));
        for text in ["", "soon", "10ms", "4KiB", "60"] {
            assert_eq!(text.parse::<Rotation>(), Err(RotationError), "{text}");
        }
    }
}
