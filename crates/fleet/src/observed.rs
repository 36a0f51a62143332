//! What is on the host, as far as a plan needs it.

use crate::error::Result;
use crate::file::PolicyFile;
use ccactl_loader::cgroup::Mount;
use ccactl_loader::{Loader, PolicyStatus};
use std::path::PathBuf;

/// The host beside a policy file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Observed {
    /// Every policy in the kernel.
    pub policies: Vec<PolicyStatus>,
    /// Cgroups of the file that do not exist.
    pub missing: Vec<PathBuf>,
    /// The cgroup2 mount.
    pub mount: Mount,
}

impl Observed {
    /// Looks at the host. A native algorithm that the file names must exist; its module is loaded.
    ///
    /// # Errors
    /// A pin that cannot be read, a native algorithm that the kernel does not have.
    pub fn of(loader: &Loader, file: &PolicyFile) -> Result<Self> {
        for entry in &file.entries {
            loader.require(&entry.choice)?;
        }
        let missing = file.entries.iter().map(|entry| &entry.cgroup).filter(|cgroup| !cgroup.exists()).cloned();
        Ok(Self { missing: missing.collect(), policies: loader.status()?, mount: loader.mount().clone() })
    }
}
