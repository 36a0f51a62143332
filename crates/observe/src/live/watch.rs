//! A recorder whose rows go to a board.

use crate::live::board::{Board, FlowKey, History, Pace};
use crate::live::labels::{Labels, Unlabelled};
use crate::live::names::Names;
use crate::live::view::{Snapshot, Status};
use ccactl_collector::{Clock, Error, Output, RecordOptions, Recorder};
use ccactl_host::capabilities::Capability;
use std::fs;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

/// What the board wants to be told beside the samples. Everything else is in the counters of the next sample, and these
/// come seldom; a timeout tells of a flow that has none.
const EVENTS: &str = "open,close,algorithm,rto";

/// Looks at the sockets of this host.
pub struct Watch {
    recorder: Recorder,
    board: Arc<Mutex<Board>>,
    labels: Labels,
    status: Status,
}

impl Watch {
    /// Attaches, and gives up all rights: the process does nothing else. Of `options` the filters, `every`, the buffer and `resolve` are used; `filter` says the filters to people.
    ///
    /// # Errors
    /// Those of the recorder.
    pub fn start(options: RecordOptions, interval: Duration, filter: String) -> Result<Watch, Error> {
        // Names of cgroups, namespaces and algorithms are there for everybody to read, or are our own.
        Watch::start_keeping(options, interval, filter, &[])
    }

    /// The same for a process that does something else as well, and keeps the rights for that.
    ///
    /// # Errors
    /// Those of the recorder.
    pub fn start_keeping(
        mut options: RecordOptions,
        interval: Duration,
        filter: String,
        needed: &'static [Capability],
    ) -> Result<Watch, Error> {
        let board = Arc::new(Mutex::new(Board::new(Pace::new(interval, options.every))));
        let fed = Arc::clone(&board);
        options.output = Output::Nowhere;
        options.events = EVENTS.parse().expect("the names of events are right");
        options.tap = Some(Arc::new(move |rows| lock(&fed).feed(rows)));
        let status = Status {
            kernel: fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default().trim().to_owned(),
            every: options.every.to_string(),
            interval_s: interval.as_secs_f64(),
            filter,
            ..Status::default()
        };
        let labels = Labels::new(Names::of_this_host(), Arc::clone(&options.resolve));
        Ok(Watch { recorder: Recorder::start_keeping(options, needed)?, board, labels, status })
    }

    /// How it looks now.
    pub fn look(&mut self) -> Snapshot {
        let now_ns = Clock::now().monotonic_ns;
        let progress = self.recorder.progress();
        let status = Status {
            elapsed_s: progress.elapsed.as_secs_f64(),
            rows: progress.rows,
            rows_per_s: progress.rows_per_s,
            drops: progress.drops,
            ..self.status.clone()
        };
        let unlabelled = {
            let mut board = lock(&self.board);
            board.advance(now_ns);
            Unlabelled::of(&board)
        };
        // Searching names takes its time; the rows that come meanwhile need the board.
        self.labels.learn(unlabelled);
        Snapshot::take(&lock(&self.board), &self.labels, status, now_ns)
    }

    /// Chart points of a flow, while it is remembered.
    #[must_use]
    pub fn history(&self, key: FlowKey) -> Option<History> {
        lock(&self.board).flow(key).map(|flow| flow.history.clone())
    }

    /// All that is known now, for somebody who wants to look at one moment for longer.
    #[must_use]
    pub fn copy(&self) -> Board {
        lock(&self.board).clone()
    }

    /// Figures are complete so long after the fact.
    #[must_use]
    pub fn lag(&self) -> Duration {
        lock(&self.board).pace().lag()
    }

    /// Whether the recorder has ended, which it does not do by itself unless something fails.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.recorder.is_finished()
    }

    /// Detaches.
    ///
    /// # Errors
    /// What the recorder failed of.
    pub fn stop(self) -> Result<(), Error> {
        self.recorder.stop().map(|_| ())
    }
}

/// A panic of the other side is its own affair: it ends the recorder, and that is noticed.
fn lock(board: &Mutex<Board>) -> MutexGuard<'_, Board> {
    board.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}
