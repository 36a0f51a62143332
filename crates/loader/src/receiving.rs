//! A receiving algorithm for some sockets of this process: those that are made within a cgroup of its own.

use crate::cgroup;
use crate::error::{Error, Result};
use crate::loader::Loader;
use crate::receive::ReceiveRequest;
use crate::request::Loadable;
use crate::run::SPLIT_PREFIX;
use crate::transient::TransientCgroup;
use std::fs;
use std::path::{Path, PathBuf};
use std::process;

/// A cgroup with a receiving algorithm. A socket belongs to the cgroup that its process was in when it was made, and what a
/// listener accepts belongs to the cgroup of the listener. Dropping it takes both back.
#[derive(Debug)]
pub struct ReceivingCgroup {
    loader: Loader,
    /// `None` only while it is dropped.
    cgroup: Option<TransientCgroup>,
    home: PathBuf,
}

impl ReceivingCgroup {
    /// Makes the cgroup. What a killed process has left of one is removed first.
    ///
    /// # Errors
    /// Missing rights, what [`Loader::load_receive`] reports, or a cgroup that cannot be made.
    pub fn create(wanted: Loadable) -> Result<Self> {
        let loader = Loader::open()?;
        loader.sweep_runs();
        let home = home(loader.mount().path())?;
        let name = PathBuf::from(format!("/{SPLIT_PREFIX}{}", process::id()));
        let cgroup = TransientCgroup::create(loader.mount(), &name)?;
        let path = cgroup.path().to_owned();
        let receiving = Self { loader, cgroup: Some(cgroup), home };
        let request = ReceiveRequest { wanted, cgroup: path, create: false, only_swap: false };
        receiving.loader.load_receive(&request)?;
        Ok(receiving)
    }

    /// Does something with this process, all of its threads, inside the cgroup.
    ///
    /// # Errors
    /// When the process cannot be moved.
    pub fn within<T>(&self, action: impl FnOnce() -> T) -> Result<T> {
        let cgroup = self.cgroup.as_ref().expect("it is there until the drop");
        enter(cgroup.path())?;
        let done = action();
        enter(&self.home)?;
        Ok(done)
    }
}

impl Drop for ReceivingCgroup {
    fn drop(&mut self) {
        let Some(cgroup) = self.cgroup.take() else { return };
        let taken = cgroup::id(cgroup.path()).and_then(|id| self.loader.unload_receivers(|found| found == id));
        if let Err(error) = taken {
            tracing::warn!("{}: receiving algorithm not taken back: {error}", cgroup.path().display());
        }
    }
}

fn enter(cgroup: &Path) -> Result<()> {
    let procs = cgroup.join("cgroup.procs");
    fs::write(&procs, "0").map_err(Error::io(format!("cannot write {}", procs.display())))
}

/// Where this process is now.
fn home(mount: &Path) -> Result<PathBuf> {
    const OWN: &str = "/proc/self/cgroup";
    let text = fs::read_to_string(OWN).map_err(Error::io(format!("cannot read {OWN}")))?;
    let path = text.lines().find_map(|line| line.strip_prefix("0::/")).unwrap_or_default();
    Ok(mount.join(path))
}
