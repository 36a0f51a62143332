//! A canary: a stable share of a cgroup's sockets, live and new, gets another algorithm, until it is promoted or reverted.

use crate::error::{Error, Result};
use crate::fault;
use crate::lease::Lease;
use crate::loader::{Except, Loader};
use crate::outcome::SwapOutcome;
use crate::policy;
use crate::policy_state::{Given, Policy, Trial};
use crate::request::Choice;
use crate::swap::{SwapRequest, Target};
use crate::time::unix_ns;
use ccactl_abi::layout::CANARY_ALL;
use ccactl_host::lock::{FolderLock, Share};
use std::thread;
use std::time::Duration;

/// A look at the lock takes microseconds.
const WATCH_ATTEMPTS: u32 = 20;
const WATCH_RETRY: Duration = Duration::from_millis(5);

/// A canary that this process watches. Dropped without a decision, it is reverted.
#[derive(Debug)]
pub struct Canary<'a> {
    loader: &'a Loader,
    choice: Choice,
    /// What the other sockets have.
    baseline: Policy,
    trial: Trial,
    outcome: SwapOutcome,
    is_decided: bool,
    /// New sockets get the canary as long as this is renewed.
    _lease: Lease,
    /// Tells others that somebody watches; the kernel releases it when the process dies.
    _watch: FolderLock,
}

impl Loader {
    /// Starts a canary: `share` (0 < share < 1) of the sockets, chosen by a hash of their cookie, is moved now, and new
    /// connections are divided the same way. Listeners stay; what they accept is divided. Should this process die, new
    /// connections get the baseline again after `lease`.
    ///
    /// # Errors
    /// [`Error::CanaryShare`], [`Error::CanaryIsBaseline`], [`Error::CanaryRunning`], and those of [`Loader::swap`].
    pub fn start_canary(&self, request: &SwapRequest, share: f64, lease: Duration) -> Result<Canary<'_>> {
        let choice = &request.load.choice;
        choice.check_native()?;
        let share = parts(share)?;
        self.mount.resolve(&request.load.cgroup)?;
        let lock = self.lock()?;
        self.prepare(&lock, Except::Nothing)?;
        let target = self.target(&request.load.cgroup)?;
        if choice.kernel_name() == target.before.given.kernel_name {
            return Err(Error::CanaryIsBaseline { kernel_name: choice.kernel_name().to_owned() });
        }
        self.ensure_registered(choice, request.load.replace)?;
        self.ensure_ect1(choice)?;
        fault::point("registered");
        policy::ensure_leased(&self.paths, target.id, &target.path)?;
        let watch = self.watch(&target, choice)?;
        let trial = Trial { given: Given::new(choice), share, since_unix_ns: unix_ns() };
        let lease = Lease::begin(&self.paths, target.id, trial.since_unix_ns, lease)?;
        let enforce = target.before.enforce || request.load.enforce;
        let baseline = Policy { enforce, ..target.before.without_canary() };
        let policy = Policy { canary: Some(trial.clone()), ..baseline.clone() };

        let outcome = self.outcome(choice, &target, &policy);
        let started = self.transition(target.id, Some(&target.path), &policy);
        fault::point("canary-moved");
        match started {
            Ok(reconciled) => {
                let outcome = outcome.with(&reconciled);
                let (is_decided, _lease, _watch) = (false, lease, watch);
                Ok(Canary {
                    loader: self,
                    choice: choice.clone(),
                    baseline,
                    trial,
                    outcome,
                    is_decided,
                    _lease,
                    _watch,
                })
            }
            Err(error) => {
                if let Err(error) = self.end_canary(&target) {
                    tracing::warn!("undoing the canary: {error}");
                }
                Err(error)
            }
        }
    }

    /// The folder of the cgroup's pins, which is there, as long as this process lives.
    fn watch(&self, target: &Target, choice: &Choice) -> Result<FolderLock> {
        let folder = self.paths.cgroup(target.id);
        for _ in 0..WATCH_ATTEMPTS {
            if let Some(watch) = FolderLock::try_now(&folder, Share::Alone)? {
                return Ok(watch);
            }
            // Somebody may only be looking whether it is held.
            thread::sleep(WATCH_RETRY);
        }
        let running = target.before.canary.as_ref().map(|trial| trial.given.kernel_name.as_str());
        let canary = running.unwrap_or(choice.kernel_name()).to_owned();
        Err(Error::CanaryRunning { path: target.path.clone(), canary })
    }
}

impl Canary<'_> {
    /// What the start did.
    #[must_use]
    pub fn outcome(&self) -> &SwapOutcome {
        &self.outcome
    }

    /// Kernel name of what the other sockets have.
    #[must_use]
    pub fn baseline_name(&self) -> &str {
        &self.baseline.given.kernel_name
    }

    /// Kernel name of what the share has.
    #[must_use]
    pub fn canary_name(&self) -> &str {
        &self.trial.given.kernel_name
    }

    /// Whether it is still running; somebody else may have rolled it back.
    ///
    /// # Errors
    /// A pin that cannot be read.
    pub fn is_current(&self) -> Result<bool> {
        let policy = self.loader.policy_of(self.outcome.cgroup_id)?;
        Ok(policy.and_then(|policy| policy.canary).is_some_and(|trial| trial == self.trial))
    }

    /// Gives all sockets the canary's algorithm and makes it the policy.
    ///
    /// # Errors
    /// [`Error::CanaryGone`], and those of [`Loader::swap`].
    pub fn promote(mut self) -> Result<SwapOutcome> {
        self.is_decided = true;
        let loader = self.loader;
        let lock = loader.lock()?;
        let target = self.running()?;
        let given = self.trial.given.clone();
        let policy = Policy { given, attached_unix_ns: unix_ns(), ..self.baseline.clone() };
        loader.remember(target.id, Some(&target.before))?;
        fault::point("history");
        let outcome = loader.outcome(&self.choice, &target, &policy);
        let result = loader.transition(target.id, Some(&target.path), &policy).map(|done| outcome.with(&done));
        loader.collect_after(&lock, "canary");
        result
    }

    /// Gives all sockets back what the policy had before the canary.
    ///
    /// # Errors
    /// [`Error::CanaryGone`], and those of [`Loader::swap`].
    pub fn revert(mut self) -> Result<SwapOutcome> {
        self.is_decided = true;
        self.take_back()
    }

    fn take_back(&self) -> Result<SwapOutcome> {
        let lock = self.loader.lock()?;
        let target = self.running()?;
        let result = self.loader.end_canary(&target);
        self.loader.collect_after(&lock, "canary");
        result
    }

    fn running(&self) -> Result<Target> {
        let gone = || Error::CanaryGone { path: self.outcome.cgroup.clone(), canary: self.canary_name().to_owned() };
        if !self.is_current()? {
            return Err(gone());
        }
        self.loader.target(&self.outcome.cgroup)
    }
}

impl Drop for Canary<'_> {
    fn drop(&mut self) {
        if self.is_decided {
            return;
        }
        match self.take_back() {
            Ok(_) => tracing::warn!("the canary of {} was reverted: its watch ended early", self.canary_name()),
            Err(Error::CanaryGone { .. }) => {}
            Err(error) => tracing::warn!("reverting the canary of {}: {error}", self.canary_name()),
        }
    }
}

/// A share in the parts that the policy has.
fn parts(share: f64) -> Result<u32> {
    let parts = (share * f64::from(CANARY_ALL)).round();
    if share.is_finite() && parts >= 1.0 && parts < f64::from(CANARY_ALL) {
        Ok(parts as u32)
    } else {
        Err(Error::CanaryShare { share: share * 100.0 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_more_than_nothing_and_less_than_all() {
        assert_eq!(parts(0.1).unwrap(), 6554);
        assert_eq!(parts(0.5).unwrap(), CANARY_ALL / 2);
        for bad in [0.0, 1.0, -0.1, 1.5, 1e-9, f64::NAN, f64::INFINITY] {
            assert!(matches!(parts(bad), Err(Error::CanaryShare { .. })), "{bad}");
        }
    }
}
