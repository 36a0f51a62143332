//! From the ring buffer to the writer's channel, and the figures that a progress line shows.

use crate::counts::Counts;
use crate::options::Tap;
use crate::probe::Ring;
use crate::progress::{Phase, Progress};
use crate::writer::{Message, is_stdout_abandoned};
use bytemuck::Zeroable;
use ccactl_abi::layout::{SAMPLE_BYTES_WITHOUT_TRACE, Sample};
use ccactl_recording::write::Clock;
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};
use tokio::io::unix::AsyncFd;
use tokio::sync::{mpsc, watch};
use tokio::time::{sleep, sleep_until};

/// Rows that go to the writer together at most.
const CHUNK_ROWS: usize = 4 * 1024;
/// The ring is looked at this often even when BPF has not found it worth a wake-up.
const TICK: Duration = Duration::from_millis(50);
/// A kill loses no more than this, a tick, and what the sorter holds back.
const FLUSH_INTERVAL: Duration = Duration::from_millis(500);
/// How often the progress changes.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(250);

pub(crate) struct Feed {
    ring: AsyncFd<Ring>,
    /// None when nobody writes.
    sender: Option<mpsc::Sender<Message>>,
    /// Whether the rows go to standard output, whose reader may leave while there are none.
    is_to_stdout: bool,
    /// Chunks that come back from the writer.
    spare: Receiver<Vec<Sample>>,
    tap: Option<Tap>,
    chunk: Vec<Sample>,
    rows: u64,
    flushed: Instant,
}

/// The writer has ended before us, and its result says why; or nobody reads what it writes, as it will find when it ends.
struct WriterGone;

impl Feed {
    pub(crate) fn new(
        ring: AsyncFd<Ring>,
        sender: Option<mpsc::Sender<Message>>,
        is_to_stdout: bool,
        spare: Receiver<Vec<Sample>>,
        tap: Option<Tap>,
    ) -> Feed {
        let chunk = Vec::with_capacity(CHUNK_ROWS);
        Feed { ring, sender, is_to_stdout, spare, tap, chunk, rows: 0, flushed: Instant::now() }
    }

    /// Moves rows until told to stop, until `deadline`, or until the writer is gone.
    pub(crate) async fn pump(
        &mut self,
        counts: &Counts,
        mut stop: watch::Receiver<bool>,
        deadline: Option<Instant>,
        meter: &mut Meter,
    ) {
        loop {
            let is_empty = self.take_chunk(counts);
            if self.forward().await.is_err() {
                return;
            }
            let now = Instant::now();
            if *stop.borrow() || deadline.is_some_and(|deadline| now >= deadline) {
                return;
            }
            meter.update(now, self.rows, counts);
            if !is_empty {
                // The ring fills as fast as we read: let the other tasks of the runtime run too.
                tokio::task::yield_now().await;
                continue;
            }
            tokio::select! {
                ready = self.ring.readable_mut() => {
                    if let Ok(mut guard) = ready {
                        guard.clear_ready();
                    }
                }
                () = sleep(TICK) => {}
                _ = stop.wait_for(|&is_stopped| is_stopped) => return,
                () = sleep_until(deadline.unwrap_or(now + TICK).into()) => {}
            }
        }
    }

    /// Moves what is left in the ring once nothing more is put into it, closes the channel, and says how many rows were
    /// taken in all.
    pub(crate) async fn finish(mut self, counts: &Counts) -> u64 {
        loop {
            let is_empty = self.take_chunk(counts);
            if self.send_chunk().await.is_err() || is_empty {
                return self.rows;
            }
        }
    }

    /// Fills the chunk from the ring; whether the ring is empty now.
    fn take_chunk(&mut self, counts: &Counts) -> bool {
        let ring = self.ring.get_mut();
        // Read only when there is a row to tell it to.
        let mut dropped_rows = None;
        while self.chunk.len() < CHUNK_ROWS {
            let Some(record) = ring.next() else { return true };
            let dropped_rows = *dropped_rows.get_or_insert_with(|| counts.drops().total());
            take_row(&record, dropped_rows, &mut self.chunk);
        }
        false
    }

    /// Sends what there is, and a flush when it is time for one.
    async fn forward(&mut self) -> Result<(), WriterGone> {
        self.send_chunk().await?;
        let now = Instant::now();
        if let Some(sender) = &self.sender
            && now - self.flushed >= FLUSH_INTERVAL
        {
            self.flushed = now;
            if self.is_to_stdout && is_stdout_abandoned() {
                return Err(WriterGone);
            }
            let now_ns = Clock::now().monotonic_ns;
            sender.send(Message::Flush { now_ns }).await.map_err(|_| WriterGone)?;
        }
        if self.sender.as_ref().is_some_and(mpsc::Sender::is_closed) { Err(WriterGone) } else { Ok(()) }
    }

    async fn send_chunk(&mut self) -> Result<(), WriterGone> {
        if self.chunk.is_empty() {
            return Ok(());
        }
        if let Some(tap) = &self.tap {
            tap(&self.chunk);
        }
        self.rows += self.chunk.len() as u64;
        let Some(sender) = &self.sender else {
            self.chunk.clear();
            return Ok(());
        };
        let empty = self.spare.try_recv().unwrap_or_else(|_| Vec::with_capacity(CHUNK_ROWS));
        let rows = std::mem::replace(&mut self.chunk, empty);
        sender.send(Message::Rows(rows)).await.map_err(|_| WriterGone)
    }
}

/// Tells the progress.
pub(crate) struct Meter {
    attached: Instant,
    progress: watch::Sender<Progress>,
    updated: Instant,
    rows_then: u64,
    rows_per_s: f64,
}

impl Meter {
    pub(crate) fn new(attached: Instant, progress: watch::Sender<Progress>) -> Meter {
        let meter = Meter { attached, progress, updated: attached, rows_then: 0, rows_per_s: 0.0 };
        meter.progress.send_modify(|progress| progress.phase = Phase::Recording);
        meter
    }

    fn update(&mut self, now: Instant, rows: u64, counts: &Counts) {
        let since = now - self.updated;
        if since < PROGRESS_INTERVAL {
            return;
        }
        self.rows_per_s = (rows - self.rows_then) as f64 / since.as_secs_f64();
        self.updated = now;
        self.rows_then = rows;
        self.progress.send_replace(Progress {
            phase: Phase::Recording,
            elapsed: now - self.attached,
            flows: counts.flows(),
            rows,
            rows_per_s: self.rows_per_s,
            drops: counts.drops(),
        });
    }

    /// The programs are detached and the file is being made.
    pub(crate) fn finishing(&self) {
        self.progress.send_modify(|progress| progress.phase = Phase::Finishing);
    }
}

/// Puts the row in a record of the ring at the end of `rows`; whether there is one.
fn take_row(record: &[u8], dropped_rows: u64, rows: &mut Vec<Sample>) -> bool {
    if record.len() != size_of::<Sample>() && record.len() != SAMPLE_BYTES_WITHOUT_TRACE {
        return false;
    }
    let mut row = Sample::zeroed();
    bytemuck::bytes_of_mut(&mut row)[..record.len()].copy_from_slice(record);
    row.dropped_rows = dropped_rows;
    rows.push(row);
    true
}
