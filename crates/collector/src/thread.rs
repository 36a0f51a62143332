//! A recording on a thread of its own: the ring is emptied in time whatever the caller's threads are busy with.

use crate::deadline::Deadline;
use crate::error::{Error, Result};
use crate::options::RecordOptions;
use crate::progress::Progress;
use crate::recorder::{Recording, Summary};
use ccactl_host::capabilities::{self, Capability};
use std::sync::mpsc;
use std::thread::{self, JoinHandle};
use std::time::Instant;
use tokio::sync::watch;

/// A running recording. Dropping it ends the recording without waiting for its file.
pub struct Recorder {
    stop: watch::Sender<bool>,
    progress: watch::Receiver<Progress>,
    deadline: Deadline,
    thread: JoinHandle<Result<Summary>>,
}

impl Recorder {
    /// Starts a recording and waits until its programs are attached: what happens after this call is recorded.
    ///
    /// # Errors
    /// [`Error`], with nothing left behind.
    pub fn start(options: RecordOptions) -> Result<Recorder> {
        Recorder::start_then(options, || Ok(()))
    }

    /// The same; then the recorder's threads and the caller give up all rights but these, for a process that does nothing
    /// else. To be called before it has other threads.
    ///
    /// # Errors
    /// [`Error`], with nothing left behind.
    pub fn start_keeping(options: RecordOptions, needed: &'static [Capability]) -> Result<Recorder> {
        let give_up = || capabilities::keep_only(needed).map_err(|error| Error::Rights { reason: error.to_string() });
        let recorder = Recorder::start_then(options, give_up)?;
        give_up()?;
        Ok(recorder)
    }

    /// `then` runs on the recorder's thread when the programs are attached, before that thread starts others.
    fn start_then(options: RecordOptions, then: impl FnOnce() -> Result<()> + Send + 'static) -> Result<Recorder> {
        let (stop, stop_receiver) = watch::channel(false);
        let (progress_sender, progress) = watch::channel(Progress::default());
        let (attached_sender, attached) = mpsc::sync_channel(1);
        let deadline = Deadline::default();
        let until = deadline.clone();
        let work = move || {
            let failed = |error: std::io::Error| Error::Bpf { doing: "start a runtime", reason: error.to_string() };
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(failed)?;
            let recording = Recording::attach(options, &until)?;
            then()?;
            // The receiver waits for this or for our end.
            let _ = attached_sender.send(());
            runtime.block_on(recording.run(stop_receiver, progress_sender))
        };
        let thread = thread::Builder::new()
            .name("ccactl-record".to_owned())
            .spawn(work)
            .map_err(|error| Error::Bpf { doing: "start a thread", reason: error.to_string() })?;
        match attached.recv() {
            Ok(()) => Ok(Recorder { stop, progress, deadline, thread }),
            // The thread has ended without attaching: its result is the error.
            Err(mpsc::RecvError) => Err(join(thread).expect_err("only an error ends a recorder before it is attached")),
        }
    }

    /// What has been recorded so far; changes four times a second.
    #[must_use]
    pub fn progress(&self) -> Progress {
        *self.progress.borrow()
    }

    /// Whether the recording has ended by itself: its duration is over, or writing has failed.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.thread.is_finished()
    }

    /// Asks the recording to end; [`Recorder::wait`] gives its result.
    pub fn request_stop(&self) {
        self.stop.send_replace(true);
    }

    /// Asks it to end by then, even if there is no time to make the file: the rows stay in their stream, and
    /// [`Recorder::wait`] says so by [`Error::Convert`].
    pub fn request_stop_by(&self, end: Instant) {
        self.deadline.set(end);
        self.request_stop();
    }

    /// Waits until the recording has ended and its file is made.
    ///
    /// # Errors
    /// [`Error`]; rows that were written before the error are kept and named in it.
    pub fn wait(self) -> Result<Summary> {
        join(self.thread)
    }

    /// Ends the recording and waits for its file.
    ///
    /// # Errors
    /// As [`Recorder::wait`].
    pub fn stop(self) -> Result<Summary> {
        self.request_stop();
        self.wait()
    }
}

fn join(thread: JoinHandle<Result<Summary>>) -> Result<Summary> {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}
