//! A cell that this process runs: nobody else does meanwhile, and others see all of it or nothing.

use super::{SuiteFolder, lock};
use crate::{Error, Result};
use ccactl_host::output::Folder;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// Within the folder of a suite; a folder for each cell that was ever begun.
pub(super) const CELLS: &str = ".cells";
const LOCK: &str = "lock";
/// What is not yet a result.
const WORK: &str = "work";
/// What was one until a moment ago.
const REPLACED: &str = "replaced";
const RESULT: &str = "result.json";

/// Lets nobody else run the cell until it is dropped.
#[derive(Debug)]
pub struct Claim {
    /// Where the cell will be.
    target: PathBuf,
    /// Beside it, for what is not whole.
    aside: PathBuf,
    work: PathBuf,
    /// On a disk of its own; none where the work is within the suite's folder.
    scratch: Option<TempDir>,
    /// None where the file system cannot lock: then the first whole cell is the one that stays.
    _lock: Option<File>,
}

impl SuiteFolder {
    /// Takes a cell for this process, with what an earlier bench has left of it that counts. `None`: another process runs it.
    ///
    /// # Errors
    /// When the system refuses, or what is there is no result of this cell.
    pub fn claim(&self, id: &str) -> Result<Option<Claim>> {
        let aside = self.path().join(CELLS).join(id);
        Folder::make(&aside).map_err(|error| Error::folder(&aside, "make it")(error.into()))?;
        let lock = match lock::file(&aside.join(LOCK), lock::Patience::None)? {
            lock::Locked::Elsewhere => return Ok(None),
            lock::Locked::Ours(file) => Some(file),
            lock::Locked::Unknown => None,
        };
        let scratch = self.scratch().map(|parent| {
            let made = tempfile::Builder::new().prefix("ccactl-cell-").tempdir_in(parent);
            made.map_err(Error::folder(parent, "make a folder for a cell in it"))
        });
        let scratch = scratch.transpose()?;
        let work = scratch.as_ref().map_or(aside.as_path(), TempDir::path).join(WORK);
        let claim = Claim { target: self.path().join(id), aside, work, scratch, _lock: lock };
        claim.clear()?;
        let earlier = self.finished(id)?;
        if earlier.is_some_and(|finished| finished.valid_runs > 0) {
            copy(&claim.target, &claim.work)?;
        }
        Ok(Some(claim))
    }
}

impl Claim {
    /// Where the cell is made.
    #[must_use]
    pub fn work(&self) -> &Path {
        &self.work
    }

    /// Puts the whole cell in its place.
    ///
    /// # Errors
    /// When the system refuses; then the place is as it was.
    pub fn publish(self) -> Result<()> {
        let made = if self.scratch.is_some() {
            let staged = self.aside.join(WORK);
            copy(&self.work, &staged).inspect_err(|_| {
                let _ = fs::remove_dir_all(&staged);
            })?;
            staged
        } else {
            self.work.clone()
        };
        let replaced = self.aside.join(REPLACED);
        let failed = || Error::folder(&self.target, "put the cell there");
        let had_one = self.target.exists();
        // In between there is no cell rather than half of one.
        if had_one {
            fs::rename(&self.target, &replaced).map_err(failed())?;
        }
        match fs::rename(&made, &self.target) {
            // Somebody else has been as fast, where files cannot be locked: one whole cell is as good as the other.
            Err(cause) if is_taken(&cause) && self.target.join(RESULT).exists() => {}
            Err(cause) => {
                if had_one {
                    fs::rename(&replaced, &self.target).map_err(failed())?;
                }
                return Err(failed()(cause));
            }
            Ok(()) => {}
        }
        self.clear()
    }

    fn clear(&self) -> Result<()> {
        for name in [WORK, REPLACED] {
            remove(&self.aside.join(name))?;
        }
        Ok(())
    }
}

fn is_taken(cause: &io::Error) -> bool {
    matches!(cause.kind(), io::ErrorKind::AlreadyExists | io::ErrorKind::DirectoryNotEmpty)
}

fn remove(folder: &Path) -> Result<()> {
    match fs::remove_dir_all(folder) {
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other.map_err(Error::folder(folder, "remove what an earlier attempt left")),
    }
}

/// Regular files and folders; a bench writes nothing else.
fn copy(from: &Path, to: &Path) -> Result<()> {
    let failed = |action| Error::folder(to, action);
    fs::create_dir(to).map_err(failed("make it"))?;
    for entry in fs::read_dir(from).map_err(Error::folder(from, "read it"))? {
        let entry = entry.map_err(Error::folder(from, "read it"))?;
        let target = to.join(entry.file_name());
        if entry.file_type().map_err(Error::folder(from, "read it"))?.is_dir() {
            copy(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), &target).map_err(Error::folder(&target, "copy a file of the cell there"))?;
        }
    }
    Ok(())
}
