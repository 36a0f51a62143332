//! The writer: samples in, stream out. It runs on a thread of its own, so that a slow disk or pipe does not keep the ring
//! buffer from being emptied until the bounded channel between them is full.

use crate::error::{Error, Result};
use crate::rotate::Parts;
use crate::sorter::{HOLD_NS, Sorter};
use arrow_schema::SchemaRef;
use ccactl_abi::layout::{EVENTS, Sample};
use ccactl_recording::write::StreamEncoder;
use ccactl_recording::write::rows::{self, Context};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::sync::mpsc::SyncSender;
use tokio::sync::mpsc;

/// A batch is written when this many rows wait, if not before by [`Message::Flush`].
const BATCH_ROWS: usize = 32 * 1024;

/// What the recorder tells the writer.
pub(crate) enum Message {
    /// Rows, in the order in which the ring gave them.
    Rows(Vec<Sample>),
    /// Write what is old enough to be in order; `now_ns` is the monotonic clock.
    Flush { now_ns: u64 },
}

/// Where the bytes of the stream go.
pub(crate) enum Sink {
    /// A file, and how much of it is complete messages.
    File(File, u64),
    /// Standard output.
    Stdout,
}

impl Sink {
    /// Bytes of complete messages in a file.
    pub(crate) fn bytes(&self) -> u64 {
        match self {
            Sink::File(_, complete_bytes) => *complete_bytes,
            Sink::Stdout => 0,
        }
    }

    /// Appends complete messages. When that fails a file is cut back to the last complete one.
    pub(crate) fn append(&mut self, messages: &[u8]) -> io::Result<()> {
        match self {
            Sink::File(file, complete_bytes) => {
                if let Err(error) = file.write_all(messages) {
                    // Shrinking needs no space; if it fails too, readers cope with half a message.
                    let _ = file.set_len(*complete_bytes);
                    return Err(error);
                }
                *complete_bytes += messages.len() as u64;
                Ok(())
            }
            Sink::Stdout => {
                let mut stdout = io::stdout().lock();
                stdout.write_all(messages)?;
                stdout.flush()
            }
        }
    }
}

/// Whether standard output is a pipe or a socket that nobody reads any more. A write would tell as well, but without rows
/// there is none.
pub(crate) fn is_stdout_abandoned() -> bool {
    let stdout = io::stdout();
    // Errors and hang-ups are reported whatever is asked for.
    let mut polled = [PollFd::new(stdout.as_fd(), PollFlags::empty())];
    let is_gone = |events: PollFlags| events.intersects(PollFlags::POLLERR | PollFlags::POLLHUP);
    poll(&mut polled, PollTimeout::ZERO).is_ok() && polled[0].revents().is_some_and(is_gone)
}

pub(crate) struct Writer {
    schema: SchemaRef,
    context: Context,
    encoder: StreamEncoder,
    sink: Sink,
    /// For messages.
    path: PathBuf,
    sorter: Sorter,
    rows: u64,
    rows_by_event: [u64; EVENTS],
    /// When the recording is in parts.
    parts: Option<Parts>,
}

/// What is known when the stream is complete.
pub(crate) struct Written {
    pub(crate) context: Context,
    pub(crate) rows: u64,
    pub(crate) rows_by_event: [u64; EVENTS],
    pub(crate) is_sorted: bool,
    /// With the last part, whose stream is complete.
    pub(crate) parts: Option<Parts>,
}

impl Writer {
    /// Writes the header.
    pub(crate) fn start(
        schema: SchemaRef,
        context: Context,
        mut sink: Sink,
        path: PathBuf,
        mut parts: Option<Parts>,
    ) -> Result<Writer> {
        let (encoder, header) = StreamEncoder::new(&schema);
        match sink.append(&header) {
            Ok(()) => {}
            // The first batch will meet it again, and end the recording.
            Err(error) if is_closed_pipe(&sink, &error) => {}
            Err(cause) => return Err(Error::Target { path, cause }),
        }
        if let Some(parts) = &mut parts {
            parts.keep_stream();
        }
        Ok(Writer {
            schema,
            context,
            encoder,
            sink,
            path,
            sorter: Sorter::default(),
            rows: 0,
            rows_by_event: [0; EVENTS],
            parts,
        })
    }

    /// Works until the channel is closed, then writes the rest and the end mark.
    ///
    /// Standard output that is closed by its reader ends the recording as if it had been stopped. Chunks
    /// go back through `spare`: to allocate each anew would cost a page fault per dozen rows.
    pub(crate) fn run(
        mut self,
        mut messages: mpsc::Receiver<Message>,
        spare: &SyncSender<Vec<Sample>>,
    ) -> Result<Written> {
        let result = self.pump(&mut messages, spare);
        // Closing the channel tells the recorder, whatever the reason.
        drop(messages);
        let is_sorted = self.sorter.late_rows() == 0;
        if !is_sorted {
            tracing::warn!(rows = self.sorter.late_rows(), "rows came too late to be put in order of time");
        }
        let result = result.and_then(|()| Ok(self.sink.append(&self.encoder.end())?));
        let written = Written {
            context: self.context,
            rows: self.rows,
            rows_by_event: self.rows_by_event,
            is_sorted,
            parts: self.parts,
        };
        match result {
            Err(Failure::Io(error)) if is_closed_pipe(&self.sink, &error) => Ok(written),
            Err(Failure::Io(cause)) => Err(Error::Write { path: self.path, rows: self.rows, cause }),
            Err(Failure::NextPart(error)) => Err(error),
            Ok(()) => Ok(written),
        }
    }

    fn pump(
        &mut self,
        messages: &mut mpsc::Receiver<Message>,
        spare: &SyncSender<Vec<Sample>>,
    ) -> std::result::Result<(), Failure> {
        while let Some(message) = messages.blocking_recv() {
            match message {
                Message::Rows(mut rows) => {
                    self.sorter.push(&rows);
                    if let Some(newest) = rows.last().filter(|_| self.sorter.len() >= BATCH_ROWS) {
                        self.write(newest.time_ns.saturating_sub(HOLD_NS))?;
                    }
                    rows.clear();
                    // When nobody wants it back it is freed.
                    let _ = spare.try_send(rows);
                }
                Message::Flush { now_ns } => self.write(now_ns.saturating_sub(HOLD_NS))?,
            }
        }
        self.write(u64::MAX)
    }

    fn write(&mut self, until_ns: u64) -> std::result::Result<(), Failure> {
        if self.sorter.has_due(until_ns) {
            self.rotate()?;
        }
        let rows = self.sorter.release(until_ns);
        for rows in rows.chunks(BATCH_ROWS) {
            self.context.learn(rows);
            let batch = rows::batch(&self.schema, rows, &self.context);
            self.sink.append(&self.encoder.batch(&batch))?;
            self.rows += rows.len() as u64;
            for row in rows {
                self.rows_by_event[usize::from(row.event) % EVENTS] += 1;
            }
            if let (Some(parts), Some(last)) = (&mut self.parts, rows.last()) {
                parts.note(rows, self.context.elapsed_us(last.time_ns));
            }
        }
        Ok(())
    }

    /// Begins the next part if this one is full; asked when there are rows for it, so that no part is empty.
    fn rotate(&mut self) -> std::result::Result<(), Failure> {
        let Some(parts) = &mut self.parts else { return Ok(()) };
        if !parts.is_due(self.sink.bytes()) {
            return Ok(());
        }
        self.sink.append(&self.encoder.end())?;
        parts.next(self.sorter.late_rows() == 0).map_err(Failure::NextPart)?;
        self.schema = rows::schema(&parts.metadata().to_pairs());
        self.sink = Sink::File(parts.stream_file().map_err(Failure::NextPart)?, 0);
        let (encoder, header) = StreamEncoder::new(&self.schema);
        self.encoder = encoder;
        self.sink.append(&header)?;
        parts.keep_stream();
        Ok(())
    }
}

/// Why a recording cannot go on.
enum Failure {
    /// The stream takes no more.
    Io(io::Error),
    /// The stream of the next part cannot be made.
    NextPart(Error),
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Failure {
        Failure::Io(error)
    }
}

fn is_closed_pipe(sink: &Sink, error: &io::Error) -> bool {
    matches!(sink, Sink::Stdout) && error.kind() == io::ErrorKind::BrokenPipe
}
