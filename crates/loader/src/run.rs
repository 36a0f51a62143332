//! A command in a transient cgroup with an algorithm, cleaned up however it ends.

use crate::bpffs;
use crate::cgroup;
use crate::error::{Error, Result};
use crate::loader::Loader;
use crate::policy::Policies;
use crate::request::LoadRequest;
use crate::transient::TransientCgroup;
use ccactl_abi::exit;
use nix::sys::signal::{SigSet, Signal, kill};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::unistd::Pid;
use std::fs;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{self, Child, Command, ExitStatus};

const PREFIX: &str = "ccactl-run-";
/// Of the cgroup of a proxy's listener.
pub(crate) const SPLIT_PREFIX: &str = "ccactl-split-";
const FORWARDED: [Signal; 3] = [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP];

impl Loader {
    /// Runs `command` with `algorithm` and returns the exit code to pass on: the command's own, or 128 + signal. The
    /// cgroup of `request` is ignored.
    ///
    /// SIGINT, SIGTERM and SIGHUP are blocked in the calling thread until the end and passed on to the command, so call
    /// it from a process without other threads.
    ///
    /// # Errors
    /// What [`Loader::load`] reports, and a command that does not start.
    pub fn run(&self, request: &LoadRequest, mut command: Command) -> Result<u8> {
        let signals = Signals::block()?;
        self.sweep_runs();
        let name = PathBuf::from(format!("/{PREFIX}{}", process::id()));
        // Dropped in reverse: first the policy, then the cgroup.
        let cgroup = TransientCgroup::create(&self.mount, &name)?;
        let policy = PolicyGuard { loader: self, id: cgroup.id()? };
        self.load(&LoadRequest { cgroup: cgroup.path().to_owned(), create: false, ..request.clone() })?;
        if signals.pending()?.is_some() {
            return Ok(exit::INTERRUPTED);
        }

        cgroup.enter(&mut command)?;
        signals.unblock_in(&mut command);
        let program = command.get_program().to_string_lossy().into_owned();
        let mut child = command.spawn().map_err(Error::io(format!("cannot start {program}")))?;
        let status = signals.wait(&mut child);
        drop(policy);
        cgroup.remove()?;
        Ok(exit_code(status?))
    }

    /// Removes what runs and proxies that were killed have left: their process is gone and their cgroup is empty.
    pub(crate) fn sweep_runs(&self) {
        for name in bpffs::names(self.mount.path()).unwrap_or_default() {
            let pid = [PREFIX, SPLIT_PREFIX].iter().find_map(|prefix| name.strip_prefix(prefix));
            let Some(pid) = pid.filter(|pid| pid.parse::<u32>().is_ok()) else { continue };
            let path = self.mount.path().join(&name);
            if Path::new("/proc").join(pid).exists() || is_populated(&path) {
                continue;
            }
            tracing::info!("removing the leftover {}", path.display());
            if let Ok(id) = cgroup::id(&path) {
                drop(PolicyGuard { loader: self, id });
                if let Err(error) = self.unload_receivers(|found| found == id) {
                    tracing::warn!("{error}");
                }
            }
            let _ = fs::remove_dir(&path);
        }
    }
}

fn is_populated(cgroup: &Path) -> bool {
    let events = fs::read_to_string(cgroup.join("cgroup.events")).unwrap_or_default();
    events.lines().any(|line| line == "populated 1")
}

fn exit_code(status: ExitStatus) -> u8 {
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(exit::FAILURE)
}

/// Takes the policy of a cgroup back when dropped, if it has one.
struct PolicyGuard<'a> {
    loader: &'a Loader,
    id: u64,
}

impl Drop for PolicyGuard<'_> {
    fn drop(&mut self) {
        let has_policy =
            Policies::open(&self.loader.paths).and_then(|policies| policies.map(|p| p.get(self.id)).transpose());
        match has_policy.map(Option::flatten) {
            Ok(None) => {}
            Ok(Some(_)) => {
                if let Err(error) = self.loader.unload_id(self.id) {
                    tracing::warn!("{error}");
                }
            }
            Err(error) => tracing::warn!("{error}"),
        }
    }
}

/// Signals as events, so that none of them ends this process before it has cleaned up.
struct Signals {
    before: SigSet,
    fd: SignalFd,
}

impl Signals {
    fn block() -> Result<Self> {
        let what = "cannot block signals";
        let mut set = SigSet::empty();
        for signal in FORWARDED {
            set.add(signal);
        }
        set.add(Signal::SIGCHLD);
        let before = SigSet::thread_get_mask().map_err(|errno| Error::io(what)(errno.into()))?;
        set.thread_block().map_err(|errno| Error::io(what)(errno.into()))?;
        let fd = SignalFd::with_flags(&set, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK)
            .map_err(|errno| Error::io(what)(errno.into()))?;
        Ok(Self { before, fd })
    }

    /// The command gets the mask that we were started with.
    fn unblock_in(&self, command: &mut Command) {
        let before = self.before;
        // SAFETY: between fork and exec only sigprocmask runs, which is async-signal-safe.
        unsafe {
            command.pre_exec(move || before.thread_set_mask().map_err(Into::into));
        }
    }

    /// A signal that has come in and is to be passed on, with whether the terminal sent it.
    fn pending(&self) -> Result<Option<(Signal, bool)>> {
        loop {
            let info = self.fd.read_signal().map_err(|errno| Error::io("cannot read signals")(errno.into()))?;
            let Some(info) = info else { return Ok(None) };
            let signal = Signal::try_from(info.ssi_signo as i32).unwrap_or(Signal::SIGTERM);
            if FORWARDED.contains(&signal) {
                return Ok(Some((signal, info.ssi_code == libc::SI_KERNEL)));
            }
        }
    }

    fn wait(&self, child: &mut Child) -> Result<ExitStatus> {
        use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
        use std::os::fd::AsFd;
        loop {
            if let Some(status) = child.try_wait().map_err(Error::io("cannot wait for the command"))? {
                return Ok(status);
            }
            let mut fds = [PollFd::new(self.fd.as_fd(), PollFlags::POLLIN)];
            // The timeout only guards against a lost SIGCHLD; the signal itself ends the wait.
            let _ = poll(&mut fds, PollTimeout::from(1000_u16));
            while let Some((signal, from_terminal)) = self.pending()? {
                // The terminal has sent it to the whole foreground group, the command included.
                if !from_terminal {
                    let _ = kill(Pid::from_raw(child.id().cast_signed()), signal);
                }
            }
        }
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        let _ = self.before.thread_set_mask();
    }
}
