//! The folder of a suite: what is finished in it, and who runs which cell.
//!
//! `plan.json` says what the folder is for, cell by cell, and is written before the first cell. Any number of processes may work in
//! it, also on several machines that share it: each [claims](SuiteFolder::claim) the cell that it runs. A cell is made aside and
//! put in its place as a whole, so its `result.json` says that it is finished.

mod claim;
mod experiment;
mod finished;
mod lock;
mod place;

pub use claim::Claim;
pub use experiment::{Experiment, PlannedCell};
pub use finished::Finished;
pub use place::Place;

use crate::{Error, MAX_FILE_BYTES, Result};
use ccactl_host::input;
use ccactl_host::output::Folder;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What a folder is for.
pub const PLAN: &str = "plan.json";
const LOCK: &str = ".lock";
const BETWEEN_LOOKS: Duration = Duration::from_millis(100);

/// The folder of an experiment.
#[derive(Debug, Clone)]
pub struct SuiteFolder {
    path: PathBuf,
    experiment: Experiment,
    scratch: Option<PathBuf>,
    patience: Duration,
}

/// Keeps others from writing what stands beside the cells, until it is dropped.
#[derive(Debug)]
pub struct Exclusive(#[expect(dead_code, reason = "closing it gives the lock back")] Option<File>);

impl SuiteFolder {
    /// Makes the folder for an experiment, all cells of its matrix whether they are to run or not, or opens it again. A matrix that
    /// has grown goes on with what is there.
    ///
    /// # Errors
    /// When it cannot be written or belongs to something else.
    pub fn open(path: &Path, experiment: Experiment) -> Result<SuiteFolder> {
        if !path.join(PLAN).exists() {
            refuse_foreign_files(path)?;
        }
        Folder::make(path).map_err(|error| Error::folder(path, "make it")(error.into()))?;
        let folder = SuiteFolder { path: path.to_owned(), experiment, scratch: None, patience: Duration::ZERO };
        let _exclusive = folder.exclusive()?;
        match read_plan(path)? {
            Some(there) if there == folder.experiment => return Ok(folder),
            Some(there) if folder.experiment.goes_beyond(&there) => {}
            Some(there) => folder.check_same(&there)?,
            None => {}
        }
        // Also when it is there: the number of runs may be another one.
        let json = serde_json::to_vec_pretty(&folder.experiment).expect("a plan has only types that JSON knows");
        folder.write(PLAN, &json)?;
        Ok(folder)
    }

    /// The folder of an experiment as it is.
    ///
    /// # Errors
    /// When there is none, or it cannot be read.
    pub fn read(path: &Path) -> Result<SuiteFolder> {
        let experiment = read_plan(path)?.ok_or_else(|| Error::OtherSuite {
            path: path.to_owned(),
            expected: format!("a folder of `ccactl bench run`, which has a {PLAN}"),
            found: if path.is_dir() { "a folder without one" } else { "no such folder" }.to_owned(),
        })?;
        let folder = SuiteFolder { path: path.to_owned(), experiment, scratch: None, patience: Duration::ZERO };
        let ours = Experiment { ccactl_version: crate::runner::VERSION.to_owned(), ..folder.experiment.clone() };
        folder.check_same(&ours).map(|()| folder)
    }

    /// Cells are made in a folder of a disk that is near, and copied from there when they are whole.
    ///
    /// # Errors
    /// When that folder is not there and cannot be made.
    pub fn with_scratch(self, scratch: Option<PathBuf>) -> Result<SuiteFolder> {
        if let Some(path) = &scratch {
            fs::create_dir_all(path).map_err(|cause| Error::Scratch { path: path.clone(), cause })?;
        }
        Ok(SuiteFolder { scratch, ..self })
    }

    /// Waits so long in all for cells that other processes run, when nothing else is left to do.
    #[must_use]
    pub fn with_patience(self, patience: Duration) -> SuiteFolder {
        SuiteFolder { patience, ..self }
    }

    /// How long to wait for others.
    #[must_use]
    pub fn patience(&self) -> Duration {
        self.patience
    }

    /// The folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What it is for.
    #[must_use]
    pub fn experiment(&self) -> &Experiment {
        &self.experiment
    }

    fn scratch(&self) -> Option<&Path> {
        self.scratch.as_deref()
    }

    /// Waits for the moment in which nobody else writes a report or a plan.
    ///
    /// # Errors
    /// When the system refuses, or another process takes too long.
    pub fn exclusive(&self) -> Result<Exclusive> {
        match lock::file(&self.path.join(LOCK), lock::Patience::ForFiles)? {
            lock::Locked::Ours(file) => Ok(Exclusive(Some(file))),
            lock::Locked::Unknown => Ok(Exclusive(None)),
            lock::Locked::Elsewhere => Err(Error::Busy { path: self.path.clone() }),
        }
    }

    /// Folder of a cell.
    #[must_use]
    pub fn of_cell(&self, id: &str) -> PathBuf {
        self.path.join(id)
    }

    /// What is known of a cell; a half-made folder counts as nothing.
    ///
    /// # Errors
    /// When a finished cell was made with another scenario or version than the plan says.
    ///
    /// # Panics
    /// When the experiment has no such cell.
    pub fn finished(&self, id: &str) -> Result<Option<Finished>> {
        let cell = self.experiment.cell(id).expect("a cell of the experiment");
        let look = || finished::look(&self.of_cell(id), cell, self.experiment.place.backend);
        look().or_else(|_| {
            // Somebody may have replaced it between one file and the next.
            std::thread::sleep(BETWEEN_LOOKS);
            look()
        })
    }

    /// Writes a file as a whole.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn write(&self, name: &str, content: &[u8]) -> Result<()> {
        Ok(ccactl_report::output::write_whole(&self.path.join(name), content)?)
    }

    fn check_same(&self, there: &Experiment) -> Result<()> {
        match self.experiment.differs_from(there) {
            Some((expected, found)) => Err(Error::OtherSuite { path: self.path.clone(), expected, found }),
            None => Ok(()),
        }
    }
}

fn read_plan(folder: &Path) -> Result<Option<Experiment>> {
    let path = folder.join(PLAN);
    let text = match input::read(&path, MAX_FILE_BYTES) {
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(None),
        other => other.map_err(Error::folder(&path, "read it"))?,
    };
    let plan = serde_json::from_slice(&text).map_err(|error| Error::OtherSuite {
        path: folder.to_owned(),
        expected: format!("a {PLAN} that this version of ccactl wrote"),
        found: error.to_string(),
    })?;
    Ok(Some(plan))
}

/// Nothing of somebody else's is mixed with results, or taken for them.
fn refuse_foreign_files(path: &Path) -> Result<()> {
    let entries = match fs::read_dir(path) {
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(()),
        other => other.map_err(Error::folder(path, "read it"))?,
    };
    for entry in entries {
        let name = entry.map_err(Error::folder(path, "read it"))?.file_name().to_string_lossy().into_owned();
        // What a suite that was killed before it wrote its plan has left, or another one writes right now.
        if ![LOCK, PLAN, claim::CELLS].contains(&name.as_str()) && !name.starts_with(".ccactl-") {
            let expected = "a new or an empty folder, or one of a suite".to_owned();
            return Err(Error::OtherSuite { path: path.to_owned(), expected, found: format!("{name} and no {PLAN}") });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{MetadataExt, symlink};

    fn open(path: &Path) -> Result<SuiteFolder> {
        SuiteFolder::open(path, Experiment::new("scenario", "", None, &[]))
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

        open(&path).unwrap();
        assert_eq!(fs::metadata(&lock).unwrap().mode() & 0o7777, lock::MODE);
        let other = File::open(&lock).unwrap();
        let held = open(&path).unwrap().exclusive().unwrap();
        assert!(other.try_lock().is_err());
        drop(held);
        other.try_lock().unwrap();
    }

    #[test]
    fn a_plan_that_is_a_fifo_is_not_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        nix::unistd::mkfifo(&folder.path().join(PLAN), nix::sys::stat::Mode::S_IRWXU).unwrap();
        let error = open(folder.path()).unwrap_err().to_string();
        assert!(error.contains("a pipe, not a regular file"), "{error}");
    }
}
