//! Transient cgroups of a bench.

use crate::error::{Error, Result};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How long a cgroup may stay busy after its processes were killed.
const EMPTY_WITHIN: Duration = Duration::from_secs(5);

/// A cgroup that is emptied and removed with this value. Make parents before children and drop them after.
#[derive(Debug)]
pub struct Cgroup {
    path: PathBuf,
    id: u64,
}

impl Cgroup {
    /// Makes the cgroup at `path` below the cgroup2 mount.
    pub fn create(path: PathBuf) -> Result<Cgroup> {
        let action = || format!("create cgroup {}", path.display());
        std::fs::create_dir(&path).map_err(Error::system(action()))?;
        // The id of a cgroup is the inode number of its folder.
        let id = std::fs::metadata(&path).map_err(Error::system(action()))?.ino();
        Ok(Cgroup { path, id })
    }

    /// Folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// cgroup2 id.
    #[must_use]
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Kills every process in it.
    pub fn kill(&self) -> Result<()> {
        std::fs::write(self.path.join("cgroup.kill"), "1")
            .map_err(Error::system(format!("kill the processes of cgroup {}", self.path.display())))
    }

    /// The file to which a process writes `0` to enter.
    pub(super) fn procs(&self) -> PathBuf {
        self.path.join("cgroup.procs")
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        if let Err(error) = remove(&self.path) {
            tracing::warn!("cgroup {}: not removed: {error}", self.path.display());
        }
    }
}

/// Kills what is left in a cgroup, its descendants included, and removes it.
pub fn remove(path: &Path) -> io::Result<()> {
    if !path.exists() {
        return Ok(());
    }
    // A file of kernel 5.14; without it the folder stays busy until its processes end by themselves.
    let _ = std::fs::write(path.join("cgroup.kill"), "1");
    for entry in std::fs::read_dir(path)?.flatten() {
        if entry.file_type()?.is_dir() {
            remove(&entry.path())?;
        }
    }
    let give_up = Instant::now() + EMPTY_WITHIN;
    loop {
        match std::fs::remove_dir(path) {
            Err(error) if error.raw_os_error() == Some(libc::EBUSY) && Instant::now() < give_up => {
                std::thread::sleep(Duration::from_millis(5));
            }
            other => return other,
        }
    }
}
