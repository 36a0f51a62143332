//! The loader itself and `load`; the other operations have a file each.

use crate::bpffs;
use crate::cgroup::{self, Mount};
use crate::error::{Error, Result};
use crate::fault;
use crate::paths::Paths;
use crate::policy::{self, Policies};
use crate::preflight::{self, Kernel};
use crate::request::{Choice, LoadRequest};
use crate::struct_ops::{self, Registered};
use ccactl_host::state::Change as ChangeLock;
use std::path::{Path, PathBuf};

/// A checked host. Holds no lock between operations, so any number of them may exist at once.
#[derive(Debug)]
pub struct Loader {
    pub(crate) paths: Paths,
    pub(crate) mount: Mount,
    pub(crate) kernel: Kernel,
    /// Whether L4S senders of this namespace are to send ECT(1).
    pub(crate) sends_ect1: bool,
}

/// What a `load` did to its cgroup.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// The cgroup had no policy, or only half of one.
    Attached,
    /// The cgroup had another algorithm, with this kernel name.
    Switched {
        /// Kernel name before.
        from: String,
    },
    /// The kernel name stays and stands for other code or tunables now, in every cgroup that has it.
    Replaced,
    /// The algorithm stays; what applications choose is overruled from now on, or no longer.
    Enforcement,
    /// Everything was there already.
    Unchanged,
}

/// Result of [`Loader::load`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadOutcome {
    /// As the user writes it: `f-bbrv2`, `native:cubic`.
    pub algorithm: String,
    /// As sockets show it: `f_bbrv2`.
    pub kernel_name: String,
    /// Directory of the cgroup.
    pub cgroup: PathBuf,
    /// The kernel's id of the cgroup.
    pub cgroup_id: u64,
    /// What happened.
    pub change: Change,
    /// Whether the cgroup was made.
    pub created_cgroup: bool,
    /// Interfaces at whose exits its packets get ECT(1); none unless the algorithm is one of L4S.
    pub ect1_interfaces: Vec<String>,
}

/// What the operation that is about to begin decides itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Except {
    /// Nothing.
    Nothing,
    /// What becomes of a canary of this cgroup: a rollback ends it and tells.
    Canary(u64),
    /// Everything about this cgroup.
    All(u64),
}

impl Loader {
    /// Checks rights, kernel and cgroup2 mount of this host.
    ///
    /// # Errors
    /// What is missing, and what to do about it.
    pub fn open() -> Result<Self> {
        Self::with_paths(Paths::from_env())
    }

    /// [`Loader::open`] with other paths.
    ///
    /// # Errors
    /// What is missing, and what to do about it.
    pub fn with_paths(paths: Paths) -> Result<Self> {
        let kernel = preflight::check(&paths)?;
        let mount = Mount::find(&paths.mounts)?;
        Ok(Self { paths, mount, kernel, sends_ect1: true })
    }

    /// The same, but it leaves the interfaces of this network namespace alone: the senders are in others, with an
    /// [`Ect1`](crate::Ect1) each.
    #[must_use]
    pub fn without_ect1(self) -> Self {
        Self { sends_ect1: false, ..self }
    }

    /// The cgroup2 mount.
    #[must_use]
    pub fn mount(&self) -> &Mount {
        &self.mount
    }

    /// Where this loader keeps its state.
    #[must_use]
    pub fn paths(&self) -> &Paths {
        &self.paths
    }

    /// The right to change policies: nobody else does until it is dropped. From a part of the hierarchy the fate of a
    /// policy cannot be judged, and every change begins with what others have left.
    pub(crate) fn lock(&self) -> Result<ChangeLock> {
        self.mount.require_whole()?;
        bpffs::mount_if_missing(&self.paths)?;
        Ok(ChangeLock::wait(&self.paths.bpffs)?)
    }

    /// Registers an algorithm and makes it the policy of a cgroup, for new sockets. The same request again changes
    /// nothing; after an error everything is as it was before.
    ///
    /// # Errors
    /// Bad input, a name in use with other tunables, or the kernel's refusal.
    pub fn load(&self, request: &LoadRequest) -> Result<LoadOutcome> {
        let choice = &request.choice;
        choice.check_native()?;
        // Before anything is made: a cgroup that cannot be must not leave a folder behind.
        if !request.create {
            self.mount.resolve(&request.cgroup).map_err(Error::can_create)?;
        }
        let lock = self.lock()?;
        let mut undo = Undo { loader: self, lock: &lock, made: Vec::new(), armed: true };
        self.prepare(&lock, Except::Nothing)?;
        bpffs::ensure(&self.paths)?;
        let (cgroup, made) = self.mount.create(&request.cgroup)?;
        let created_cgroup = !made.is_empty();
        undo.made = made;
        let cgroup_id = cgroup::id(&cgroup)?;
        self.refuse_during_canary(cgroup_id, &cgroup)?;

        if request.replace {
            self.remember(cgroup_id, self.policy_of(cgroup_id)?.as_ref())?;
        }
        let registered = self.ensure_registered(choice, request.replace)?;
        let ect1_interfaces = self.ensure_ect1(choice)?;
        fault::point("registered");
        let attached = policy::ensure_attached(&self.paths, cgroup_id, &cgroup)?;
        fault::point("attached");
        let change = self.set_for_new_sockets(choice, request.enforce, (cgroup_id, &cgroup))?;
        let change = match (change, registered) {
            (Change::Unchanged | Change::Enforcement, Registered::Replaced) => Change::Replaced,
            (Change::Unchanged, Registered::New) => Change::Attached,
            (Change::Unchanged, _) if attached => Change::Attached,
            (change, _) => change,
        };
        undo.armed = false;
        // The cgroup has its algorithm; the former one that stays registered is no failure of this load.
        self.collect_after(&lock, "load");
        let (algorithm, kernel_name) = (choice.algorithm_name(), choice.kernel_name().to_owned());
        Ok(LoadOutcome { algorithm, kernel_name, cgroup, cgroup_id, change, created_cgroup, ect1_interfaces })
    }

    pub(crate) fn ensure_registered(&self, choice: &Choice, may_replace: bool) -> Result<Registered> {
        match choice {
            Choice::Native { .. } => Ok(Registered::Already),
            Choice::Registry(wanted) => struct_ops::ensure(&self.paths, self.kernel, wanted, may_replace),
        }
    }

    /// The last step of a load: from here on new sockets get the algorithm.
    fn set_for_new_sockets(&self, choice: &Choice, enforce: bool, (id, cgroup): (u64, &Path)) -> Result<Change> {
        let policies = Policies::open(&self.paths)?.expect("attaching the program pins the map");
        let before = policies.get(id)?;
        let policy = self.policy_for(choice, enforce, cgroup);
        if before.as_ref().is_some_and(|before| before.is_like(&policy)) {
            return Ok(Change::Unchanged);
        }
        self.remember(id, before.as_ref())?;
        fault::point("history");
        policies.set(id, &policy)?;
        fault::point("policy");
        Ok(match before {
            Some(before) if before.given.kernel_name == policy.given.kernel_name => Change::Enforcement,
            Some(before) => Change::Switched { from: before.given.kernel_name },
            None => Change::Attached,
        })
    }
}

/// Takes a failed load back: what it registered or attached is garbage, as no policy refers to it yet.
struct Undo<'a> {
    loader: &'a Loader,
    lock: &'a ChangeLock,
    made: Vec<PathBuf>,
    armed: bool,
}

impl Drop for Undo<'_> {
    fn drop(&mut self) {
        if !self.armed {
            return;
        }
        if let Err(error) = self.loader.collect_garbage(self.lock) {
            tracing::warn!("undoing the load: {error}");
        }
        cgroup::remove_made(&self.made);
    }
}
