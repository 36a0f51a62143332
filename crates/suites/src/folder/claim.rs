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
/// Of a process's own folder beside the lock.
const OWN: &str = "work-";
/// In it: what is not yet a result, and what was one until a moment ago.
const MADE: &str = "cell";
const REPLACED: &str = "replaced";
const RESULT: &str = "result.json";
/// Made of all runs, so more runs make it anew.
const PAGE: &str = "report.html";
/// Of files that somebody is writing.
const DRAFT: &str = ".ccactl-";

/// Lets nobody else run the cell until it is dropped.
#[derive(Debug)]
pub struct Claim {
    /// Where the cell will be.
    target: PathBuf,
    /// Whether something was there that counts.
    goes_on: bool,
    /// This process's own, in the suite's folder.
    own: TempDir,
    /// On a disk of its own; none where the work is within the suite's folder.
    scratch: Option<TempDir>,
    /// None where the file system cannot lock: then the first whole cell is the one that stays.
    lock: Option<File>,
}

impl SuiteFolder {
    /// Takes a cell for this process, with what an earlier bench has left of it that counts. `None`: another process runs it.
    ///
    /// # Errors
    /// When the system refuses, or what is there is no result of this cell.
    pub fn claim(&self, id: &str) -> Result<Option<Claim>> {
        let (aside, target) = (self.path().join(CELLS).join(id), self.of_cell(id));
        Folder::make(&aside).map_err(|error| Error::folder(&aside, "make it")(error.into()))?;
        let lock = match lock::file(&aside.join(LOCK), lock::Patience::None)? {
            lock::Locked::Elsewhere => return Ok(None),
            lock::Locked::Ours(file) => Some(file),
            lock::Locked::Unknown => None,
        };
        if lock.is_some() {
            put_back(&aside, &target)?;
            clear(&aside)?;
        }
        let folder_in = |parent: &Path, prefix: &str| {
            let made = tempfile::Builder::new().prefix(prefix).tempdir_in(parent);
            made.map_err(Error::folder(parent, "make a folder for a cell in it"))
        };
        let own = folder_in(&aside, OWN)?;
        let scratch = self.scratch().map(|parent| folder_in(parent, "ccactl-cell-")).transpose()?;
        let goes_on = self.finished(id)?.is_some_and(|finished| finished.valid_runs > 0);
        let claim = Claim { target, goes_on, own, scratch, lock };
        if goes_on {
            copy(&claim.target, &claim.work(), &|name| name != PAGE && !name.starts_with(DRAFT))?;
        }
        Ok(Some(claim))
    }
}

impl Claim {
    /// Where the cell is made.
    #[must_use]
    pub fn work(&self) -> PathBuf {
        self.scratch.as_ref().unwrap_or(&self.own).path().join(MADE)
    }

    /// Puts the whole cell in its place.
    ///
    /// # Errors
    /// When the system refuses; then the place is as it was.
    pub fn publish(self) -> Result<()> {
        let made = self.own.path().join(MADE);
        if self.scratch.is_some() {
            copy(&self.work(), &made, &|_| true)?;
        }
        let is_there = self.target.join(RESULT).exists();
        if self.lock.is_none() && is_there && !self.goes_on {
            // Somebody else was as fast: one whole cell is as good as the other.
            return Ok(());
        }
        let failed = || Error::folder(&self.target, "put the cell there");
        let replaced = self.own.path().join(REPLACED);
        // In between there is no cell rather than half of one.
        let had_one = self.target.exists();
        if had_one {
            fs::rename(&self.target, &replaced).map_err(failed())?;
        }
        match fs::rename(&made, &self.target) {
            Err(cause) if is_taken(&cause) && self.target.join(RESULT).exists() => Ok(()),
            Err(cause) => {
                if had_one {
                    fs::rename(&replaced, &self.target).map_err(failed())?;
                }
                Err(failed()(cause))
            }
            // What was replaced goes with this process's folder.
            Ok(()) => Ok(()),
        }
    }
}

/// Who was killed between the two steps of [`Claim::publish`] has left runs that count under another name.
fn put_back(aside: &Path, target: &Path) -> Result<()> {
    if target.join(RESULT).exists() {
        return Ok(());
    }
    for own in left(aside)? {
        let replaced = own.join(REPLACED);
        if replaced.join(RESULT).exists() {
            remove(target)?;
            return fs::rename(&replaced, target).map_err(Error::folder(target, "put back what was there"));
        }
    }
    Ok(())
}

/// Removes the folders of processes that are no more.
fn clear(aside: &Path) -> Result<()> {
    left(aside)?.iter().try_for_each(|own| remove(own))
}

fn left(aside: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(aside).and_then(Iterator::collect::<io::Result<Vec<_>>>);
    let entries = entries.map_err(Error::folder(aside, "read it"))?;
    let is_own = |entry: &fs::DirEntry| entry.file_name().to_string_lossy().starts_with(OWN);
    Ok(entries.into_iter().filter(is_own).map(|entry| entry.path()).collect())
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
fn copy(from: &Path, to: &Path, takes: &dyn Fn(&str) -> bool) -> Result<()> {
    let failed = |action| Error::folder(to, action);
    fs::create_dir(to).map_err(failed("make it"))?;
    for entry in fs::read_dir(from).map_err(Error::folder(from, "read it"))? {
        let entry = entry.map_err(Error::folder(from, "read it"))?;
        if !takes(&entry.file_name().to_string_lossy()) {
            continue;
        }
        let target = to.join(entry.file_name());
        if entry.file_type().map_err(Error::folder(from, "read it"))?.is_dir() {
            copy(&entry.path(), &target, takes)?;
        } else {
            fs::copy(entry.path(), &target).map_err(Error::folder(&target, "copy a file of the cell there"))?;
        }
    }
    Ok(())
}
