//! Folders of our own, and locks on them.
//!
//! A lock is a flock(2) on a folder that only its owner may open (mode 0700), so that no other user can hold it. The
//! folder is where the protected state is, on a bpffs for the loader: who sees the same state sees the same lock.

use crate::interrupt;
use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};
use nix::sys::stat::{major, minor};
use nix::unistd::geteuid;
use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

const OWNER_ONLY: u32 = 0o700;
/// A change takes some tens of milliseconds on a quiet host, and many may wait. Beyond this, the holder hangs.
const PATIENCE: Duration = Duration::from_secs(60);
/// After this long, a person wants to know whom we are waiting for.
const SILENCE: Duration = Duration::from_secs(1);
const RETRY: Duration = Duration::from_millis(5);
/// Whoever is asked to end may have something to take back first, and the holder may be about to let go. All waits of the
/// process together last a second then.
static AFTER_SIGNAL: Retries = Retries(AtomicU32::new(200));

/// So many looks are left.
struct Retries(AtomicU32);

impl Retries {
    fn take(&self) -> bool {
        self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_ok()
    }
}

/// Why a lock was not taken, or a folder not made.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file system refused.
    #[error("cannot {action} {}", path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// With which folder.
        path: PathBuf,
        /// What the kernel answered.
        source: io::Error,
    },
    /// Somebody else made it before us.
    #[error(
        "{} belongs to user {owner}: expected a folder of user {expected}; remove it, or have its owner remove it",
        path.display()
    )]
    Foreign {
        /// The folder.
        path: PathBuf,
        /// Whose it is.
        owner: u32,
        /// Whose it should be.
        expected: u32,
    },
    /// The holder does not let go.
    #[error("{holder} has held {} for {seconds} s: wait for its end, or end it", path.display())]
    Held {
        /// The folder.
        path: PathBuf,
        /// Process and command.
        holder: Holder,
        /// Time waited.
        seconds: u64,
    },
    /// A signal came while we waited, or before.
    #[error("ended by a signal while {holder} held {}", path.display())]
    Interrupted {
        /// The folder.
        path: PathBuf,
        /// Process and command.
        holder: Holder,
    },
}

impl Error {
    fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { action, path, source }
    }
}

/// Who holds a lock, for a message. `None` where /proc does not say: the process is in another pid namespace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holder(Option<(u32, String)>);

impl std::fmt::Display for Holder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.0 {
            Some((pid, command)) => write!(f, "process {pid} ({command})"),
            None => f.write_str("a process that is out of sight from here"),
        }
    }
}

impl Holder {
    fn of(folder: &File) -> Self {
        let pid = folder.metadata().ok().and_then(|meta| {
            let locks = fs::read_to_string("/proc/locks").unwrap_or_default();
            holder_in(&locks, meta.dev(), meta.ino())
        });
        Self(pid.map(|pid| {
            let command = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            let words: Vec<_> = command.split(|&byte| byte == 0).map(String::from_utf8_lossy).collect();
            (pid, words.join(" ").trim_end().escape_debug().to_string())
        }))
    }
}

/// The process that a line like `1: FLOCK  ADVISORY  WRITE 12008 00:28:16186 0 EOF` names for this inode. Lines of those
/// who wait have an arrow.
fn holder_in(locks: &str, dev: u64, ino: u64) -> Option<u32> {
    let wanted = format!("{:02x}:{:02x}:{ino}", major(dev), minor(dev));
    locks.lines().find_map(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let [_, "FLOCK", _, _, pid, inode, ..] = fields[..] else { return None };
        // A holder in another pid namespace has the number 0.
        pid.parse().ok().filter(|pid| inode == wanted && *pid != 0)
    })
}

/// Makes a folder that only its owner may enter, and says so of one that is there already.
///
/// # Errors
/// [`Error::Io`], and [`Error::Foreign`] when it is another user's.
pub fn ensure_private(path: &Path) -> Result<(), Error> {
    loop {
        match DirBuilder::new().mode(OWNER_ONLY).create(path) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(Error::io("make", path)(error)),
            _ => {}
        }
        match close_to_others(path) {
            // Its last holder has removed it since.
            Err(Error::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => {}
            done => return done,
        }
    }
}

fn close_to_others(path: &Path) -> Result<(), Error> {
    // Not `metadata`, which follows a link that somebody else has placed there.
    let found = fs::symlink_metadata(path).map_err(Error::io("look at", path))?;
    if !found.is_dir() {
        return Err(Error::io("use", path)(io::ErrorKind::NotADirectory.into()));
    }
    let expected = geteuid().as_raw();
    if found.uid() != expected {
        return Err(Error::Foreign { path: path.to_owned(), owner: found.uid(), expected });
    }
    if found.mode() & 0o777 != OWNER_ONLY {
        // An older ccactl made it open to all; the umask may have taken from ours.
        fs::set_permissions(path, Permissions::from_mode(OWNER_ONLY)).map_err(Error::io("close to others", path))?;
    }
    Ok(())
}

/// A lock on a folder, held until dropped.
#[derive(Debug)]
pub struct FolderLock {
    folder: Flock<File>,
    path: PathBuf,
}

impl FolderLock {
    /// Makes the folder if need be and waits until nobody else holds it. Says for whom after a second.
    ///
    /// # Errors
    /// [`Error`]: all of them.
    pub fn wait(path: &Path, arg: Share) -> Result<Self, Error> {
        Self::wait_within(path, arg, PATIENCE)
    }

    /// As [`FolderLock::wait`], for what may take its holder longer than a change of the host's state.
    ///
    /// # Errors
    /// [`Error`]: all of them.
    pub fn wait_within(path: &Path, share: Share, patience: Duration) -> Result<Self, Error> {
        let start = Instant::now();
        let mut is_told = false;
        loop {
            ensure_private(path)?;
            let busy = match Self::attempt(path, share)? {
                Attempt::Locked(lock) => return Ok(lock),
                // Its holder has removed it since.
                Attempt::Gone => continue,
                Attempt::Busy(folder) => folder,
            };
            if interrupt::is_requested() && !AFTER_SIGNAL.take() {
                return Err(Error::Interrupted { path: path.to_owned(), holder: Holder::of(&busy) });
            }
            if start.elapsed() >= patience {
                let (holder, seconds) = (Holder::of(&busy), patience.as_secs());
                return Err(Error::Held { path: path.to_owned(), holder, seconds });
            }
            if start.elapsed() >= SILENCE && !is_told {
                tracing::warn!("waiting for {}, which holds {}", Holder::of(&busy), path.display());
                is_told = true;
            }
            thread::sleep(RETRY);
        }
    }

    /// The lock, if it is to be had now; `None` also without the folder.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn try_now(path: &Path, share: Share) -> Result<Option<Self>, Error> {
        Ok(match Self::attempt(path, share)? {
            Attempt::Locked(lock) => Some(lock),
            Attempt::Gone | Attempt::Busy(_) => None,
        })
    }

    /// Who holds it exclusively, if anybody. Looking keeps nobody from taking it for longer than a moment.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn holder(path: &Path) -> Result<Option<Holder>, Error> {
        Ok(match Self::attempt(path, Share::WithOthers)? {
            Attempt::Busy(folder) => Some(Holder::of(&folder)),
            Attempt::Gone | Attempt::Locked(_) => None,
        })
    }

    fn attempt(path: &Path, share: Share) -> Result<Attempt, Error> {
        let folder = match open(path) {
            Ok(folder) => folder,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Attempt::Gone),
            Err(error) => return Err(Error::io("open", path)(error)),
        };
        let arg = match share {
            Share::Alone => FlockArg::LockExclusiveNonblock,
            Share::WithOthers => FlockArg::LockSharedNonblock,
        };
        match Flock::lock(folder, arg) {
            // Removed between our open and our lock: a lock on it protects nothing.
            Ok(folder) if is_removed(&folder) => Ok(Attempt::Gone),
            Ok(folder) => Ok(Attempt::Locked(Self { folder, path: path.to_owned() })),
            Err((folder, Errno::EWOULDBLOCK)) => Ok(Attempt::Busy(folder)),
            Err((_, errno)) => Err(Error::io("lock", path)(errno.into())),
        }
    }

    /// A shared lock becomes ours alone, if nobody else shares it.
    #[must_use]
    pub fn into_alone(self) -> Option<Self> {
        let Self { folder, path } = self;
        folder.relock(FlockArg::LockExclusiveNonblock).ok()?;
        Some(Self { folder, path })
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Whether others may have the same lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Share {
    /// Nobody else.
    Alone,
    /// Others who share it.
    WithOthers,
}

enum Attempt {
    Locked(FolderLock),
    Busy(File),
    Gone,
}

fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).custom_flags(libc::O_DIRECTORY | libc::O_NOFOLLOW).open(path)
}

fn is_removed(folder: &File) -> bool {
    folder.metadata().is_ok_and(|meta| meta.nlink() == 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn folder() -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("state");
        (dir, path)
    }

    fn wait_briefly(path: &Path) -> Result<FolderLock, Error> {
        FolderLock::wait_within(path, Share::Alone, Duration::ZERO)
    }

    #[test]
    fn a_second_holder_waits_and_is_told_who_has_it() {
        let (_dir, path) = folder();
        let first = FolderLock::wait(&path, Share::Alone).unwrap();
        let error = wait_briefly(&path).unwrap_err();
        assert!(matches!(&error, Error::Held { .. }));
        assert!(error.to_string().contains(&format!("process {}", std::process::id())), "{error}");
        assert!(FolderLock::holder(&path).unwrap().is_some());
        drop(first);
        assert!(FolderLock::holder(&path).unwrap().is_none());
        wait_briefly(&path).unwrap();
    }

    #[test]
    fn those_who_share_do_not_keep_each_other_out() {
        let (_dir, path) = folder();
        let first = FolderLock::wait(&path, Share::WithOthers).unwrap();
        let second = FolderLock::wait(&path, Share::WithOthers).unwrap();
        assert!(FolderLock::holder(&path).unwrap().is_none());
        assert!(FolderLock::try_now(&path, Share::Alone).unwrap().is_none());
        assert!(first.into_alone().is_none());
        assert!(second.into_alone().is_some());
    }

    #[test]
    fn a_folder_that_was_removed_protects_nothing() {
        let (_dir, path) = folder();
        let first = FolderLock::wait(&path, Share::Alone).unwrap();
        fs::remove_dir(&path).unwrap();
        assert!(FolderLock::try_now(&path, Share::Alone).unwrap().is_none());
        let second = wait_briefly(&path).unwrap();
        drop(first);
        assert!(matches!(wait_briefly(&path), Err(Error::Held { .. })));
        drop(second);
    }

    #[test]
    fn nobody_else_can_open_it_whatever_the_umask_and_whoever_made_it_before() {
        let (_dir, path) = folder();
        fs::create_dir(&path).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o777)).unwrap();
        drop(FolderLock::wait(&path, Share::Alone).unwrap());
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o7777, OWNER_ONLY);
    }

    #[test]
    fn a_link_in_its_place_is_refused() {
        let (dir, path) = folder();
        let elsewhere = dir.path().join("elsewhere");
        fs::create_dir(&elsewhere).unwrap();
        fs::set_permissions(&elsewhere, Permissions::from_mode(0o755)).unwrap();
        symlink(&elsewhere, &path).unwrap();
        assert!(matches!(FolderLock::wait(&path, Share::Alone), Err(Error::Io { .. })));
        assert_eq!(fs::metadata(&elsewhere).unwrap().mode() & 0o777, 0o755, "nothing was changed through the link");
    }

    #[test]
    fn the_holder_of_a_lock_is_read_from_the_table_of_the_kernel() {
        let table = "1: FLOCK  ADVISORY  WRITE 12008 00:28:16186 0 EOF\n\
                     2: -> FLOCK  ADVISORY  WRITE 13000 00:28:16186 0 EOF\n\
                     3: POSIX  ADVISORY  WRITE 44 00:28:7 0 EOF\n\
                     4: FLOCK  ADVISORY  WRITE 0 00:28:9 0 EOF\n";
        let dev = nix::sys::stat::makedev(0, 0x28);
        assert_eq!(holder_in(table, dev, 16186), Some(12008));
        assert_eq!(holder_in(table, dev, 7), None, "another kind of lock");
        assert_eq!(holder_in(table, dev, 9), None, "in another pid namespace");
    }
}
