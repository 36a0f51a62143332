//! The file of a recording: claimed before anything is attached, made visible under its name when it is complete.
//!
//! While it runs, only `FILE.partial.arrows` exists; an exclusive lock on it marks it as in use, and a kill releases
//! that lock, so that a leftover can be told from a recording that runs.

use crate::error::{Error, Result};
use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// What the name of that stream has beyond the name of the file.
pub(crate) const PARTIAL_SUFFIX: &str = ".partial.arrows";

/// The stream that stands beside `file` while a recording runs.
#[must_use]
pub fn partial_path(file: &Path) -> PathBuf {
    with_suffix(file, PARTIAL_SUFFIX)
}

pub(crate) fn with_suffix(file: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(file);
    name.push(suffix);
    name.into()
}

/// A claimed target. Dropping it removes the stream unless [`Target::keep_stream`] was called.
pub(crate) struct Target {
    path: PathBuf,
    stream: Flock<File>,
    stream_path: PathBuf,
    is_kept: bool,
}

impl Target {
    /// Takes the lock, so that a second recording to `path` is refused from here on.
    pub(crate) fn claim(path: &Path, force: bool) -> Result<Target> {
        Target::refuse(path, force)?;
        let stream_path = partial_path(path);
        let stream = lock(path, &stream_path)?;
        // From here on the drop removes the stream, unless it is somebody's data.
        let mut target = Target { path: path.to_owned(), stream, stream_path, is_kept: true };
        let failed = |cause| Error::Target { path: target.stream_path.clone(), cause };
        if target.stream.metadata().map_err(failed)?.len() > 0 {
            if !force {
                return Err(Error::Leftover { path: target.stream_path.clone() });
            }
            target.stream.set_len(0).map_err(failed)?;
        }
        target.is_kept = false;
        // A recording that held the lock until now has just made its file.
        Target::refuse(path, force)?;
        Ok(target)
    }

    /// Fails when there is something under this name that must stay.
    pub(crate) fn refuse(path: &Path, force: bool) -> Result<()> {
        match fs::metadata(path) {
            Ok(metadata) if !metadata.is_file() => Err(Error::NotAFile { path: path.to_owned() }),
            Ok(_) if !force => Err(Error::Exists { path: path.to_owned() }),
            Ok(_) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(cause) => Err(Error::Target { path: path.to_owned(), cause }),
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn stream_path(&self) -> &Path {
        &self.stream_path
    }

    /// A handle for the writer; the lock stays with the target.
    pub(crate) fn stream_file(&self) -> Result<File> {
        self.stream.try_clone().map_err(|cause| Error::Target { path: self.stream_path.clone(), cause })
    }

    /// From now on the stream holds rows that somebody may want.
    pub(crate) fn keep_stream(&mut self) {
        self.is_kept = true;
    }

    /// Whether the stream itself is what was asked for.
    pub(crate) fn is_stream(&self) -> bool {
        self.path.extension().is_some_and(|extension| extension == "arrows")
    }

    /// The stream becomes the file.
    pub(crate) fn rename_stream(&self) -> io::Result<()> {
        self.stream.sync_all()?;
        fs::rename(&self.stream_path, &self.path)
    }

    /// The file is complete: the stream has done its duty.
    pub(crate) fn remove_stream(mut self) {
        self.is_kept = false;
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        if !self.is_kept {
            let _ = fs::remove_file(&self.stream_path);
        }
    }
}

fn lock(path: &Path, stream_path: &Path) -> Result<Flock<File>> {
    let failed = |cause| Error::Target { path: stream_path.to_owned(), cause };
    loop {
        let file =
            OpenOptions::new().read(true).write(true).create(true).truncate(false).open(stream_path).map_err(failed)?;
        let locked = match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
            Ok(locked) => locked,
            Err((_, Errno::EWOULDBLOCK)) => return Err(Error::Busy { path: path.to_owned() }),
            Err((_, errno)) => return Err(failed(errno.into())),
        };
        // The holder before us may have removed the file between our open and our lock: then try anew.
        let ours = locked.metadata().map_err(failed)?;
        if fs::metadata(stream_path).is_ok_and(|there| there.ino() == ours.ino() && there.dev() == ours.dev()) {
            return Ok(locked);
        }
    }
}
