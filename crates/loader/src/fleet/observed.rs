//! What is on the host, as far as a plan needs it.

use crate::cgroup::Mount;
use crate::fleet::error::Result;
use crate::fleet::file::PolicyFile;
use crate::{Loader, PolicyStatus};
use std::collections::{BTreeMap, HashSet};
use std::path::PathBuf;

/// The host beside a policy file.
#[derive(Debug, Clone, PartialEq)]
pub struct Observed {
    /// Every policy in the kernel.
    pub policies: Vec<PolicyStatus>,
    /// Cgroups of the file that do not exist.
    pub missing: HashSet<PathBuf>,
    /// Live sockets that an apply would move, by the id of the cgroup whose policy decides about them.
    pub to_move: BTreeMap<u64, u64>,
    /// The cgroup2 mount.
    pub mount: Mount,
}

impl Observed {
    /// Looks at the host. All that the file names must exist ([`PolicyFile::check_natives`]).
    ///
    /// # Errors
    /// A pin that cannot be read, an iterator that the kernel refuses, a native algorithm that the kernel does not have.
    pub fn of(loader: &Loader, file: &PolicyFile) -> Result<Self> {
        file.check_natives()?;
        let to_move = loader.census()?.policies.into_iter().map(|(id, census)| (id, census.counts.moved)).collect();
        Ok(Self { to_move, ..Self::without_sockets(loader, file)? })
    }

    /// Looks at the policies alone: a look at every socket takes seconds where there are many.
    ///
    /// # Errors
    /// A pin that cannot be read.
    pub fn without_sockets(loader: &Loader, file: &PolicyFile) -> Result<Self> {
        let missing = file.entries.iter().map(|entry| &entry.cgroup).filter(|cgroup| !cgroup.exists()).cloned();
        Ok(Self {
            missing: missing.collect(),
            policies: loader.status()?,
            to_move: BTreeMap::new(),
            mount: loader.mount().clone(),
        })
    }
}
