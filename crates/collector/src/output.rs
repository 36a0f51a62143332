//! The file of a recording: claimed before anything is attached, made visible under its name when it is complete.
//!
//! While it runs, only `FILE.partial.arrows` exists; an exclusive lock on it marks it as in use, and a kill releases
//! that lock, so that a leftover can be told from a recording that runs.

use crate::deadline::Deadline;
use crate::error::{Error, Result};
use ccactl_host::output::{Place, Replace, file_mode};
use ccactl_recording::Metadata;
use ccactl_recording::names::{PARTIAL_SUFFIX, STREAM, partial_path};
use ccactl_recording::write::{StreamFile, parquet};
use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};
use std::fs::{File, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Nobody else may open the stream while it is one: who can open it can lock it, and so keep it from being recovered.
const STREAM_MODE: u32 = 0o600;

/// A claimed target. Dropping it removes the stream unless [`Target::keep_stream`] was called.
pub(crate) struct Target {
    path: PathBuf,
    place: Place,
    replace: Replace,
    stream: Flock<File>,
    stream_path: PathBuf,
    stream_place: Place,
    is_kept: bool,
}

impl Target {
    /// Takes the lock, so that a second recording to `path` is refused from here on.
    pub(crate) fn claim(path: &Path, force: bool) -> Result<Target> {
        let replace = replace(force);
        let place = Place::at(path).map_err(Error::output(path))?;
        place.check(replace).map_err(Error::output(path))?;
        let (stream_path, stream_place) = (partial_path(path), place.with_suffix(PARTIAL_SUFFIX));
        let stream = lock(path, &stream_path, &stream_place)?;
        // From here on the drop removes the stream, unless it is somebody's data.
        let mut target =
            Target { path: path.to_owned(), place, replace, stream, stream_path, stream_place, is_kept: true };
        let failed = |cause| Error::Target { path: target.stream_path.clone(), cause };
        if target.stream.metadata().map_err(failed)?.len() > 0 {
            if !force {
                return Err(Error::Leftover { path: target.stream_path.clone() });
            }
            target.stream.set_len(0).map_err(failed)?;
        }
        target.is_kept = false;
        // A recording that held the lock until now has just made its file.
        target.place.check(replace).map_err(Error::output(path))?;
        Ok(target)
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
        self.path.extension().is_some_and(|extension| extension == STREAM)
    }

    /// Makes the Parquet file of the complete stream; `is_sorted` promises that its rows are in order of `time`.
    pub(crate) fn convert_stream(
        &self,
        metadata: &Metadata,
        is_sorted: bool,
        deadline: &Deadline,
    ) -> std::result::Result<(), String> {
        let file = self.stream_file().map_err(|error| error.to_string())?;
        let stream = StreamFile::read(&self.stream_path, file).map_err(|error| error.to_string())?;
        let draft = self.place.draft(self.replace).map_err(|error| error.to_string())?;
        parquet::convert(stream, usize::MAX, draft, &metadata.to_pairs(), is_sorted, &|| deadline.check())
    }

    /// The stream becomes the file.
    pub(crate) fn rename_stream(&self) -> io::Result<()> {
        self.stream.set_permissions(Permissions::from_mode(file_mode()))?;
        self.stream.sync_all()?;
        Ok(self.stream_place.rename(&self.stream, &self.place, self.replace)?)
    }

    /// The file is complete: the stream has done its duty.
    pub(crate) fn remove_stream(mut self) {
        self.is_kept = false;
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        if !self.is_kept {
            self.stream_place.remove(&self.stream);
        }
    }
}

pub(crate) fn replace(force: bool) -> Replace {
    if force { Replace::Ours } else { Replace::Never }
}

fn lock(path: &Path, stream_path: &Path, stream: &Place) -> Result<Flock<File>> {
    let failed = |cause| Error::Target { path: stream_path.to_owned(), cause };
    loop {
        let file = stream.claim(STREAM_MODE).map_err(Error::output(stream_path))?;
        let locked = match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
            Ok(locked) => locked,
            Err((_, Errno::EWOULDBLOCK)) => return Err(Error::Busy { path: path.to_owned() }),
            Err((_, errno)) => return Err(failed(errno.into())),
        };
        // The holder before us may have removed the file between our open and our lock: then try anew.
        if stream.has(&locked) {
            // An earlier ccactl may have made it.
            locked.set_permissions(Permissions::from_mode(STREAM_MODE)).map_err(failed)?;
            return Ok(locked);
        }
    }
}
