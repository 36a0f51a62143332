//! The parts that wait, oldest first, and how many bytes they are.

use crate::spool::Claim;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Number of the folder in the spool, then the name of the part: in this order they were written.
pub(crate) type Id = (usize, String);

/// A part on the disk.
#[derive(Debug, Clone)]
pub(crate) struct Waiting {
    pub(crate) path: PathBuf,
    pub(crate) bytes: u64,
}

#[derive(Debug, Default)]
pub(crate) struct Queue {
    waiting: BTreeMap<Id, Waiting>,
    bytes: u64,
    /// Refused for what they are: they stay in the spool, and are not tried again.
    aside: BTreeSet<Id>,
    /// Stored, but the file could not be removed.
    done: BTreeSet<Id>,
}

impl Queue {
    /// Looks for parts that were finished since.
    pub(crate) fn look(&mut self, claims: &[Claim]) -> io::Result<()> {
        for (number, claim) in claims.iter().enumerate() {
            for (name, path) in finished(&claim.parts())? {
                let id = (number, name);
                if self.waiting.contains_key(&id) || self.done.contains(&id) {
                    continue;
                }
                let bytes = fs::metadata(&path)?.len();
                self.bytes += bytes;
                self.waiting.insert(id, Waiting { path, bytes });
            }
        }
        Ok(())
    }

    /// The oldest part that can be tried.
    pub(crate) fn first(&self) -> Option<(Id, Waiting)> {
        let mut to_try = self.waiting.iter().filter(|(id, _)| !self.aside.contains(id));
        to_try.next().map(|(id, waiting)| (id.clone(), waiting.clone()))
    }

    /// The oldest part but one that is on its way, when all of them together are more than that.
    pub(crate) fn over(&self, limit_bytes: u64, on_its_way: Option<&Id>) -> Option<(Id, Waiting)> {
        if self.bytes <= limit_bytes {
            return None;
        }
        let mut others = self.waiting.iter().filter(|(id, _)| Some(*id) != on_its_way);
        others.next().map(|(id, waiting)| (id.clone(), waiting.clone()))
    }

    pub(crate) fn set_aside(&mut self, id: Id) {
        self.aside.insert(id);
    }

    /// What was set aside can be tried again.
    pub(crate) fn take_back(&mut self) {
        self.aside.clear();
    }

    /// The part needs its place in the spool no more.
    pub(crate) fn remove(&mut self, id: &Id) -> io::Result<()> {
        let Some(waiting) = self.waiting.remove(id) else { return Ok(()) };
        self.bytes -= waiting.bytes;
        self.aside.remove(id);
        match fs::remove_file(&waiting.path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                self.done.insert(id.clone());
                Err(error)
            }
            _ => Ok(()),
        }
    }

    /// All that can be tried.
    pub(crate) fn is_drained(&self) -> bool {
        self.waiting.len() == self.aside.len()
    }

    pub(crate) fn len(&self) -> u64 {
        self.waiting.len() as u64
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = &Waiting> {
        self.waiting.values()
    }
}

/// Files get their name when they are complete.
fn finished(folder: &Path) -> io::Result<Vec<(String, PathBuf)>> {
    let mut found = Vec::new();
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(found),
        entries => entries?,
    };
    for entry in entries {
        let entry = entry?;
        let Ok(name) = entry.file_name().into_string() else { continue };
        if name.starts_with("part-") && name.ends_with(".parquet") && entry.file_type()?.is_file() {
            found.push((name, entry.path()));
        }
    }
    Ok(found)
}

/// Streams whose files were not made.
pub(crate) fn streams(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter(|entry| ccactl_recording::names::target_of(&entry.path()).is_some_and(|file| !file.exists())).count()
        as u64
}
