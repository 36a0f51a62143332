//! The service: applies a policy file, then again whenever its cgroups come and go or the file changes, and looks at an
//! interval whether another hand has changed what it has put in force.
//!
//! The kernel reports (inotify) what happens to the directories on the way to each cgroup and to the file, and one apply
//! follows however many events have come in. Of a change in bpffs or of a detached program nobody reports; those are what
//! the interval is for. It reads the policies, takes no lock and looks at no socket, unless something is to be done. The
//! policies are in the kernel, so the end of the service changes nothing.

mod drift;
mod paths;
mod signals;

use crate::fleet::apply::{Done, Report, apply};
use crate::fleet::error::{Error, FileError, Result, one_line};
use crate::fleet::file::PolicyFile;
use crate::fleet::observed::Observed;
use crate::fleet::plan::Plan;
use crate::fleet::step::Action;
use crate::{Loader, PolicyStatus, cgroup};
use drift::{Found, Ledger};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use paths::Watch;
use sd_notify::NotifyState;
use signals::{Request, Signals};
use std::collections::HashSet;
use std::os::fd::AsFd;
use std::path::Path;
use std::time::{Duration, Instant};

pub use drift::{Drift, Outcome};
pub use signals::End;

/// How the service goes about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// Policies that are not in the file are to go.
    pub prune: bool,
    /// How often to look whether another hand has changed something.
    pub every: Duration,
    /// Whether what another hand has changed stays as it is.
    pub leave_drift: bool,
}

/// Something that the one who runs the service may want to say.
#[derive(Debug)]
pub enum Event<'a> {
    /// The file was applied, at the start or once more.
    Applied(&'a Report),
    /// Another hand has changed what was in force; nothing else has changed since the last event.
    Drift(&'a [Drift]),
    /// A canary had lost its watcher and was taken back.
    CanaryReverted {
        /// Relative to the cgroup2 mount.
        cgroup: &'a str,
        /// Kernel name of the canary.
        canary: &'a str,
    },
    /// The file has changed and is not taken; the one before stays in force.
    BadFile(&'a FileError),
    /// The host could not be looked at; it is as it was before.
    Failed(&'a Error),
}

/// What takes events.
type Tell<'a> = &'a mut dyn FnMut(Event<'_>);

/// Keeps a policy file in force until SIGTERM or SIGINT; SIGHUP reads the file again. systemd, when it has started us,
/// is told when all is in force for the first time and what the state is.
///
/// The three signals are blocked in the calling thread and stay so: it is for a process without other threads that ends
/// afterwards.
///
/// # Errors
/// Whatever is wrong with the file or the host at the start; later problems go to `tell`.
pub fn keep_in_force(loader: &Loader, path: &Path, options: &Options, tell: Tell<'_>) -> Result<End> {
    let signals = Signals::block()?;
    let mut file_watch = Watch::of_file(path)?;
    let file = PolicyFile::read(path, loader.mount())?;
    let mut service = Service {
        loader,
        file,
        options,
        cgroups: None,
        looked: Instant::now(),
        ledger: Ledger::default(),
        failure: None,
        problems: HashSet::new(),
        has_failed: false,
    };
    let first = service.round(Cause::File, tell);
    // A signal may have ended a wait for the lock, or kept the rest of the file from being applied.
    let mut request = signals.next()?;
    if let Some(Request::End(end)) = request {
        return Ok(stopped(end));
    }
    first?;
    notify(&[NotifyState::Ready]);

    loop {
        if request.is_none() {
            let cgroups = service.cgroups.as_ref().expect("a round leaves a watch");
            wait_for(&[signals.as_fd(), file_watch.as_fd(), cgroups.as_fd()], service.next_look())?;
            request = signals.next()?;
        }
        let reload = match request.take() {
            Some(Request::End(end)) => return Ok(stopped(end)),
            Some(Request::Reload) => true,
            None => false,
        };
        let cgroups = service.cgroups.as_ref().expect("a round leaves a watch");
        let file_changed = file_watch.has_changed()?;
        let cgroups_changed = cgroups.has_changed()?;
        if reload {
            notify_reloading();
            // Who asks gets an answer, though it be the same.
            service.failure = None;
        }
        if file_changed || reload {
            // First the watch: what is written after this is seen then, what was written before is read now.
            file_watch = Watch::of_file(path)?;
            service.read(path, tell);
        }
        let done = match (file_changed || reload, cgroups_changed) {
            (true, _) => service.round(Cause::File, tell),
            (false, true) => service.round(Cause::Cgroups, tell),
            // By the clock and not by what woke us: others may keep us awake.
            (false, false) if Instant::now() >= service.next_look() => service.look(tell),
            (false, false) => continue,
        };
        match done {
            Ok(()) => service.failure = None,
            Err(error) => {
                // It may be the signal that has ended a wait for the lock. Then there is nothing to complain about.
                request = signals.next()?;
                if let Some(Request::End(end)) = request {
                    return Ok(stopped(end));
                }
                service.complain(&error, tell);
            }
        }
        if reload {
            notify(&[NotifyState::Ready]);
        }
    }
}

fn stopped(end: End) -> End {
    notify(&[NotifyState::Stopping]);
    end
}

/// Why the file is applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cause {
    /// At the start, because it has changed, or because somebody says so: all of it counts.
    File,
    /// A cgroup has appeared or gone.
    Cgroups,
    /// A look has found something that another hand has changed, or that failed before.
    Drift,
}

struct Service<'a> {
    loader: &'a Loader,
    file: PolicyFile,
    options: &'a Options,
    /// The way to every cgroup of the file.
    cgroups: Option<Watch>,
    /// When the policies were looked at for the last time.
    looked: Instant,
    ledger: Ledger,
    /// What went wrong the last time, and was told.
    failure: Option<String>,
    /// What was wrong with single cgroups after the last apply, and was told.
    problems: HashSet<String>,
    /// Whether the loader has failed for one of them; the next look tries again.
    has_failed: bool,
}

impl Service<'_> {
    /// Takes the file if there is nothing wrong with it.
    fn read(&mut self, path: &Path, tell: Tell<'_>) {
        let checked = PolicyFile::read(path, self.loader.mount()).and_then(|file| file.check_natives().map(|()| file));
        match checked {
            Ok(file) => self.file = file,
            Err(error) => tell(Event::BadFile(&error)),
        }
    }

    /// One apply. The watch is set up before the look at the host, so that nothing falls in between.
    fn round(&mut self, cause: Cause, tell: Tell<'_>) -> Result<()> {
        let cgroups = self.file.entries.iter().map(|entry| entry.cgroup.clone());
        self.cgroups = Some(Watch::of_cgroups(self.loader.mount().path(), cgroups.collect())?);
        self.looked = Instant::now();
        let observed = Observed::of(self.loader, &self.file)?;
        self.ledger.learn(&observed.policies);
        let mut plan = Plan::new(&self.file, &observed, self.options.prune);
        // After a change of the file, or on demand, nothing is drift: all that differs is to be as the file says.
        let found = if cause == Cause::File { Vec::new() } else { self.ledger.drift(&plan, &id_of) };
        if self.options.leave_drift {
            leave(&mut plan, &found);
        }
        let report = apply(self.loader, &plan);
        let drift = self.ledger.settle(&plan, &report, &found, &id_of);
        if report.rows.iter().any(|row| matches!(row.done, Done::Interrupted)) {
            // The end is near, and whoever asked for it knows.
            return Ok(());
        }
        if report.changed() {
            self.note_mended();
        }
        self.has_failed = report.rows.iter().any(|row| matches!(row.done, Done::Failed(_)));
        let problem = |row: &crate::fleet::Row| Some(format!("{}: {}", row.cgroup, row.problem()?));
        let problems: HashSet<String> = report.rows.iter().filter_map(problem).collect();
        let told = std::mem::replace(&mut self.problems, problems);
        notify(&[NotifyState::Status(&status_line(&report))]);
        if !drift.is_empty() {
            tell(Event::Drift(&drift));
        }
        let is_drift = |row: usize| found.iter().any(|found| found.step == row);
        let has_more = |(index, row): (usize, &crate::fleet::Row)| {
            !is_drift(index) && (row.done.changed() || problem(row).is_some_and(|problem| !told.contains(&problem)))
        };
        let is_asked_for = cause != Cause::Drift && drift.is_empty();
        if is_asked_for || report.rows.iter().enumerate().any(has_more) {
            tell(Event::Applied(&report));
        }
        Ok(())
    }

    /// Looks whether another hand has changed something, and puts it back. Reads the policies and nothing else, unless it
    /// finds something.
    fn look(&mut self, tell: Tell<'_>) -> Result<()> {
        self.looked = Instant::now();
        // What another ccactl has half done is no drift; what it has done in the end, the next look finds.
        if self.loader.busy()?.is_some() {
            return Ok(());
        }
        let observed = Observed::without_sockets(self.loader, &self.file)?;
        let plan = Plan::new(&self.file, &observed, self.options.prune);
        let found = self.ledger.drift(&plan, &id_of);
        if self.loader.busy()?.is_some() {
            return Ok(());
        }
        self.ledger.learn(&observed.policies);
        self.ledger.forget_cured(&plan, &found);
        self.mend_what_was_left(&observed.policies, tell)?;
        let is_news = !self.ledger.news(&plan, &found).is_empty();
        if self.options.leave_drift && is_news {
            tell(Event::Drift(&self.ledger.leave(&plan, &found)));
        }
        // What failed is tried again. A conflict is none until the plan has another step for it.
        let can_be_tried = |found: &Found| !matches!(plan.steps[found.step].action, Action::Conflict { .. });
        let is_to_do = !self.options.leave_drift && (is_news || found.iter().any(can_be_tried));
        if is_to_do || self.has_failed { self.round(Cause::Drift, tell) } else { Ok(()) }
    }

    /// Takes back canaries that nobody watches any more, and puts back the pins of maps, as every change of a policy does.
    fn mend_what_was_left(&self, policies: &[PolicyStatus], tell: Tell<'_>) -> Result<()> {
        let lost = |policy: &PolicyStatus| {
            let canary = policy.canary.as_ref().filter(|canary| !canary.is_watched)?;
            Some((self.loader.mount().display(policy.cgroup.as_ref()?), canary.kernel_name.clone()))
        };
        let lost: Vec<(String, String)> = policies.iter().filter_map(lost).collect();
        if lost.is_empty() && !self.loader.has_lost_pins()? {
            return Ok(());
        }
        self.loader.mend()?;
        lost.iter().for_each(|(cgroup, canary)| tell(Event::CanaryReverted { cgroup, canary }));
        Ok(())
    }

    /// The number is for people; that it cannot be written is no reason to stop.
    fn note_mended(&self) {
        let counts = self.ledger.counts();
        if counts.is_empty() {
            return;
        }
        if let Err(error) = self.loader.note_mended(&counts) {
            tracing::warn!("cannot count what was put back: {}", one_line(&error));
        }
    }

    /// Tells what went wrong, once: the next look finds the same.
    fn complain(&mut self, error: &Error, tell: Tell<'_>) {
        let text = one_line(error);
        if self.failure.as_ref() != Some(&text) {
            notify(&[NotifyState::Status(&text)]);
            tell(Event::Failed(error));
            self.failure = Some(text);
        }
    }

    fn next_look(&self) -> Instant {
        self.looked + self.options.every
    }
}

/// Takes these steps out of a plan.
fn leave(plan: &mut Plan, found: &[Found]) {
    for found in found {
        plan.steps[found.step].action = Action::Leave;
    }
    let steps = &plan.steps;
    plan.order.retain(|index| steps[*index].action != Action::Leave);
}

fn id_of(path: &Path) -> Option<u64> {
    cgroup::id(path).ok()
}

fn status_line(report: &Report) -> String {
    format!("{} in force, {} waiting for their cgroup, {} failed", report.in_force(), report.waiting(), report.failed())
}

/// Waits for one of the descriptors until a moment.
fn wait_for(fds: &[std::os::fd::BorrowedFd<'_>], until: Instant) -> Result<()> {
    let mut polled: Vec<PollFd<'_>> = fds.iter().map(|fd| PollFd::new(*fd, PollFlags::POLLIN)).collect();
    loop {
        let left = until.saturating_duration_since(Instant::now());
        // A whole millisecond more, or poll would end several times within the last one.
        let timeout = PollTimeout::try_from(left + Duration::from_millis(1)).unwrap_or(PollTimeout::MAX);
        match poll(&mut polled, timeout) {
            Ok(0) if Instant::now() < until => {}
            Ok(_) => return Ok(()),
            Err(Errno::EINTR) => {}
            Err(errno) => return Err(Error::system("cannot wait for events")(errno)),
        }
    }
}

/// systemd matches the end of a reload to its begin by the time.
fn notify_reloading() {
    match NotifyState::monotonic_usec_now() {
        Ok(now) => notify(&[NotifyState::Reloading, now]),
        Err(error) => tracing::warn!("cannot read the clock: {error}"),
    }
}

/// Without systemd there is nobody to tell. If it cannot be told, the policies are in force all the same.
fn notify(state: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(state) {
        tracing::warn!("cannot notify systemd: {error}");
    }
}
