//! From the ring buffer to the writer's channel, and the figures that a progress line shows.

use crate::clock::Clock;
use crate::options::Tap;
use crate::probe::{self, Probe, Ring};
use crate::recorder::{Phase, Progress};
use crate::writer::Message;
use ccactl_abi::layout::{EVENT_CLOSE, Sample};
use std::collections::HashSet;
use std::time::{Duration, Instant};
use tokio::io::unix::AsyncFd;
use tokio::sync::{mpsc, watch};
use tokio::time::{sleep, sleep_until};

/// Rows that go to the writer together.
const CHUNK_ROWS: usize = 8 * 1024;
/// The ring is looked at this often even when BPF has not found it worth a wake-up.
const TICK: Duration = Duration::from_millis(50);
/// A kill loses no more than this, a tick, and what the sorter holds back.
const FLUSH_INTERVAL: Duration = Duration::from_millis(500);
/// How often the progress changes.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(250);

pub(crate) struct Feed {
    ring: AsyncFd<Ring>,
    sender: mpsc::Sender<Message>,
    tap: Option<Tap>,
    chunk: Vec<Sample>,
    flows: Flows,
    rows: u64,
    sent: Instant,
    flushed: Instant,
}

/// The writer has ended before us; its result says why.
struct WriterGone;

impl Feed {
    pub(crate) fn new(ring: AsyncFd<Ring>, sender: mpsc::Sender<Message>, tap: Option<Tap>) -> Feed {
        let now = Instant::now();
        let chunk = Vec::with_capacity(CHUNK_ROWS);
        Feed { ring, sender, tap, chunk, flows: Flows::default(), rows: 0, sent: now, flushed: now }
    }

    /// Moves rows until told to stop, until `deadline`, or until the writer is gone.
    pub(crate) async fn pump(
        &mut self,
        probe: &Probe,
        mut stop: watch::Receiver<bool>,
        deadline: Option<Instant>,
        meter: &mut Meter,
    ) {
        loop {
            let is_empty = self.take_chunk();
            if self.forward().await.is_err() {
                return;
            }
            let now = Instant::now();
            if *stop.borrow() || deadline.is_some_and(|deadline| now >= deadline) {
                return;
            }
            meter.update(now, self, probe);
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

    /// Moves what is left in the ring once nothing more is put into it, closes the channel, and says how many sockets
    /// were seen.
    pub(crate) async fn finish(mut self) -> u64 {
        loop {
            let is_empty = self.take_chunk();
            if self.send_chunk().await.is_err() || is_empty {
                return self.flows.seen;
            }
        }
    }

    /// Fills the chunk from the ring; whether the ring is empty now.
    fn take_chunk(&mut self) -> bool {
        let ring = self.ring.get_mut();
        while self.chunk.len() < CHUNK_ROWS {
            let Some(record) = ring.next() else { return true };
            if let Some(sample) = probe::sample(&record) {
                self.flows.note(&sample);
                self.chunk.push(sample);
            }
        }
        false
    }

    /// Sends a chunk that is full or has waited, and a flush when it is time for one.
    async fn forward(&mut self) -> Result<(), WriterGone> {
        let now = Instant::now();
        if self.chunk.len() == CHUNK_ROWS || (!self.chunk.is_empty() && now - self.sent >= TICK) {
            self.send_chunk().await?;
            self.sent = now;
        }
        if now - self.flushed >= FLUSH_INTERVAL {
            self.flushed = now;
            let now_ns = Clock::now().monotonic_ns;
            self.sender.send(Message::Flush { now_ns }).await.map_err(|_| WriterGone)?;
        }
        if self.sender.is_closed() { Err(WriterGone) } else { Ok(()) }
    }

    async fn send_chunk(&mut self) -> Result<(), WriterGone> {
        if let Some(tap) = &self.tap {
            tap(&self.chunk);
        }
        self.rows += self.chunk.len() as u64;
        let rows = std::mem::replace(&mut self.chunk, Vec::with_capacity(CHUNK_ROWS));
        self.sender.send(Message::Rows(rows)).await.map_err(|_| WriterGone)
    }
}

/// Counts sockets; remembers only those that live, so that a long recording of short connections stays small.
#[derive(Default)]
struct Flows {
    live: HashSet<u64>,
    seen: u64,
}

impl Flows {
    fn note(&mut self, sample: &Sample) {
        let is_known = if sample.event == EVENT_CLOSE {
            self.live.remove(&sample.flow_id)
        } else {
            !self.live.insert(sample.flow_id)
        };
        self.seen += u64::from(!is_known);
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

    fn update(&mut self, now: Instant, feed: &Feed, probe: &Probe) {
        let since = now - self.updated;
        if since < PROGRESS_INTERVAL {
            return;
        }
        self.rows_per_s = (feed.rows - self.rows_then) as f64 / since.as_secs_f64();
        self.updated = now;
        self.rows_then = feed.rows;
        self.progress.send_replace(Progress {
            phase: Phase::Recording,
            elapsed: now - self.attached,
            flows: feed.flows.seen,
            rows: feed.rows,
            rows_per_s: self.rows_per_s,
            drops: probe.drops(),
        });
    }

    /// The programs are detached and the file is being made.
    pub(crate) fn finishing(&self) {
        self.progress.send_modify(|progress| progress.phase = Phase::Finishing);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytemuck::Zeroable;
    use ccactl_abi::layout::{EVENT_OPEN, EVENT_SAMPLE};

    #[test]
    fn a_socket_counts_once_whichever_of_its_rows_is_first() {
        let mut flows = Flows::default();
        for (flow_id, event) in [
            (1, EVENT_OPEN),
            (1, EVENT_SAMPLE),
            (2, EVENT_SAMPLE),
            (1, EVENT_CLOSE),
            (3, EVENT_CLOSE),
            (2, EVENT_CLOSE),
        ] {
            flows.note(&Sample { flow_id, event, ..Sample::zeroed() });
        }
        assert_eq!(flows.seen, 3);
        assert!(flows.live.is_empty());
    }
}
