//! A cgroup that lives as long as its value.

use crate::cgroup::{self, Mount};
use crate::error::{Error, Result};
use nix::unistd::write;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::Duration;

/// A cgroup made for one run. Dropping it moves what still runs there to its parent and removes it.
#[derive(Debug)]
pub struct TransientCgroup {
    path: PathBuf,
}

impl TransientCgroup {
    /// Makes the cgroup; it must not exist.
    ///
    /// # Errors
    /// A bad path, or a directory that cannot be made.
    pub fn create(mount: &Mount, name: &Path) -> Result<Self> {
        let path = mount.locate(name)?;
        fs::create_dir(&path).map_err(Error::io(format!("cannot make the cgroup {}", path.display())))?;
        Ok(Self { path })
    }

    /// Its directory.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The kernel's id.
    ///
    /// # Errors
    /// When the directory has vanished.
    pub fn id(&self) -> Result<u64> {
        cgroup::id(&self.path)
    }

    /// Makes `command` join the cgroup before it runs its program, so that even its first socket belongs here.
    ///
    /// # Errors
    /// When `cgroup.procs` cannot be opened.
    pub fn enter(&self, command: &mut Command) -> Result<()> {
        let procs = self.path.join("cgroup.procs");
        let file: File = OpenOptions::new()
            .write(true)
            .open(&procs)
            .map_err(Error::io(format!("cannot open {}", procs.display())))?;
        // SAFETY: between fork and exec only `write` runs, which is async-signal-safe; the file was opened before.
        unsafe {
            command.pre_exec(move || write(file.as_fd(), b"0").map(drop).map_err(io::Error::from));
        }
        Ok(())
    }

    /// Removes the cgroup now and reports a failure, unlike a drop.
    ///
    /// # Errors
    /// When it cannot be emptied or removed.
    pub fn remove(self) -> Result<()> {
        let result = remove(&self.path);
        std::mem::forget(self);
        result
    }
}

impl Drop for TransientCgroup {
    fn drop(&mut self) {
        if let Err(error) = remove(&self.path) {
            tracing::warn!("{error}");
        }
    }
}

/// A process that has just ended counts as a member for a moment longer.
const ATTEMPTS: u32 = 100;
const PAUSE: Duration = Duration::from_millis(10);

fn remove(path: &Path) -> Result<()> {
    let mut last = None;
    for _ in 0..ATTEMPTS {
        evacuate(path);
        match fs::remove_dir(path) {
            Ok(()) => return Ok(()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => last = Some(error),
        }
        thread::sleep(PAUSE);
    }
    let source = last.unwrap_or_else(|| io::Error::other("no attempt"));
    Err(Error::Io { what: format!("cannot remove the cgroup {}", path.display()), source })
}

fn evacuate(path: &Path) {
    let Some(parent) = path.parent() else { return };
    let members = fs::read_to_string(path.join("cgroup.procs")).unwrap_or_default();
    for pid in members.split_whitespace() {
        // A process may end between the two steps.
        let _ = fs::write(parent.join("cgroup.procs"), pid);
    }
}
