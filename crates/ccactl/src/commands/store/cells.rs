//! Finished cells of an experiment in an object store: one archive each, put where nothing stands yet.
//!
//! ```text
//! PREFIX/plan.json                 what the cells are of
//! PREFIX/cells/CELL/2-runs.tar     the folder of a finished cell; one with more runs stands beside it
//! ```

use crate::error::{Context, Result};
use ccactl_host::errln;
use ccactl_store::{Location, Settings, Store};
use ccactl_suites::Error as SuiteError;
use ccactl_suites::folder::{Experiment, PLAN, SuiteFolder};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Seek};
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// Where results are that several machines make.
pub struct Cells {
    store: Store,
    /// Names of what is there.
    names: Vec<String>,
}

impl Cells {
    /// Asks the store whether it takes results, and what it has.
    pub fn open(location: &str) -> Result<Cells> {
        let location = Location::parse(location)?;
        let store = Store::from(&location, &Settings::from_env())?;
        if let Some(fault) = store.probe_now()? {
            return Err(store.error(fault).into());
        }
        let names = store.names_now()?;
        Ok(Cells { store, names })
    }

    /// What the cells in the store are of; `None` while there are none.
    pub fn experiment(&self) -> Result<Option<Experiment>> {
        let Some(folder) = self.plan()? else { return Ok(None) };
        let there = SuiteFolder::read(folder.path()).map_err(|error| self.named(error))?;
        Ok(Some(there.experiment().clone()))
    }

    /// Refuses results of another experiment. Its plan is put once, so one that has grown is another.
    pub fn check(&self, ours: &Experiment) -> Result<()> {
        let Some(there) = self.experiment()? else { return Ok(()) };
        match ours.differs_from(&there) {
            Some((expected, found)) => {
                let path = self.store.location().to_string().into();
                Err(SuiteError::OtherSuite { path, expected, found }.into())
            }
            None => Ok(()),
        }
    }

    /// Brings the cells that have more runs in the store than in the folder.
    pub fn bring(&self, folder: &SuiteFolder, ids: &[&str]) -> Result<()> {
        let there = self.runs();
        let mut brought = 0;
        for id in ids {
            let Some(&runs) = there.get(*id) else { continue };
            if folder.finished(id)?.is_some_and(|here| here.runs >= runs) {
                continue;
            }
            // Whoever has the claim runs it.
            let Some(claim) = folder.claim(id)? else { continue };
            let near = TempDir::new().context("make a folder for an archive")?;
            let archive = near.path().join("cell.tar");
            self.store.get_now(&object(id, runs), &archive)?;
            unpack(&archive, &claim.work())
                .with_context(|| format!("unpack cell {id} of {}", self.store.location()))?;
            claim.publish()?;
            // It says so when it is no result of this cell.
            folder.finished(id)?;
            brought += 1;
        }
        self.tell(brought, "brought from");
        Ok(())
    }

    /// Puts the finished cells there that the store does not have.
    pub fn send(&self, folder: &SuiteFolder, ids: &[&str]) -> Result<()> {
        let plan = folder.path().join(PLAN);
        let opened = File::open(&plan).with_context(|| format!("open {}", plan.display()))?;
        if !self.store.put_now(PLAN, &opened)? {
            // Somebody else's, which may be of something else.
            self.check(folder.experiment())?;
        }
        let there = self.runs();
        let mut sent = 0;
        for id in ids {
            let Some(here) = folder.finished(id)?.filter(|here| here.valid_runs > 0) else { continue };
            if there.get(*id).is_some_and(|runs| *runs >= here.runs) {
                continue;
            }
            let archive = pack(&folder.of_cell(id)).with_context(|| format!("pack cell {id}"))?;
            // Another machine may have been as fast: one whole cell is as good as the other.
            sent += usize::from(self.store.put_now(&object(id, here.runs), &archive)?);
        }
        self.tell(sent, "sent to");
        Ok(())
    }

    fn tell(&self, count: usize, what: &str) {
        if count > 0 {
            let cells = if count == 1 { "cell" } else { "cells" };
            errln!("{count} {cells} {what} {}", self.store.location());
        }
    }

    /// Runs of each cell in the store, by its name there; the most, where it is there several times.
    fn runs(&self) -> BTreeMap<String, u32> {
        let mut all = BTreeMap::new();
        for name in &self.names {
            let found = name.strip_prefix("cells/").and_then(|rest| rest.strip_suffix("-runs.tar")?.rsplit_once('/'));
            if let Some((cell, Ok(runs))) = found.map(|(cell, runs)| (cell, runs.parse::<u32>())) {
                let most = all.entry(cell.to_owned()).or_insert(runs);
                *most = runs.max(*most);
            }
        }
        all
    }

    /// The plan of the store in a folder of its own.
    fn plan(&self) -> Result<Option<TempDir>> {
        let folder = TempDir::new().context("make a folder for a plan")?;
        if !self.store.names_now()?.iter().any(|name| name == PLAN) {
            return Ok(None);
        }
        self.store.get_now(PLAN, &folder.path().join(PLAN))?;
        Ok(Some(folder))
    }

    /// An error of the plan's copy is one of the store.
    fn named(&self, error: SuiteError) -> SuiteError {
        match error {
            SuiteError::OtherSuite { path: _, expected, found } => {
                SuiteError::OtherSuite { path: PathBuf::from(self.store.location().to_string()), expected, found }
            }
            other => other,
        }
    }
}

fn object(id: &str, runs: u32) -> String {
    format!("cells/{id}/{runs}-runs.tar")
}

/// Equal content gives equal bytes: times and owners are left out.
fn pack(folder: &Path) -> io::Result<File> {
    let mut archive = tar::Builder::new(tempfile::tempfile()?);
    archive.mode(tar::HeaderMode::Deterministic);
    archive.follow_symlinks(false);
    archive.append_dir_all(".", folder)?;
    let mut file = archive.into_inner()?;
    file.rewind()?;
    Ok(file)
}

/// Files and folders only, in the place of what is there.
fn unpack(archive: &Path, folder: &Path) -> io::Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    fs::create_dir(folder)?;
    for entry in tar::Archive::new(File::open(archive)?).entries()? {
        let mut entry = entry?;
        let kind = entry.header().entry_type();
        if !(kind.is_file() || kind.is_dir()) || !entry.unpack_in(folder)? {
            let found = format!("{:?} is neither a file nor a folder below it", entry.path_bytes());
            return Err(io::Error::new(io::ErrorKind::InvalidData, found));
        }
    }
    Ok(())
}
