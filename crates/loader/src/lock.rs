//! One change at a time: a lock file that is held for the length of one operation.

use crate::error::{Error, Result};
use crate::paths::Paths;
use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};
use std::fs::{self, File};
use std::thread;
use std::time::{Duration, Instant};

/// An operation takes some tens of milliseconds on a quiet host. Many may wait at the same time; beyond this, the holder hangs.
const PATIENCE: Duration = Duration::from_secs(60);
const RETRY: Duration = Duration::from_millis(5);

/// Holds the lock until dropped.
#[derive(Debug)]
pub(crate) struct Lock(#[expect(dead_code, reason = "held, not read")] Flock<File>);

impl Lock {
    pub(crate) fn take(paths: &Paths) -> Result<Self> {
        Self::take_within(paths, PATIENCE)
    }

    fn take_within(paths: &Paths, patience: Duration) -> Result<Self> {
        let path = paths.lock();
        fs::create_dir_all(&paths.run).map_err(Error::io(format!("cannot make {}", paths.run.display())))?;
        let mut file = File::create(&path).map_err(Error::io(format!("cannot open the lock {}", path.display())))?;
        let deadline = Instant::now() + patience;
        loop {
            file = match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
                Ok(lock) => return Ok(Self(lock)),
                Err((file, Errno::EWOULDBLOCK)) if Instant::now() < deadline => file,
                Err((_, Errno::EWOULDBLOCK)) => return Err(Error::Locked { path, seconds: patience.as_secs() }),
                Err((_, errno)) => {
                    return Err(Error::Io { what: format!("cannot lock {}", path.display()), source: errno.into() });
                }
            };
            thread::sleep(RETRY);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_holder_waits_and_then_gives_up() {
        let dir = tempfile::tempdir().unwrap();
        let paths = Paths { run: dir.path().join("run"), ..Paths::default() };
        let first = Lock::take(&paths).unwrap();
        assert!(matches!(Lock::take_within(&paths, Duration::ZERO), Err(Error::Locked { .. })));
        drop(first);
        Lock::take_within(&paths, Duration::ZERO).unwrap();
    }
}
