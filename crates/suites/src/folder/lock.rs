//! Locks on files, also where several machines share a folder.

use crate::{Error, Result};
use ccactl_host::output::Place;
use std::fs::{File, TryLockError};
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

/// Whoever can open a file can lock it, and keep us out.
pub(super) const MODE: u32 = 0o600;
const ATTENTION: Duration = Duration::from_millis(20);

/// What became of a lock.
#[derive(Debug)]
pub(super) enum Locked {
    /// Held until the file is dropped.
    Ours(File),
    /// Another process has it.
    Elsewhere,
    /// The file system has no locks.
    Unknown,
}

/// How long to wait for another process.
#[derive(Debug, Clone, Copy)]
pub(super) enum Patience {
    /// Not at all: it has the lock for as long as a cell takes.
    None,
    /// It writes a few files.
    ForFiles,
}

impl Patience {
    fn time(self) -> Duration {
        match self {
            Patience::None => Duration::ZERO,
            Patience::ForFiles => Duration::from_secs(60),
        }
    }
}

/// Locks a file that is ours alone, which is made where there is none.
pub(super) fn file(path: &Path, patience: Patience) -> Result<Locked> {
    let file = Place::at(path).and_then(|place| place.claim(MODE));
    let file = file.map_err(|error| Error::folder(path, "open it")(error.into()))?;
    let end = Instant::now() + patience.time();
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(Locked::Ours(file)),
            Err(TryLockError::WouldBlock) if Instant::now() < end => std::thread::sleep(ATTENTION),
            Err(TryLockError::WouldBlock) => return Ok(Locked::Elsewhere),
            Err(TryLockError::Error(cause)) if has_no_locks(&cause) => return Ok(Locked::Unknown),
            Err(TryLockError::Error(cause)) => return Err(Error::folder(path, "lock it")(cause)),
        }
    }
}

/// As NFS mounted with `nolock` against a server without them, or Lustre without `flock`.
fn has_no_locks(cause: &io::Error) -> bool {
    matches!(cause.raw_os_error(), Some(libc::ENOLCK | libc::ENOSYS | libc::EOPNOTSUPP))
}
