//! What a killed ccactl left is completed or undone, and what nothing refers to is collected. Both run with the lock held
//! before every change.

use crate::bpffs;
use crate::cgroup::Life;
use crate::ect1;
use crate::error::{Error, Result};
use crate::fault;
use crate::history::History;
use crate::lease;
use crate::loader::{Except, Loader};
use crate::migrate::{Migrator, Scope};
use crate::netns::Namespaces;
use crate::paths::Paths;
use crate::policy::{self, Policies};
use crate::policy_state::{Policy, Stage};
use crate::receive;
use crate::struct_ops;
use ccactl_abi::layout::{SOCKET_MARKED, Socket, name_str};
use ccactl_host::lock::FolderLock;
use ccactl_host::state::Change;
use std::collections::HashSet;
use std::path::{Path, PathBuf};

impl Loader {
    /// Completes or undoes what killed processes left half done, as every change does before its own work: for whoever
    /// keeps policies in force and has nothing else to change.
    ///
    /// # Errors
    /// The lock, or a pin that cannot be read or written.
    pub fn mend(&self) -> Result<()> {
        let lock = self.lock()?;
        self.prepare(&lock, Except::Nothing)
    }

    /// Whether somebody has removed pins that [`Loader::mend`] can put back.
    ///
    /// # Errors
    /// A pin that cannot be read.
    pub fn has_lost_pins(&self) -> Result<bool> {
        policy::has_lost_pins(&self.paths)
    }

    /// Completes or undoes what killed processes left half done:
    ///
    /// - sockets on their way to a policy are brought there,
    /// - a policy that is being taken back goes, and so does one whose cgroup was removed,
    /// - a canary that nobody watches any more is reverted.
    pub(crate) fn recover(&self, except: Except) -> Result<()> {
        policy::restore_pins(&self.paths)?;
        self.recover_receivers()?;
        let policies = Policies::all(&self.paths)?;
        let ids: Vec<u64> = policies.iter().map(|(id, _)| *id).collect();
        for ((id, policy), (_, life)) in policies.iter().zip(self.mount.lives(&ids)) {
            if except == Except::All(*id) {
                continue;
            }
            // A removed cgroup stays in the kernel, program and all, as long as one of its sockets is open; so its link does
            // not tell. Only the kernel's word counts: a path that is not to be found may be hidden from us.
            if life == Life::Removed || policy.is_leaving() {
                let why = if life == Life::Removed { "the cgroup was removed" } else { "an unload was interrupted" };
                tracing::warn!("taking back the policy of cgroup {id}: {why}");
                self.take_back(*id, policy)?;
                continue;
            }
            let path = life.path();
            if policy.canary.is_some() && except != Except::Canary(*id) && !self.is_watched(*id)? {
                tracing::warn!("reverting the canary of cgroup {id}: the ccactl that watched it is gone");
                self.transition(*id, path, &policy.without_canary())?;
            } else if policy.stage != Stage::Settled {
                tracing::warn!("completing the swap of cgroup {id} that was interrupted");
                self.transition(*id, path, policy)?;
            }
        }
        Ok(())
    }

    /// Gives the live sockets of a policy back and removes it. The policy goes last: until then the next call completes
    /// this.
    pub(crate) fn take_back(&self, id: u64, policy: &Policy) -> Result<crate::change::Reconciled> {
        let policies = Policies::required(&self.paths)?;
        let stage = if policy.is_leaving() { policy.stage.clone() } else { Stage::Leaving { restore: None } };
        policies.set(id, &Policy { stage, ..policy.without_canary() })?;
        fault::point("leaving");
        let reconciled = self.reconcile(id, policy.level, self.path_of(id).as_deref())?;
        fault::point("given-back");
        policy::detach(&self.paths, id)?;
        fault::point("detached");
        policies.remove(id)?;
        fault::point("policy-removed");
        policy::forget(&self.paths, id)?;
        Ok(reconciled)
    }

    /// Removes what nothing refers to: programs and histories of cgroups without a policy, and algorithms that neither a
    /// policy nor a live socket has. What is left of ccactl goes with the last of them; call it with the lock held.
    pub(crate) fn collect_garbage(&self, lock: &Change) -> Result<()> {
        if !self.paths.bpffs.exists() {
            return Ok(());
        }
        ect1::retain(&self.paths)?;
        self.collect_policies(lock)?;
        retain_objects(&self.paths)
    }

    fn collect_policies(&self, lock: &Change) -> Result<()> {
        let policies = Policies::all(&self.paths)?;
        lease::retain(&self.paths, |id| policies.iter().any(|(used, policy)| *used == id && policy.canary.is_some()))?;
        for folder in bpffs::names(&self.paths.cgroups())? {
            let id: Option<u64> = folder.parse().ok();
            if let Some(id) = id.filter(|id| policies.iter().all(|(used, _)| used != id)) {
                policy::forget(&self.paths, id)?;
            }
        }
        let named: HashSet<&str> = policies.iter().flat_map(|(_, policy)| policy.names()).collect();
        let mut unnamed = bpffs::names(&self.paths.algorithms())?;
        unnamed.retain(|name| !named.contains(name.as_str()));
        let has_receivers = !bpffs::names(&self.paths.receive())?.is_empty();
        if unnamed.is_empty() && (!policies.is_empty() || has_receivers) {
            return Ok(());
        }
        if !Namespaces::is_host_seen() {
            // Sockets of processes that we do not see may still have them, and need their marks.
            tracing::debug!("algorithms and notes on sockets stay: not all processes of the host are in sight");
            return Ok(());
        }
        let sockets = self.touched_sockets()?;
        for name in unnamed {
            if sockets.iter().any(|socket| socket.table_id != 0 && name_str(&socket.after) == name) {
                tracing::info!("{name} stays registered: live sockets have it");
            } else {
                struct_ops::remove(&self.paths, &name)?;
            }
        }
        if !policies.is_empty() || has_receivers || !bpffs::names(&self.paths.algorithms())?.is_empty() {
            return Ok(());
        }
        // The kernel cannot forget that we have set a socket's algorithm. As long as there is such a socket its mark
        // has to stay, or a later policy would take our choice for the application's.
        let has_marks = sockets.iter().any(|socket| socket.flags & SOCKET_MARKED != 0);
        bpffs::remove_all(lock, &self.paths, has_marks)
    }

    /// Every live socket of this host with a policy, a mark, or an algorithm in BPF.
    pub(crate) fn touched_sockets(&self) -> Result<Vec<Socket>> {
        if policy::shared_map(&self.paths, &self.paths.marks())?.is_none()
            && bpffs::names(&self.paths.algorithms())?.is_empty()
        {
            return Ok(Vec::new());
        }
        Ok(Migrator::load(&self.paths, Scope::All, None)?.look()?.sockets)
    }

    pub(crate) fn policy_of(&self, id: u64) -> Result<Option<Policy>> {
        Ok(Policies::open(&self.paths)?.map(|policies| policies.get(id)).transpose()?.flatten())
    }

    pub(crate) fn path_of(&self, id: u64) -> Option<PathBuf> {
        self.mount.life(id).path().map(Path::to_owned)
    }

    /// Whether some process watches the canary of a cgroup, and has lately renewed its lease.
    pub(crate) fn is_watched(&self, id: u64) -> Result<bool> {
        let holder = FolderLock::holder(&self.paths.cgroup(id))?;
        Ok(holder.is_some() && lease::left(&self.paths, id)?.is_some())
    }

    pub(crate) fn refuse_during_canary(&self, id: u64, cgroup: &Path) -> Result<()> {
        match self.policy_of(id)?.and_then(|policy| policy.canary) {
            Some(trial) if self.is_watched(id)? => {
                Err(Error::CanaryRunning { path: cgroup.to_owned(), canary: trial.given.kernel_name })
            }
            _ => Ok(()),
        }
    }
}

/// Removes the objects that neither a registered algorithm nor a history needs.
fn retain_objects(paths: &Paths) -> Result<()> {
    let stored = bpffs::names(&paths.objects())?;
    if stored.is_empty() {
        return Ok(());
    }
    let mut needed = HashSet::new();
    for name in bpffs::names(&paths.algorithms())? {
        needed.extend(struct_ops::records(paths, &name)?.map(|loaded| loaded.object_hash));
    }
    needed.extend(receive::objects(paths)?);
    for folder in bpffs::names(&paths.cgroups())? {
        let Ok(id) = folder.parse() else { continue };
        let Some(history) = History::open(paths, id)? else { continue };
        needed.extend(history.entries()?.into_iter().map(|past| past.loaded.object_hash));
    }
    let needed: HashSet<_> = needed.into_iter().map(|hash| paths.object(hash)).collect();
    for path in stored.iter().map(|name| paths.objects().join(name)).filter(|path| !needed.contains(path)) {
        bpffs::remove_pin(&path)?;
    }
    bpffs::remove_dir(&paths.objects())
}
