//! The thread that sends finished parts. The recorder never waits for it: between them is the disk.

use crate::clock::{Backoff, Clock};
use crate::error::{Error, Result};
use crate::fault::{Fault, Kind};
use crate::part::Part;
use crate::queue::{Id, Queue, Waiting, streams};
use crate::spool::Claim;
use crate::store::{Put, Store};
use crate::tally::{Report, Status, Tally};
use ccactl_host::units::printed;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use tokio::sync::Notify;

/// So often a part is tried whose name the store cannot make its mind up about. Then others have their turn.
const TRIES_IF_UNCLEAR: u32 = 3;

/// How an uploader behaves.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// Bytes of finished parts that may wait.
    pub limit_bytes: u64,
    /// How often it looks for parts, and whether too many wait.
    pub look_every: Duration,
    /// Wait after a first failure; each further one is twice as long.
    pub first_wait: Duration,
    /// Longest wait.
    pub longest_wait: Duration,
    /// At the end: how long it goes on without a part that is stored.
    pub patience: Duration,
    /// What all of these are measured with.
    pub clock: Clock,
    /// Whether the store has been [probed](Store::probe).
    pub is_probed: bool,
}

impl Options {
    /// What a recording gets.
    #[must_use]
    pub fn new(limit_bytes: u64) -> Options {
        Options {
            limit_bytes,
            look_every: Duration::from_millis(500),
            first_wait: Duration::from_secs(1),
            longest_wait: Duration::from_secs(60),
            patience: Duration::from_secs(30),
            clock: Clock::of_host(),
            is_probed: false,
        }
    }
}

/// Is given the folder of an earlier recording before its parts are sent, to make parts of streams in it.
pub type Prepare = Box<dyn Fn(&Path) + Send>;

/// An upload on a thread of its own. Dropping it lets it go on without a report.
#[derive(Debug)]
pub struct Uploader {
    shared: Arc<Shared>,
    thread: JoinHandle<Report>,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    wake: Notify,
}

#[derive(Debug, Default)]
struct State {
    status: Status,
    /// No part comes any more.
    is_last: bool,
    /// Nobody waits any more.
    is_stopped: bool,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Uploader {
    /// Begins with what is in these folders, in this order. `left_over` is how many of them are of earlier recordings.
    ///
    /// # Errors
    /// [`Error::Thread`].
    pub fn start(
        store: Store,
        claims: Vec<Claim>,
        left_over: usize,
        options: Options,
        prepare: Prepare,
    ) -> Result<Uploader> {
        let shared = Arc::new(Shared::default());
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Error::Thread)?;
        let backoff = Backoff::new(options.first_wait, options.longest_wait);
        let upload = Upload {
            store,
            claims,
            options,
            shared: Arc::clone(&shared),
            queue: Queue::default(),
            backoff,
            report: Report::default(),
            is_probed: options.is_probed,
            looked_at: None,
            try_at: Duration::ZERO,
            last_stored: None,
            trouble_since: None,
            is_full: false,
            unclear: 0,
        };
        let work = move || {
            upload.claims[..left_over].iter().for_each(|claim| prepare(&claim.parts()));
            let report = runtime.block_on(upload.run());
            // A share that does not answer keeps its own thread waiting, and nobody else.
            runtime.shutdown_background();
            report
        };
        let thread = thread::Builder::new().name("ccactl-upload".to_owned()).spawn(work).map_err(Error::Thread)?;
        Ok(Uploader { shared, thread })
    }

    /// What has been sent so far, and what waits.
    #[must_use]
    pub fn status(&self) -> Status {
        self.shared.state().status.clone()
    }

    /// No part comes any more: it ends when all are stored, or when its patience is over.
    pub fn finish(&self) {
        self.shared.state().is_last = true;
        self.shared.wake.notify_one();
    }

    /// It ends now; what is on its way is cut off and stays in the spool.
    pub fn stop(&self) {
        self.shared.state().is_stopped = true;
        self.shared.wake.notify_one();
    }

    /// Whether it has ended.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.thread.is_finished()
    }

    /// Waits for its end.
    #[must_use]
    pub fn wait(self) -> Report {
        self.thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

struct Upload {
    store: Store,
    claims: Vec<Claim>,
    options: Options,
    shared: Arc<Shared>,
    queue: Queue,
    backoff: Backoff,
    report: Report,
    is_probed: bool,
    looked_at: Option<Duration>,
    /// Not before that.
    try_at: Duration,
    /// Since the last part is written: when it ended, or when a part was last stored.
    last_stored: Option<Duration>,
    trouble_since: Option<Duration>,
    /// Whether the user was told that the spool is full.
    is_full: bool,
    /// Tries of the part in turn whose outcome was [`Kind::Unclear`].
    unclear: u32,
}

impl Upload {
    async fn run(mut self) -> Report {
        while !self.is_over() {
            let now = self.now();
            if self.looked_at.is_none_or(|at| now >= at + self.options.look_every) || self.queue.is_drained() {
                self.look();
            }
            match self.queue.first() {
                Some((id, waiting)) if now >= self.try_at => self.attempt(id, waiting).await,
                // The clock may be fast: a wait ends by itself, or with a word from outside.
                Some(_) => self.pause(self.try_at.min(now + self.options.look_every)).await,
                None => self.pause(now + self.options.look_every).await,
            }
        }
        self.end()
    }

    fn now(&self) -> Duration {
        self.options.clock.now()
    }

    async fn pause(&self, until: Duration) {
        tokio::select! {
            () = self.options.clock.wait_until(until) => {}
            () = self.shared.wake.notified() => {}
        }
    }

    fn is_over(&mut self) -> bool {
        let (is_last, is_stopped) = {
            let state = self.shared.state();
            (state.is_last, state.is_stopped)
        };
        if is_stopped {
            return true;
        }
        if !is_last {
            return false;
        }
        let now = self.now();
        if self.last_stored.is_none() {
            // The end begins: once more from the shortest wait, with all that there is.
            self.last_stored = Some(now);
            self.queue.take_back();
            self.report.refused.clear();
            self.backoff.reset();
            self.try_at = now;
            self.look();
        }
        self.queue.is_drained() || self.last_stored.is_some_and(|last| now > last + self.options.patience)
    }

    /// Takes note of new parts, and gives up the oldest where there are too many.
    fn look(&mut self) {
        if let Err(error) = self.queue.look(&self.claims) {
            tracing::warn!("the spool cannot be read: {error}; its parts stay where they are");
        }
        self.looked_at = Some(self.now());
        self.give_up(None);
        self.show();
    }

    fn give_up(&mut self, on_its_way: Option<&Id>) {
        while let Some((id, waiting)) = self.queue.over(self.options.limit_bytes, on_its_way) {
            let rows = Part::at(&waiting.path).map_or(0, |(part, _)| part.rows);
            if let Err(error) = self.queue.remove(&id) {
                tracing::warn!("{}: cannot be removed: {error}", waiting.path.display());
            }
            self.report.given_up += Tally { parts: 1, rows, bytes: waiting.bytes };
            let limit = printed::bytes(self.options.limit_bytes as f64);
            let told =
                format!("more than {limit}B wait in the spool: gave up {} with {rows} rows", waiting.path.display());
            if self.is_full {
                tracing::info!("{told}");
            } else {
                tracing::warn!("{told}; the oldest go first, --spool-limit gives more room");
                self.is_full = true;
            }
        }
    }

    async fn attempt(&mut self, id: Id, waiting: Waiting) {
        let sent = match Part::at(&waiting.path) {
            Ok((part, file)) => self.send(&id, part, &file).await,
            Err(found) => Err(Fault::new(Kind::Local, format!("expected a finished part, found: {found}"))),
        };
        match sent {
            // Ended in the middle.
            Ok(None) => return,
            Ok(Some((put, rows))) => self.stored(&id, &waiting, put, rows),
            Err(fault) if fault.is_of_the_part() => self.refused(id, &waiting, &fault),
            Err(fault) if fault.kind == Kind::Unclear && self.unclear + 1 >= TRIES_IF_UNCLEAR => {
                self.refused(id, &waiting, &fault);
            }
            Err(fault) if fault.kind == Kind::Unclear => {
                self.unclear += 1;
                self.try_at = self.now() + self.backoff.next();
            }
            Err(fault) => self.failed(&fault),
        }
        self.show();
    }

    /// `None` when there is no time for it any more.
    async fn send(
        &mut self,
        id: &Id,
        part: Part,
        file: &std::fs::File,
    ) -> std::result::Result<Option<(Put, u64)>, Fault> {
        let (store, is_probed) = (self.store.clone(), self.is_probed);
        let name = part.name;
        let put = async {
            if !is_probed {
                store.probe().await?;
            }
            store.put(&name, file).await
        };
        tokio::pin!(put);
        // Meanwhile others may become too many.
        loop {
            let next_look = self.now() + self.options.look_every;
            tokio::select! {
                put = &mut put => {
                    self.is_probed |= put.is_ok();
                    return put.map(|put| Some((put, part.rows)));
                }
                () = self.options.clock.wait_until(next_look) => {
                    // Not an error of this part.
                    let _ = self.queue.look(&self.claims);
                    self.give_up(Some(id));
                    self.show();
                }
                () = self.shared.wake.notified() => {
                    if self.shared.state().is_stopped {
                        return Ok(None);
                    }
                }
            }
        }
    }

    fn stored(&mut self, id: &Id, waiting: &Waiting, put: Put, rows: u64) {
        self.report.stored += Tally { parts: 1, rows, bytes: waiting.bytes };
        self.report.were_there += u64::from(put == Put::WasThere);
        self.unclear = 0;
        if let Err(error) = self.queue.remove(id) {
            tracing::warn!("{}: stored, but cannot be removed: {error}; remove it", waiting.path.display());
        }
        self.backoff.reset();
        self.try_at = Duration::ZERO;
        self.report.trouble = None;
        self.is_full = false;
        let now = self.now();
        if let Some(since) = self.trouble_since.take() {
            let seconds = (now - since).as_secs_f64();
            tracing::warn!(
                "{}: takes parts again after {seconds:.0} s; {} wait",
                self.store.location(),
                self.queue.len()
            );
        }
        if let Some(last) = &mut self.last_stored {
            *last = now;
        }
    }

    fn refused(&mut self, id: Id, waiting: &Waiting, fault: &Fault) {
        let told = format!("{}: {fault}; {}; it stays in the spool", waiting.path.display(), fault.remedy());
        tracing::warn!("{}: {told}", self.store.location());
        self.report.refused.push(told);
        self.queue.set_aside(id);
        self.unclear = 0;
    }

    fn failed(&mut self, fault: &Fault) {
        let now = self.now();
        if self.trouble_since.is_none() {
            self.trouble_since = Some(now);
            tracing::warn!("{}: {fault}; parts wait in the spool; {}", self.store.location(), fault.remedy());
        } else {
            tracing::info!("{}: {fault}", self.store.location());
        }
        self.report.trouble = Some(fault.to_string());
        self.try_at = now + self.backoff.next();
    }

    fn show(&self) {
        let status = Status {
            stored: self.report.stored,
            given_up: self.report.given_up,
            waiting_parts: self.queue.len(),
            waiting_bytes: self.queue.bytes(),
            trouble: self.report.trouble.clone(),
        };
        self.shared.state().status = status;
    }

    fn end(mut self) -> Report {
        // What came meanwhile is counted as well.
        let _ = self.queue.look(&self.claims);
        for waiting in self.queue.all() {
            let rows = Part::at(&waiting.path).map_or(0, |(part, _)| part.rows);
            self.report.waiting += Tally { parts: 1, rows, bytes: waiting.bytes };
        }
        for claim in &self.claims {
            self.report.streams += streams(&claim.parts());
            if !claim.close() {
                self.report.folders.push(claim.parts());
            }
        }
        self.show();
        self.report
    }
}
