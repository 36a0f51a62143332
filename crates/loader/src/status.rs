//! What is in force, read back from the pins.

use crate::bpffs;
use crate::cgroup::{self, Life};
use crate::error::Result;
use crate::history::{self, History};
use crate::lease;
use crate::loader::Loader;
use crate::names;
use crate::policy::{self, Policies};
use crate::policy_state::{Policy, Stage, Trial};
use crate::stored;
use crate::struct_ops;
use crate::time::rfc3339;
use ccactl_abi::layout::{CANARY_ALL, Loaded, Past, name_str};
use ccactl_abi::{Algorithm, Tunable};
use ccactl_host::lock::Holder;
use ccactl_host::state::Change;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What a cgroup had once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FormerPolicy {
    /// `None`: no policy.
    pub kernel_name: Option<String>,
    /// When something else took its place.
    pub until: String,
    /// Whether it overruled what applications chose.
    pub enforce: bool,
}

/// Condition of a policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// New sockets of the cgroup get the algorithm.
    Active,
    /// The cgroup was removed; the policy affects nothing any more.
    CgroupRemoved,
    /// The program is no longer attached to the cgroup.
    Detached,
    /// The algorithm is no longer registered.
    Unregistered,
    /// Live sockets are on their way to the algorithm.
    Moving,
    /// The policy is being taken back.
    Leaving,
}

/// The canary of a policy.
#[derive(Debug, Clone, PartialEq)]
pub struct CanaryStatus {
    /// Kernel name of what the share gets.
    pub kernel_name: String,
    /// Share of the sockets, 0 to 1.
    pub share: f64,
    /// Since when, RFC 3339 in UTC.
    pub since: String,
    /// Whether a ccactl watches it; otherwise the next change of any policy reverts it.
    pub is_watched: bool,
    /// How long new sockets go on getting it unless the lease is renewed; `None` when it has run out.
    pub lease_left: Option<Duration>,
}

/// One tunable of a loaded algorithm.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TunableSetting {
    /// Row of the registry.
    pub tunable: &'static Tunable,
    /// Value in force, as stored.
    pub raw: i64,
}

/// One policy.
#[derive(Debug, Clone, PartialEq)]
pub struct PolicyStatus {
    /// Directory of the cgroup, unless it was removed or lies outside of what this process sees.
    pub cgroup: Option<PathBuf>,
    /// The kernel's id of the cgroup.
    pub cgroup_id: u64,
    /// As the user writes it: `f-bbrv2`, `native:cubic`.
    pub algorithm: String,
    /// What it is, when it is not the kernel's own.
    pub known: Option<&'static Algorithm>,
    /// As sockets show it.
    pub kernel_name: String,
    /// All tunables with the values in force, in the order of the file.
    pub tunables: Vec<TunableSetting>,
    /// Since when, RFC 3339 in UTC.
    pub attached_since: String,
    /// Whether it works.
    pub state: State,
    /// Whether what applications choose is overruled.
    pub enforce: bool,
    /// The canary, when there is one.
    pub canary: Option<CanaryStatus>,
    /// How often `apply --watch` has put it back.
    pub mended: u32,
}

/// One algorithm that ccactl has registered with the kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegisteredAlgorithm {
    /// As sockets show it.
    pub kernel_name: String,
    /// Row of the registry.
    pub algorithm: &'static Algorithm,
    /// All tunables with the values in force, in the order of the registry.
    pub tunables: Vec<TunableSetting>,
}

impl Loader {
    /// Every algorithm that ccactl has registered: of policies and canaries, and those that only live sockets have.
    ///
    /// # Errors
    /// A pin that cannot be read.
    pub fn registered(&self) -> Result<Vec<RegisteredAlgorithm>> {
        let mut registered = Vec::new();
        for kernel_name in bpffs::names(&self.paths.algorithms())? {
            let Some(loaded) = struct_ops::read(&self.paths, &kernel_name)? else { continue };
            let Some(algorithm) = stored::algorithm_of(&self.paths, &loaded) else { continue };
            registered.push(RegisteredAlgorithm {
                kernel_name,
                algorithm,
                tunables: settings(algorithm, Some(&loaded)),
            });
        }
        registered.sort_by(|a, b| a.kernel_name.cmp(&b.kernel_name));
        Ok(registered)
    }

    /// All policies, by the id of their cgroup.
    ///
    /// # Errors
    /// A pin that cannot be read.
    pub fn status(&self) -> Result<Vec<PolicyStatus>> {
        let policies = Policies::all(&self.paths)?;
        let ids: Vec<u64> = policies.iter().map(|(id, _)| *id).collect();
        let lives = self.mount.lives(&ids);
        policies.iter().zip(lives).map(|((id, policy), (_, life))| self.policy_status(*id, policy, &life)).collect()
    }

    /// The policy of one cgroup.
    ///
    /// # Errors
    /// A cgroup that does not exist, or a pin that cannot be read.
    pub fn status_of(&self, cgroup: &Path) -> Result<Option<PolicyStatus>> {
        let path = self.mount.resolve(cgroup)?;
        let id = cgroup::id(&path)?;
        match Policies::open(&self.paths)?.map(|policies| policies.get(id)).transpose()?.flatten() {
            Some(policy) => self.policy_status(id, &policy, &Life::At(path)).map(Some),
            None => Ok(None),
        }
    }

    /// Who is changing something at this moment, if anybody.
    ///
    /// # Errors
    /// The folder of our pins cannot be opened.
    pub fn busy(&self) -> Result<Option<Holder>> {
        Ok(Change::holder(&self.paths.bpffs)?)
    }

    /// What a cgroup had before, latest first: where `rollback` goes, step by step.
    ///
    /// # Errors
    /// A pin that cannot be read.
    pub fn history(&self, cgroup_id: u64) -> Result<Vec<FormerPolicy>> {
        let Some(history) = History::open(&self.paths, cgroup_id)? else { return Ok(Vec::new()) };
        let former = |past: Past| FormerPolicy {
            kernel_name: (!history::is_none(&past)).then(|| name_str(&past.loaded.kernel_name).to_owned()),
            until: rfc3339(past.replaced_unix_ns),
            enforce: history::is_enforced(&past),
        };
        Ok(history.entries()?.into_iter().map(former).collect())
    }

    fn policy_status(&self, id: u64, policy: &Policy, life: &Life) -> Result<PolicyStatus> {
        let kernel_name = policy.given.kernel_name.clone();
        let loaded = struct_ops::read(&self.paths, &kernel_name)?;
        let row = match &loaded {
            Some(loaded) => stored::algorithm_of(&self.paths, loaded),
            None => Algorithm::by_kernel_name(&kernel_name),
        };
        // Without its pins, ours looks like one of the kernel's own that the kernel does not have.
        let is_known = || names::registered().is_ok_and(|names| names.contains(&kernel_name));
        let ours = self.paths.algorithm(&kernel_name).exists() || row.is_some() || !is_known();
        let state = if *life == Life::Removed {
            State::CgroupRemoved
        } else if !policy::is_attached(&self.paths, id)? {
            State::Detached
        } else if ours && loaded.is_none() {
            State::Unregistered
        } else {
            match policy.stage {
                Stage::Settled => State::Active,
                Stage::Moving | Stage::MovingTo(_) => State::Moving,
                Stage::Leaving { .. } => State::Leaving,
            }
        };
        let algorithm = match (row, ours) {
            (Some(row), _) => row.name.to_owned(),
            (None, true) => "unknown".to_owned(),
            (None, false) => format!("native:{kernel_name}"),
        };
        let tunables = row.map(|row| settings(row, loaded.as_ref())).unwrap_or_default();
        Ok(PolicyStatus {
            cgroup: life.path().map(Path::to_owned),
            cgroup_id: id,
            algorithm,
            known: row,
            kernel_name,
            tunables,
            attached_since: rfc3339(policy.attached_unix_ns),
            state,
            enforce: policy.enforce,
            canary: policy.canary.as_ref().map(|trial| self.canary_status(id, trial)).transpose()?,
            mended: policy.mended,
        })
    }

    fn canary_status(&self, id: u64, trial: &Trial) -> Result<CanaryStatus> {
        Ok(CanaryStatus {
            kernel_name: trial.given.kernel_name.clone(),
            share: f64::from(trial.share) / f64::from(CANARY_ALL),
            since: rfc3339(trial.since_unix_ns),
            is_watched: self.is_watched(id)?,
            lease_left: lease::left(&self.paths, id)?,
        })
    }
}

/// All tunables of a row, those that were not set at load with their defaults.
pub(crate) fn settings(row: &'static Algorithm, loaded: Option<&Loaded>) -> Vec<TunableSetting> {
    let set = loaded.map(|loaded| struct_ops::tunables(row, loaded)).unwrap_or_default();
    let value_of = |tunable: &Tunable| {
        set.iter().find(|(other, _)| other.name == tunable.name).map_or(tunable.default_raw, |(_, raw)| *raw)
    };
    row.tunables.iter().map(|tunable| TunableSetting { tunable, raw: value_of(tunable) }).collect()
}
