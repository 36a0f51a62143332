//! The folder of a suite: what is finished in it, and what a killed suite left half made.
//!
//! `plan.json` says which scenario the folder belongs to, cell by cell, and is written before the first cell. A cell is
//! finished when its `result.json` is there: that file is written last and as a whole. Only folders of cells without a valid
//! run are ever removed.

use super::finished::{self, Finished, VERSION};
use crate::runner;
use crate::{Cell, Error, MAX_FILE_BYTES, Result};
use ccactl_host::input;
use ccactl_host::output::{Folder, Place};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

const PLAN: &str = "plan.json";
const LOCK: &str = ".lock";
/// Whoever can open a file can lock it, and keep us out.
const LOCK_MODE: u32 = 0o600;

/// What a folder is for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Plan {
    ccactl_version: String,
    scenario: String,
    #[serde(flatten)]
    place: runner::Place,
    /// By name of the cell: the scenario with every default written out.
    cells: BTreeMap<String, String>,
}

/// An open folder; no other process has it open meanwhile.
#[derive(Debug)]
pub struct SuiteFolder {
    path: PathBuf,
    place: runner::Place,
    _lock: File,
}

impl SuiteFolder {
    /// Makes the folder for these cells, all of the matrix whether they are to run or not, or opens it again.
    ///
    /// # Errors
    /// When it cannot be written, belongs to something else, or another process has it open.
    pub fn open(path: &Path, scenario: &str, matrix: &[Cell], place: runner::Place) -> Result<SuiteFolder> {
        let cells = matrix.iter().map(|cell| (cell.id.clone(), cell.scenario.to_toml())).collect();
        let plan = Plan { ccactl_version: VERSION.to_owned(), scenario: scenario.to_owned(), place, cells };
        if !path.join(PLAN).exists() {
            refuse_foreign_files(path)?;
        }
        Folder::make(path).map_err(|error| Error::folder(path, "make it")(error.into()))?;
        let lock_path = path.join(LOCK);
        let lock = Place::at(&lock_path).and_then(|place| place.claim(LOCK_MODE));
        let lock = lock.map_err(|error| Error::folder(&lock_path, "open it")(error.into()))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(Error::Busy { path: path.to_owned() }),
            Err(TryLockError::Error(cause)) => return Err(Error::folder(path, "lock it")(cause)),
        }
        let folder = SuiteFolder { path: path.to_owned(), place: plan.place.clone(), _lock: lock };
        if let Some(there) = folder.read_plan()? {
            folder.check_same(&there, &plan, matrix)?;
        }
        // Also when it is there: the number of runs may be another one.
        let json = serde_json::to_vec_pretty(&plan).expect("a plan has only types that JSON knows");
        folder.write(PLAN, &json)?;
        Ok(folder)
    }

    /// The folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Folder of a cell.
    #[must_use]
    pub fn of_cell(&self, cell: &Cell) -> PathBuf {
        self.path.join(&cell.id)
    }

    /// What is known of a cell; a half-made folder counts as nothing.
    ///
    /// # Errors
    /// When a finished cell was made with another scenario or version than the plan says.
    pub fn finished(&self, cell: &Cell) -> Result<Option<Finished>> {
        finished::look(&self.of_cell(cell), cell, self.place.backend)
    }

    /// Removes what a cell that is to run has in its place.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn clear(&self, cell: &Cell) -> Result<()> {
        let path = self.of_cell(cell);
        // The result first: whoever is killed in between leaves a half-made folder, not a result without its scenario.
        for removed in [fs::remove_file(path.join("result.json")), fs::remove_dir_all(&path)] {
            match removed {
                Err(cause) if cause.kind() == io::ErrorKind::NotFound => {}
                other => other.map_err(Error::folder(&path, "remove what an earlier attempt left"))?,
            }
        }
        Ok(())
    }

    /// Writes a file as a whole.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn write(&self, name: &str, content: &[u8]) -> Result<()> {
        Ok(ccactl_report::output::write_whole(&self.path.join(name), content)?)
    }

    fn read_plan(&self) -> Result<Option<Plan>> {
        let path = self.path.join(PLAN);
        let text = match input::read(&path, MAX_FILE_BYTES) {
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(None),
            other => other.map_err(Error::folder(&path, "read it"))?,
        };
        let plan = serde_json::from_slice(&text).map_err(|error| Error::OtherSuite {
            path: self.path.clone(),
            expected: format!("a {PLAN} that ccactl wrote"),
            found: error.to_string(),
        })?;
        Ok(Some(plan))
    }

    fn check_same(&self, there: &Plan, wanted: &Plan, matrix: &[Cell]) -> Result<()> {
        let differs =
            |expected: String, found: String| Err(Error::OtherSuite { path: self.path.clone(), expected, found });
        if there.scenario != wanted.scenario {
            return differs(format!("results of {}", wanted.scenario), format!("those of {}", there.scenario));
        }
        if there.ccactl_version != wanted.ccactl_version {
            let version = |plan: &Plan| format!("ccactl {}", plan.ccactl_version);
            return differs(format!("results of {}", version(wanted)), format!("those of {}", version(there)));
        }
        if there.place != wanted.place {
            let made = |plan: &Plan| format!("results of {}", plan.place.options());
            return differs(made(wanted), made(there));
        }
        for Cell { id, scenario, .. } in matrix {
            match there.cells.get(id) {
                None => return differs(format!("a matrix with the cell {id}"), "one without it".to_owned()),
                Some(other) => {
                    let mine = scenario.to_toml_with_runs_of(other);
                    if mine != *other {
                        let (expected, found) = first_difference(&mine, other);
                        return differs(format!("{expected} in cell {id}"), found);
                    }
                }
            }
        }
        match there.cells.keys().find(|id| !wanted.cells.contains_key(*id)) {
            Some(id) => differs(format!("a matrix without the cell {id}"), "one with it".to_owned()),
            None => Ok(()),
        }
    }
}

/// Nothing of somebody else's is mixed with results, or taken for them.
fn refuse_foreign_files(path: &Path) -> Result<()> {
    let entries = match fs::read_dir(path) {
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(()),
        other => other.map_err(Error::folder(path, "read it"))?,
    };
    for entry in entries {
        let name = entry.map_err(Error::folder(path, "read it"))?.file_name().to_string_lossy().into_owned();
        // What a suite that was killed before it wrote its plan has left.
        if name != LOCK && !name.starts_with(".ccactl-") {
            let expected = "a new or an empty folder, or one of a suite".to_owned();
            return Err(Error::OtherSuite { path: path.to_owned(), expected, found: format!("{name} and no {PLAN}") });
        }
    }
    Ok(())
}

/// The first line of two documents that is not the same.
fn first_difference(wanted: &str, there: &str) -> (String, String) {
    let mut lines = wanted.lines().zip(there.lines());
    match lines.find(|(a, b)| a != b) {
        Some((a, b)) => (format!("`{a}`"), format!("`{b}`")),
        None => (format!("{} lines", wanted.lines().count()), format!("{} lines", there.lines().count())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{MetadataExt, symlink};

    fn open(path: &Path) -> Result<SuiteFolder> {
        SuiteFolder::open(path, "scenario", &[], runner::Place::default())
    }

    #[test]
    fn the_lock_is_ours_alone_and_only_we_can_open_it() {
        let parent = tempfile::tempdir().unwrap();
        let (path, victim) = (parent.path().join("suite"), parent.path().join("victim"));
        let lock = path.join(LOCK);
        fs::create_dir(&path).unwrap();
        fs::write(&victim, "as it was").unwrap();
        symlink(&victim, &lock).unwrap();
        let error = open(&path).unwrap_err().to_string();
        assert!(error.contains(".lock: open it: it is a symbolic link of user"), "{error}");
        fs::remove_file(&lock).unwrap();
        fs::hard_link(&victim, &lock).unwrap();
        let error = open(&path).unwrap_err().to_string();
        assert!(error.contains("a file with several names"), "{error}");
        assert_eq!(fs::read(&victim).unwrap(), b"as it was");
        fs::remove_file(&lock).unwrap();

        let held = open(&path).unwrap();
        assert_eq!(fs::metadata(&lock).unwrap().mode() & 0o7777, LOCK_MODE);
        assert!(matches!(open(&path), Err(Error::Busy { .. })));
        drop(held);
        open(&path).unwrap();
    }

    #[test]
    fn a_plan_that_is_a_fifo_is_not_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        nix::unistd::mkfifo(&folder.path().join(PLAN), nix::sys::stat::Mode::S_IRWXU).unwrap();
        let error = open(folder.path()).unwrap_err().to_string();
        assert!(error.contains("a pipe, not a regular file"), "{error}");
    }
}
