//! Taking policies back: new sockets are free of them, and live ones get what they had before.

use crate::cgroup;
use crate::change::Reconciled;
use crate::error::{Error, Result};
use crate::fault;
use crate::loader::{Except, Loader};
use crate::names;
use crate::outcome::{Counts, Verification};
use crate::policy::{self, Policies};
use crate::policy_state::{Policy, Stage};
use crate::request::require_native;
use crate::struct_ops;
use std::path::{Path, PathBuf};

/// How a policy is to be taken back.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UnloadOptions {
    /// Give live sockets this algorithm of the kernel's own instead of what they had before.
    pub restore_native: Option<String>,
}

/// Result of [`Loader::unload`], one per policy that was removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnloadOutcome {
    /// Directory of the cgroup, unless it was removed.
    pub cgroup: Option<PathBuf>,
    /// The kernel's id of the cgroup.
    pub cgroup_id: u64,
    /// Kernel name that its new sockets got until now.
    pub kernel_name: String,
    /// What became of the live sockets.
    pub counts: Counts,
    /// What reading them back has shown.
    pub verification: Verification,
    /// Whether the algorithm stays registered, because another policy or a live socket has it.
    pub still_in_use: bool,
}

impl UnloadOutcome {
    pub(crate) fn new(cgroup_id: u64, cgroup: Option<PathBuf>, policy: &Policy, reconciled: &Reconciled) -> Self {
        Self {
            cgroup,
            cgroup_id,
            kernel_name: policy.given.kernel_name.clone(),
            counts: Counts::of(&reconciled.sockets),
            verification: Verification::of(reconciled),
            still_in_use: false,
        }
    }

    /// Whether every live socket has got back what it had.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.counts.is_complete() && self.verification.is_complete()
    }
}

impl Loader {
    /// Takes the policy of a cgroup back. `None` when it had none.
    ///
    /// # Errors
    /// A cgroup that does not exist, or a pin that cannot be removed.
    pub fn unload(&self, cgroup: &Path) -> Result<Option<UnloadOutcome>> {
        self.unload_with(cgroup, &UnloadOptions::default())
    }

    /// [`Loader::unload`] with a say in what live sockets get back.
    ///
    /// # Errors
    /// Those of [`Loader::unload`], and an algorithm that the kernel does not have.
    pub fn unload_with(&self, cgroup: &Path, options: &UnloadOptions) -> Result<Option<UnloadOutcome>> {
        let id = cgroup::id(&self.mount.resolve(cgroup)?)?;
        Ok(self.remove_policies(Except::All(id), options, |candidate| candidate == id)?.pop())
    }

    /// Takes a policy back by the id of its cgroup, which may have been removed since.
    ///
    /// # Errors
    /// [`Error::NoSuchPolicy`], or a pin that cannot be removed.
    pub fn unload_id(&self, id: u64) -> Result<UnloadOutcome> {
        self.unload_id_with(id, &UnloadOptions::default())
    }

    /// [`Loader::unload_id`] with a say in what live sockets get back.
    ///
    /// # Errors
    /// Those of [`Loader::unload_id`], and an algorithm that the kernel does not have.
    pub fn unload_id_with(&self, id: u64, options: &UnloadOptions) -> Result<UnloadOutcome> {
        let removed = self.remove_policies(Except::All(id), options, |candidate| candidate == id)?.pop();
        removed.ok_or(Error::NoSuchPolicy { id })
    }

    /// Takes all policies back; nothing of ccactl stays in the kernel, except notes on sockets that are still open.
    ///
    /// # Errors
    /// A pin that cannot be removed.
    pub fn unload_all(&self) -> Result<Vec<UnloadOutcome>> {
        self.unload_all_with(&UnloadOptions::default())
    }

    /// [`Loader::unload_all`] with a say in what live sockets get back.
    ///
    /// # Errors
    /// Those of [`Loader::unload_all`], and an algorithm that the kernel does not have.
    pub fn unload_all_with(&self, options: &UnloadOptions) -> Result<Vec<UnloadOutcome>> {
        self.remove_policies(Except::Nothing, options, |_| true)
    }

    fn remove_policies(
        &self,
        except: Except,
        options: &UnloadOptions,
        wanted: impl Fn(u64) -> bool,
    ) -> Result<Vec<UnloadOutcome>> {
        if let Some(name) = &options.restore_native {
            require_native(name)?;
        }
        let lock = self.lock()?;
        match except {
            // Everything goes, but not the notes on sockets that stay open.
            Except::Nothing => policy::restore_pins(&self.paths)?,
            _ => self.recover(except)?,
        }
        let leaving = self.mark_as_leaving(options, wanted)?;
        let mut removed = Vec::new();
        for (id, policy) in leaving {
            let reconciled = self.take_back(id, &policy)?;
            removed.push(UnloadOutcome::new(id, self.path_of(id), &policy, &reconciled));
        }
        self.collect_garbage(&lock)?;
        fault::point("collected");
        for outcome in &mut removed {
            outcome.still_in_use = struct_ops::read(&self.paths, &outcome.kernel_name)?.is_some()
                && names::registered()?.contains(&outcome.kernel_name);
        }
        Ok(removed)
    }

    /// All of them before the first is taken back: the sockets of a nested cgroup are not to get the policy of an outer
    /// one that goes as well.
    fn mark_as_leaving(&self, options: &UnloadOptions, wanted: impl Fn(u64) -> bool) -> Result<Vec<(u64, Policy)>> {
        let mut chosen = Policies::all(&self.paths)?;
        chosen.retain(|(id, _)| wanted(*id));
        for (id, policy) in &mut chosen {
            policy.stage = Stage::Leaving { restore: options.restore_native.clone() };
            Policies::required(&self.paths)?.set(*id, policy)?;
        }
        Ok(chosen)
    }
}
