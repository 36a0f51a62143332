//! Signals as events, so that none of them ends the process in the middle of an apply.

use crate::fleet::error::{Error, Result};
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use std::os::fd::{AsFd, BorrowedFd};

/// Why the service ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// SIGTERM: it was asked to.
    Terminated,
    /// SIGINT: Ctrl-C.
    Interrupted,
}

/// What a signal asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Request {
    End(End),
    /// SIGHUP.
    Reload,
}

/// The blocked signals. They stay blocked: a second SIGTERM while the process ends is to change nothing either.
pub(super) struct Signals {
    fd: SignalFd,
}

impl Signals {
    pub(super) fn block() -> Result<Self> {
        let failed = || Error::system("cannot block signals");
        let set = SigSet::from_iter([Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP]);
        set.thread_block().map_err(failed())?;
        let fd = SignalFd::with_flags(&set, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK).map_err(failed())?;
        Ok(Self { fd })
    }

    /// What the signals since the last call ask for; an end counts more than a reload.
    pub(super) fn next(&self) -> Result<Option<Request>> {
        let mut request = None;
        while let Some(info) = self.fd.read_signal().map_err(Error::system("cannot read signals"))? {
            match Signal::try_from(info.ssi_signo.cast_signed()) {
                Ok(Signal::SIGTERM) => return Ok(Some(Request::End(End::Terminated))),
                Ok(Signal::SIGINT) => return Ok(Some(Request::End(End::Interrupted))),
                _ => request = Some(Request::Reload),
            }
        }
        Ok(request)
    }
}

impl AsFd for Signals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}
