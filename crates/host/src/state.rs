//! The folder of pins on a bpffs, as far as loader and recorder share it: who may change it, and who is recording.
//!
//! ```text
//! FOLDER/               the change lock: one process at a time changes what is in it
//!   recorders/          shared by every running recorder
//!   cca_trace_map       both made by whoever needs them first;
//!   offers              removed with both locks held
//! ```
//!
//! Presence takes no change lock: a recorder starts beside a change that hangs.

use crate::lock::{Error, FolderLock, Holder, Share, ensure_private};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

/// Name of the pin of the map through which algorithms publish their inner state.
pub const TRACE_MAP: &str = "cca_trace_map";
/// Name of the pin of the map in which receiving algorithms say what sockets offer.
pub const OFFERS_MAP: &str = "offers";
/// The maps that algorithms and recorders share.
pub const SHARED_MAPS: [&str; 2] = [TRACE_MAP, OFFERS_MAP];
const RECORDERS: &str = "recorders";
/// How long the last recorder tries to clean up beside a change; the next change does it otherwise.
const CLEANING: (u32, Duration) = (20, Duration::from_millis(10));

/// `CCACTL_BPFFS`, or `/sys/fs/bpf/ccactl`.
#[must_use]
pub fn folder_from_env() -> PathBuf {
    std::env::var_os("CCACTL_BPFFS").map_or_else(|| "/sys/fs/bpf/ccactl".into(), PathBuf::from)
}

/// The right to change what is in the folder, until dropped. A folder that is empty then is removed.
#[derive(Debug)]
pub struct Change(FolderLock);

impl Change {
    /// Makes the folder and waits for the others, telling for whom.
    ///
    /// # Errors
    /// [`Error`].
    pub fn wait(folder: &Path) -> Result<Self, Error> {
        FolderLock::wait(folder, Share::Alone).map(Self)
    }

    /// Who is changing something now, if anybody.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn holder(folder: &Path) -> Result<Option<Holder>, Error> {
        FolderLock::holder(folder)
    }

    /// Removes the shared maps unless somebody records. For whoever knows that no algorithm is left that writes to them.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn remove_shared_maps(&self) -> Result<(), Error> {
        let recorders = self.0.path().join(RECORDERS);
        // Made, so that nobody can begin to record between the look and the removal.
        ensure_private(&recorders)?;
        match FolderLock::try_now(&recorders, Share::Alone)? {
            Some(alone) => self.remove_with(&alone),
            None => Ok(()),
        }
    }

    /// With both locks.
    fn remove_with(&self, recorders: &FolderLock) -> Result<(), Error> {
        for name in SHARED_MAPS {
            let pin = self.0.path().join(name);
            match fs::remove_file(&pin) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(Error::Io { action: "remove", path: pin, source: error });
                }
                _ => {}
            }
        }
        // What cannot be removed is not empty or gone; either is right.
        let _ = fs::remove_dir(recorders.path());
        Ok(())
    }
}

impl Drop for Change {
    fn drop(&mut self) {
        // Fails when there is anything in it, as it should.
        let _ = fs::remove_dir(self.0.path());
    }
}

/// A running recorder, until dropped. The last one removes the shared maps, unless algorithms or policies are there,
/// which go on using them.
#[derive(Debug)]
pub struct Presence {
    folder: PathBuf,
    announced: Option<FolderLock>,
}

impl Presence {
    /// Announces a recorder: from now on nobody removes the shared maps.
    ///
    /// # Errors
    /// [`Error`]. The wait is for somebody who removes the maps at this moment.
    pub fn announce(folder: &Path) -> Result<Self, Error> {
        loop {
            ensure_private(folder)?;
            match FolderLock::wait(&folder.join(RECORDERS), Share::WithOthers) {
                // A change that left nothing has removed the folder since.
                Err(Error::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => {}
                announced => return Ok(Self { folder: folder.to_owned(), announced: Some(announced?) }),
            }
        }
    }

    fn are_maps_alone(&self) -> bool {
        let is_ours = |name: &std::ffi::OsStr| name == RECORDERS || SHARED_MAPS.iter().any(|map| name == *map);
        fs::read_dir(&self.folder).is_ok_and(|mut entries| entries.all(|e| e.is_ok_and(|e| is_ours(&e.file_name()))))
    }
}

impl Drop for Presence {
    fn drop(&mut self) {
        let (attempts, pause) = CLEANING;
        for _ in 0..attempts {
            let Ok(Some(change)) = FolderLock::try_now(&self.folder, Share::Alone) else {
                thread::sleep(pause);
                continue;
            };
            let change = Change(change);
            if self.are_maps_alone()
                && let Some(alone) = self.announced.take().and_then(FolderLock::into_alone)
                && let Err(error) = change.remove_with(&alone)
            {
                tracing::warn!("{error}");
            }
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;

    fn folder() -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("ccactl");
        (dir, path)
    }

    #[test]
    fn a_change_that_makes_nothing_leaves_nothing() {
        let (_dir, folder) = folder();
        let change = Change::wait(&folder).unwrap();
        assert!(folder.exists() && Change::holder(&folder).unwrap().is_some());
        drop(change);
        assert!(!folder.exists());
    }

    #[test]
    fn the_last_recorder_removes_the_maps() {
        let (_dir, folder) = folder();
        let first = Presence::announce(&folder).unwrap();
        SHARED_MAPS.iter().for_each(|map| drop(File::create(folder.join(map)).unwrap()));
        let second = Presence::announce(&folder).unwrap();
        drop(first);
        assert!(folder.join(TRACE_MAP).exists());
        drop(second);
        assert!(!folder.exists());
    }

    #[test]
    fn the_map_stays_while_algorithms_are_there_and_goes_with_the_last_of_them() {
        let (_dir, folder) = folder();
        let recording = Presence::announce(&folder).unwrap();
        File::create(folder.join(TRACE_MAP)).unwrap();
        fs::create_dir(folder.join("algorithms")).unwrap();
        drop(recording);
        assert!(folder.join(TRACE_MAP).exists());
        let change = Change::wait(&folder).unwrap();
        fs::remove_dir(folder.join("algorithms")).unwrap();
        change.remove_shared_maps().unwrap();
        drop(change);
        assert!(!folder.exists());
    }

    #[test]
    fn nobody_removes_the_map_of_a_running_recorder_and_a_change_does_not_keep_it_from_starting() {
        let (_dir, folder) = folder();
        let change = Change::wait(&folder).unwrap();
        let recording = Presence::announce(&folder).unwrap();
        File::create(folder.join(TRACE_MAP)).unwrap();
        change.remove_shared_maps().unwrap();
        assert!(folder.join(TRACE_MAP).exists());
        drop(change);
        drop(recording);
        assert!(!folder.exists());
    }
    #[test]
    fn changes_and_recorders_that_begin_and_end_at_once_do_not_meet_a_removed_folder() {
        const ROUNDS: usize = 2000;
        let (_dir, folder) = folder();
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| (0..ROUNDS).for_each(|_| drop(Change::wait(&folder).unwrap())));
                scope.spawn(|| (0..ROUNDS).for_each(|_| drop(Presence::announce(&folder).unwrap())));
            }
        });
        assert!(!folder.exists());
    }
}
