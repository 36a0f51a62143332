//! `swap` and `rollback`: the policy of a cgroup and its live sockets, together.

use crate::cgroup;
use crate::change::Reconciled;
use crate::error::{Error, Result};
use crate::fault;
use crate::history::{self, History};
use crate::loader::{Except, Loader};
use crate::migrate::{Migrator, Scope};
use crate::outcome::SwapOutcome;
use crate::paths::Paths;
use crate::policy::{self, Policies};
use crate::policy_state::{Given, Policy, Stage};
use crate::request::{Choice, LoadRequest, Loadable};
use crate::stored;
use crate::struct_ops;
use crate::unload::UnloadOutcome;
use ccactl_abi::layout::{Past, name_str};
use ccactl_host::state::Change;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Which sockets a swap is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SwapScope {
    /// New ones and live ones.
    #[default]
    All,
    /// Live ones; new ones go on getting what they got.
    ExistingOnly,
    /// New ones; live ones keep what they have.
    NewOnly,
}

/// One `swap`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SwapRequest {
    /// Algorithm, tunables, name and cgroup. `create` has no meaning here.
    pub load: LoadRequest,
    /// Which sockets.
    pub scope: SwapScope,
    /// Say what would happen and change nothing.
    pub dry_run: bool,
}

impl SwapRequest {
    /// New and live sockets to what a load would give new ones.
    #[must_use]
    pub fn of(load: LoadRequest) -> Self {
        Self { load, scope: SwapScope::All, dry_run: false }
    }

    /// Which sockets.
    #[must_use]
    pub fn scope(mut self, scope: SwapScope) -> Self {
        self.scope = scope;
        self
    }

    /// Whether only to say what would happen.
    #[must_use]
    pub fn dry_run(mut self, dry_run: bool) -> Self {
        self.dry_run = dry_run;
        self
    }
}

/// Result of [`Loader::rollback`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RollbackOutcome {
    /// The policy before is in force again.
    Restored(SwapOutcome),
    /// A canary was ended; the policy stays.
    CanaryReverted(SwapOutcome),
    /// There was no policy before, so there is none now.
    Removed(UnloadOutcome),
}

/// The cgroup of an operation, its policy, and what is to be in force.
pub(crate) struct Target {
    pub(crate) id: u64,
    pub(crate) path: PathBuf,
    pub(crate) before: Policy,
}

impl Loader {
    /// Moves a cgroup to another algorithm: its policy in one step, then its live sockets in every network namespace;
    /// then each of them is read back. After an error the former policy is in force and the sockets are back.
    ///
    /// # Errors
    /// [`Error::NoPolicy`], and those of [`Loader::load`]. Sockets that could not be moved are no error but part of the
    /// outcome.
    pub fn swap(&self, request: &SwapRequest) -> Result<SwapOutcome> {
        let choice = &request.load.choice;
        choice.check_native()?;
        self.mount.resolve(&request.load.cgroup)?;
        if request.dry_run {
            return self.rehearse(request);
        }
        let lock = self.lock()?;
        self.prepare(&lock, Except::Nothing)?;
        let target = self.target(&request.load.cgroup)?;
        self.refuse_during_canary(target.id, &target.path)?;
        let policy = self.swapped(request, &target);

        if request.load.replace {
            self.remember(target.id, Some(&target.before))?;
        }
        self.ensure_registered(choice, request.load.replace)?;
        self.ensure_ect1(choice)?;
        fault::point("registered");
        policy::ensure_attached(&self.paths, target.id, &target.path)?;
        fault::point("attached");
        let outcome = self.outcome(choice, &target, &policy);
        if outcome.policy_changed {
            self.remember(target.id, Some(&target.before))?;
            fault::point("history");
        }
        let result = if request.scope == SwapScope::NewOnly {
            Policies::required(&self.paths)?.set(target.id, &policy).map(|()| outcome)
        } else {
            let moved = self.transition(target.id, Some(&target.path), &policy);
            moved.map(|reconciled| outcome.with(&reconciled)).inspect_err(|_| self.go_back(&target))
        };
        self.collect_after(&lock, "swap");
        result
    }

    /// Goes back to the policy that was in force before the latest change, with all live sockets. A canary that is
    /// running, or was left by a killed process, is what a rollback ends first.
    ///
    /// # Errors
    /// [`Error::NoPolicy`], [`Error::NoHistory`], and those of [`Loader::swap`].
    pub fn rollback(&self, cgroup: &Path) -> Result<RollbackOutcome> {
        let id = cgroup::id(&self.mount.resolve(cgroup)?)?;
        let lock = self.lock()?;
        self.prepare(&lock, Except::Canary(id))?;
        let target = self.target(cgroup)?;
        let result = if target.before.canary.is_some() {
            self.end_canary(&target).map(RollbackOutcome::CanaryReverted)
        } else {
            self.restore(&target)
        };
        self.collect_after(&lock, "rollback");
        result
    }

    fn restore(&self, target: &Target) -> Result<RollbackOutcome> {
        let no_history = || Error::NoHistory { path: target.path.clone() };
        let history = History::open(&self.paths, target.id)?.ok_or_else(no_history)?;
        let present = history::present(&self.paths, Some(&target.before))?;
        let mut entries = history.entries()?.into_iter().peekable();
        // What a killed change or rollback has left: it is in force already.
        while let Some(stale) = entries.next_if(|past| history::is_same(past, &present)) {
            history.drop_entry(stale.seq)?;
        }
        let past = entries.next().ok_or_else(no_history)?;
        if history::is_none(&past) {
            let reconciled = self.take_back(target.id, &target.before)?;
            return Ok(RollbackOutcome::Removed(UnloadOutcome::new(
                target.id,
                Some(target.path.clone()),
                &target.before,
                &reconciled,
            )));
        }
        let choice = choice_of(&self.paths, &past);
        choice.check_native()?;
        // Under the same name it can only be other tunables.
        let is_replaced = choice.kernel_name() == target.before.given.kernel_name;
        self.ensure_registered(&choice, is_replaced)?;
        self.ensure_ect1(&choice)?;
        fault::point("registered");
        policy::ensure_attached(&self.paths, target.id, &target.path)?;
        let policy = self.policy_for(&choice, history::is_enforced(&past), &target.path);
        let outcome = self.outcome(&choice, target, &policy);
        let outcome = outcome.with(&self.transition(target.id, Some(&target.path), &policy)?);
        history.drop_entry(past.seq)?;
        fault::point("history-dropped");
        Ok(RollbackOutcome::Restored(outcome))
    }

    /// Takes a canary back: the policy without it, for all sockets.
    pub(crate) fn end_canary(&self, target: &Target) -> Result<SwapOutcome> {
        let policy = target.before.without_canary();
        let choice = choice_of(&self.paths, &history::present(&self.paths, Some(&policy))?);
        let outcome = self.outcome(&choice, target, &policy);
        Ok(outcome.with(&self.transition(target.id, Some(&target.path), &policy)?))
    }

    /// What has to be in order before a change of a cgroup that has a policy.
    pub(crate) fn prepare(&self, lock: &Change, except: Except) -> Result<()> {
        self.recover(except)?;
        self.collect_garbage(lock)
    }

    /// The policy that a cgroup has now.
    pub(crate) fn target(&self, cgroup: &Path) -> Result<Target> {
        let path = self.mount.resolve(cgroup)?;
        let id = cgroup::id(&path)?;
        match self.policy_of(id)?.filter(|policy| !policy.is_leaving()) {
            Some(before) => Ok(Target { id, path, before }),
            None => Err(Error::NoPolicy { path }),
        }
    }

    /// What a cgroup has now, as a request: algorithm, tunables, name and enforcement. With [`SwapScope::ExistingOnly`] it
    /// brings live sockets to the policy, also those that have older code of the same name.
    ///
    /// # Errors
    /// [`Error::NoPolicy`], or a pin that cannot be read.
    pub fn present_request(&self, cgroup: &Path) -> Result<LoadRequest> {
        let target = self.target(cgroup)?;
        let choice = choice_of(&self.paths, &history::present(&self.paths, Some(&target.before))?);
        Ok(LoadRequest::new(choice, cgroup).enforce(target.before.enforce))
    }

    /// The policy after the swap.
    fn swapped(&self, request: &SwapRequest, target: &Target) -> Policy {
        let choice = &request.load.choice;
        let before = target.before.without_canary();
        if request.scope == SwapScope::ExistingOnly {
            let is_same = choice.kernel_name() == before.given.kernel_name;
            let stage = if is_same { Stage::Moving } else { Stage::MovingTo(Given::new(choice)) };
            return Policy { stage, enforce: before.enforce || request.load.enforce, ..before };
        }
        let policy = self.policy_for(choice, request.load.enforce, &target.path);
        if policy.is_like(&before) { before } else { policy }
    }

    /// What the swap would do: the iterator only looks, with the new policy in place of the present one, and so
    /// waits for nobody who changes something.
    fn rehearse(&self, request: &SwapRequest) -> Result<SwapOutcome> {
        let target = self.target(&request.load.cgroup)?;
        self.refuse_during_canary(target.id, &target.path)?;
        let policy = self.swapped(request, &target);
        let outcome = SwapOutcome { dry_run: true, ..self.outcome(&request.load.choice, &target, &policy) };
        if request.scope == SwapScope::NewOnly {
            return Ok(outcome);
        }
        let scope = Scope::Policy { id: target.id, level: policy.level };
        let mut policies = Policies::all(&self.paths)?;
        if let Some((_, present)) = policies.iter_mut().find(|(id, _)| *id == target.id) {
            *present = policy;
        }
        let pass = Migrator::rehearse(&self.paths, scope, Some(&target.path), &policies)?.look()?;
        let seen = Reconciled {
            sockets: pass.sockets,
            namespaces: pass.namespaces,
            iteration: pass.iteration,
            ..Reconciled::default()
        };
        Ok(outcome.with(&seen))
    }

    pub(crate) fn outcome(&self, choice: &Choice, target: &Target, policy: &Policy) -> SwapOutcome {
        SwapOutcome {
            algorithm: choice.algorithm_name(),
            kernel_name: choice.kernel_name().to_owned(),
            from: target.before.given.kernel_name.clone(),
            cgroup: target.path.clone(),
            cgroup_id: target.id,
            policy_changed: policy.given.kernel_name != target.before.given.kernel_name
                || policy.enforce != target.before.enforce,
            dry_run: false,
            counts: crate::outcome::Counts::default(),
            verification: None,
            namespaces: 0,
            iteration: Duration::ZERO,
            left: Vec::new(),
        }
    }

    /// Undoes a change that failed. Should this fail as well, the flag in the policy makes the next call do it.
    fn go_back(&self, target: &Target) {
        if let Err(error) = self.transition(target.id, Some(&target.path), &target.before.without_canary()) {
            tracing::warn!("undoing the swap of {}: {error}", target.path.display());
        }
    }

    /// The change itself is done; what stays registered is no failure of it.
    pub(crate) fn collect_after(&self, lock: &Change, operation: &str) {
        if let Err(error) = self.collect_garbage(lock) {
            tracing::warn!("after the {operation}: {error}");
        }
        fault::point("collected");
    }
}

/// What an entry of the history had.
pub(crate) fn choice_of(paths: &Paths, past: &Past) -> Choice {
    let kernel_name = name_str(&past.loaded.kernel_name).to_owned();
    match stored::algorithm_of(paths, &past.loaded) {
        Some(algorithm) => {
            Loadable { algorithm, kernel_name, tunables: struct_ops::tunables(algorithm, &past.loaded) }.into()
        }
        None => Choice::Native { kernel_name },
    }
}
