//! The service: applies a policy file, then again whenever its cgroups come and go or the file changes.
//!
//! Nothing here runs by the clock. The kernel reports (inotify) what happens to the directories on the way to each
//! cgroup and to the file, and one apply follows however many events have come in. The policies are in the kernel, so
//! the end of the service changes nothing.

mod paths;
mod signals;

use crate::apply::{Report, apply};
use crate::error::{Error, FileError, Result, one_line};
use crate::file::PolicyFile;
use crate::observed::Observed;
use crate::plan::Plan;
use ccactl_loader::Loader;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use paths::Watch;
use sd_notify::NotifyState;
use signals::{Request, Signals};
use std::os::fd::AsFd;
use std::path::Path;

pub use signals::End;

/// Something that the one who runs the service may want to say.
#[derive(Debug)]
pub enum Event<'a> {
    /// The file was applied, at the start or once more.
    Applied(&'a Report),
    /// The file has changed and is not taken; the one before stays in force.
    BadFile(&'a FileError),
    /// The host could not be looked at; it is as it was before.
    Failed(&'a Error),
}

/// Keeps a policy file in force until SIGTERM or SIGINT; SIGHUP reads the file again. systemd, when it has started us,
/// is told when all is in force for the first time and what the state is.
///
/// The three signals are blocked in the calling thread and stay so: it is for a process without other threads that ends
/// afterwards.
///
/// # Errors
/// Whatever is wrong with the file or the host at the start; later problems go to `tell`.
pub fn keep_in_force(loader: &Loader, path: &Path, prune: bool, tell: &mut dyn FnMut(Event<'_>)) -> Result<End> {
    let signals = Signals::block()?;
    let mut file_watch = Watch::of_file(path)?;
    let file = PolicyFile::read(path, loader.mount())?;
    let mut service = Service { loader, file, prune, cgroups: None };
    service.round(tell)?;
    notify(&[NotifyState::Ready]);

    loop {
        let cgroups = service.cgroups.as_ref().expect("a round leaves a watch");
        wait_for(&[signals.as_fd(), file_watch.as_fd(), cgroups.as_fd()])?;
        let request = signals.next()?;
        if let Some(Request::End(end)) = request {
            notify(&[NotifyState::Stopping]);
            return Ok(end);
        }
        let reload = request == Some(Request::Reload);
        let file_changed = file_watch.has_changed()?;
        if !cgroups.has_changed()? && !file_changed && !reload {
            continue;
        }
        if reload {
            notify_reloading();
        }
        if file_changed || reload {
            // First the watch: what is written after this is seen then, what was written before is read now.
            file_watch = Watch::of_file(path)?;
            service.read(path, tell);
        }
        if let Err(error) = service.round(tell) {
            notify(&[NotifyState::Status(&one_line(&error))]);
            tell(Event::Failed(&error));
        }
        if reload {
            notify(&[NotifyState::Ready]);
        }
    }
}

struct Service<'a> {
    loader: &'a Loader,
    file: PolicyFile,
    prune: bool,
    /// The way to every cgroup of the file.
    cgroups: Option<Watch>,
}

impl Service<'_> {
    /// Takes the file if there is nothing wrong with it.
    fn read(&mut self, path: &Path, tell: &mut dyn FnMut(Event<'_>)) {
        let checked = PolicyFile::read(path, self.loader.mount()).and_then(|file| file.check_natives().map(|()| file));
        match checked {
            Ok(file) => self.file = file,
            Err(error) => tell(Event::BadFile(&error)),
        }
    }

    /// One apply. The watch is set up before the look at the host, so that nothing falls in between.
    fn round(&mut self, tell: &mut dyn FnMut(Event<'_>)) -> Result<()> {
        let cgroups = self.file.entries.iter().map(|entry| entry.cgroup.clone());
        self.cgroups = Some(Watch::of_cgroups(self.loader.mount().path(), cgroups.collect())?);
        let observed = Observed::of(self.loader, &self.file)?;
        let report = apply(self.loader, &Plan::new(&self.file, &observed, self.prune));
        notify(&[NotifyState::Status(&status_line(&report))]);
        tell(Event::Applied(&report));
        Ok(())
    }
}

fn status_line(report: &Report) -> String {
    format!("{} in force, {} waiting for their cgroup, {} failed", report.in_force(), report.waiting(), report.failed())
}

fn wait_for(fds: &[std::os::fd::BorrowedFd<'_>]) -> Result<()> {
    let mut polled: Vec<PollFd<'_>> = fds.iter().map(|fd| PollFd::new(*fd, PollFlags::POLLIN)).collect();
    loop {
        match poll(&mut polled, PollTimeout::NONE) {
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
