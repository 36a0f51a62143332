//! The operations: load, unload, and the collection of what no policy needs.

use crate::bpffs;
use crate::cgroup::{self, Mount};
use crate::error::{Error, Result};
use crate::lock::Lock;
use crate::names;
use crate::object;
use crate::paths::Paths;
use crate::policy::{self, Policies};
use crate::preflight::{self, Kernel};
use crate::request::{Choice, LoadRequest, available_natives};
use crate::struct_ops::{self, Wanted};
use crate::time::unix_ns;
use ccactl_abi::layout::{POLICY_BEFORE_SYN, Policy, name_bytes, name_str};
use libbpf_rs::MapHandle;
use nix::sys::socket::{AddressFamily, SockFlag, SockType, setsockopt, socket, sockopt::TcpCongestion};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

/// A checked host. Holds no lock between operations, so any number of them may exist at once.
#[derive(Debug)]
pub struct Loader {
    pub(crate) paths: Paths,
    pub(crate) mount: Mount,
    pub(crate) kernel: Kernel,
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
}

/// Result of [`Loader::unload`], one per policy that was removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnloadOutcome {
    /// The kernel's id of the cgroup.
    pub cgroup_id: u64,
    /// Kernel name that its new sockets got until now.
    pub kernel_name: String,
    /// Whether live sockets keep the algorithm in the kernel until they are closed.
    pub still_in_use: bool,
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
        Ok(Self { paths, mount, kernel })
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

    /// Registers an algorithm and makes it the policy of a cgroup. The same request again changes nothing; after an
    /// error everything is as it was before.
    ///
    /// # Errors
    /// Bad input, a name in use with other tunables, or the kernel's refusal.
    pub fn load(&self, request: &LoadRequest) -> Result<LoadOutcome> {
        let choice = request.parse()?;
        if let Choice::Native { kernel_name } = &choice {
            require_native(kernel_name)?;
        }
        // Before anything is made: a cgroup that cannot be must not leave a folder behind.
        if !request.create {
            self.mount.resolve(&request.cgroup)?;
        }
        let _lock = Lock::take(&self.paths)?;
        let mut undo = Undo { loader: self, made: Vec::new(), armed: true };
        self.collect_garbage()?;
        bpffs::ensure(&self.paths)?;
        let (cgroup, made) = self.mount.create(&request.cgroup)?;
        let created_cgroup = !made.is_empty();
        undo.made = made;

        let registered = self.ensure_registered(&choice)?;
        let cgroup_id = cgroup::id(&cgroup)?;
        let attached = policy::ensure_attached(&self.paths, cgroup_id, &cgroup)?;
        let change = self.set_policy(&choice, cgroup_id, &cgroup, registered || attached)?;
        undo.armed = false;
        // The cgroup has its algorithm; the former one that stays registered is no failure of this load.
        if let Err(error) = self.collect_garbage() {
            tracing::warn!("after the load: {error}");
        }
        let (algorithm, kernel_name) = (choice.algorithm_name(), choice.kernel_name().to_owned());
        Ok(LoadOutcome { algorithm, kernel_name, cgroup, cgroup_id, change, created_cgroup })
    }

    fn ensure_registered(&self, choice: &Choice) -> Result<bool> {
        match choice {
            Choice::Native { .. } => Ok(false),
            Choice::Registry { algorithm, kernel_name, tunables } => {
                struct_ops::ensure(&self.paths, self.kernel, &Wanted { algorithm, kernel_name, tunables })
            }
        }
    }

    /// The last step of a load: from here on new sockets get the algorithm.
    fn set_policy(&self, choice: &Choice, id: u64, cgroup: &Path, repaired: bool) -> Result<Change> {
        let policies = Policies::open(&self.paths)?.expect("attaching the program pins the map");
        let before = policies.get(id)?;
        let kernel_name = choice.kernel_name();
        if before.is_some_and(|policy| name_str(&policy.kernel_name) == kernel_name) {
            return Ok(if repaired { Change::Attached } else { Change::Unchanged });
        }
        let before_syn = match choice {
            Choice::Native { kernel_name } => names::native_negotiates_ecn(kernel_name),
            Choice::Registry { algorithm, .. } => object::negotiates_ecn(algorithm)?,
        };
        let policy = Policy {
            kernel_name: name_bytes(kernel_name).expect("kernel names are checked when parsed"),
            attached_unix_ns: unix_ns(),
            level: self.mount.level(cgroup),
            flags: if before_syn { POLICY_BEFORE_SYN } else { 0 },
        };
        policies.set(id, &policy)?;
        Ok(match before {
            Some(policy) => Change::Switched { from: name_str(&policy.kernel_name).to_owned() },
            None => Change::Attached,
        })
    }

    /// Takes the policy of a cgroup back. `None` when it had none.
    ///
    /// # Errors
    /// A cgroup that does not exist, or a pin that cannot be removed.
    pub fn unload(&self, cgroup: &Path) -> Result<Option<UnloadOutcome>> {
        let id = cgroup::id(&self.mount.resolve(cgroup)?)?;
        Ok(self.remove_policies(|candidate| candidate == id)?.pop())
    }

    /// Takes a policy back by the id of its cgroup, which may have been removed since.
    ///
    /// # Errors
    /// [`Error::NoSuchPolicy`], or a pin that cannot be removed.
    pub fn unload_id(&self, id: u64) -> Result<UnloadOutcome> {
        self.remove_policies(|candidate| candidate == id)?.pop().ok_or(Error::NoSuchPolicy { id })
    }

    /// Takes all policies back; nothing of ccactl stays in the kernel.
    ///
    /// # Errors
    /// A pin that cannot be removed.
    pub fn unload_all(&self) -> Result<Vec<UnloadOutcome>> {
        self.remove_policies(|_| true)
    }

    fn remove_policies(&self, wanted: impl Fn(u64) -> bool) -> Result<Vec<UnloadOutcome>> {
        let _lock = Lock::take(&self.paths)?;
        let mut removed = Vec::new();
        for (id, policy) in Policies::all(&self.paths)?.into_iter().filter(|(id, _)| wanted(*id)) {
            let kernel_name = name_str(&policy.kernel_name).to_owned();
            let map_id = struct_ops::read(&self.paths, &kernel_name)?.map(|loaded| loaded.struct_ops_map_id);
            // First the policy: should we die here, new sockets are free of it and the rest is garbage.
            if let Some(policies) = Policies::open(&self.paths)? {
                policies.remove(id)?;
            }
            removed.push((id, kernel_name, map_id));
        }
        self.collect_garbage()?;
        let gone = |(cgroup_id, kernel_name, map_id): (u64, String, Option<u32>)| {
            let unregistered = !self.paths.algorithm(&kernel_name).exists();
            let still_in_use = unregistered && map_id.is_some_and(outlives_its_link);
            UnloadOutcome { cgroup_id, kernel_name, still_in_use }
        };
        Ok(removed.into_iter().map(gone).collect())
    }

    /// Removes what no policy refers to: left by a killed process, by an undone load, by an unload. The last one to go
    /// takes the folder along. Call it with the lock held.
    pub(crate) fn collect_garbage(&self) -> Result<()> {
        let policies = Policies::all(&self.paths)?;
        for folder in bpffs::names(&self.paths.cgroups())? {
            let id: Option<u64> = folder.parse().ok();
            if let Some(id) = id.filter(|id| policies.iter().all(|(used, _)| used != id)) {
                policy::detach(&self.paths, id)?;
            }
        }
        for name in bpffs::names(&self.paths.algorithms())? {
            if policies.iter().all(|(_, policy)| name_str(&policy.kernel_name) != name) {
                struct_ops::remove(&self.paths, &name)?;
            }
        }
        if policies.is_empty() { bpffs::remove_all(&self.paths) } else { Ok(()) }
    }
}

/// Takes a failed load back: what it registered or attached is garbage, as no policy refers to it yet.
struct Undo<'a> {
    loader: &'a Loader,
    made: Vec<PathBuf>,
    armed: bool,
}

impl Drop for Undo<'_> {
    fn drop(&mut self) {
        if !self.armed {
            return;
        }
        if let Err(error) = self.loader.collect_garbage() {
            tracing::warn!("undoing the load: {error}");
        }
        cgroup::remove_made(&self.made);
    }
}

/// Asks the kernel for one of its own algorithms the way an application does, which also loads its module. Programs
/// cannot load modules later.
pub(crate) fn require_native(name: &str) -> Result<()> {
    let unknown = || Error::UnknownNative { name: name.to_owned(), available: available_natives() };
    let probe = socket(AddressFamily::Inet, SockType::Stream, SockFlag::SOCK_CLOEXEC, None)
        .map_err(|errno| Error::Io { what: "cannot open a TCP socket".to_owned(), source: errno.into() })?;
    setsockopt(&probe, TcpCongestion, &OsString::from(name)).map_err(|_| unknown())
}

/// Whether the table stays in the kernel after its link is gone: sockets hold it. The kernel lets go of an unused one
/// after a grace period, so that takes a moment to see.
fn outlives_its_link(map_id: u32) -> bool {
    const PATIENCE: u32 = 40;
    const STEP: Duration = Duration::from_millis(10);
    for _ in 0..PATIENCE {
        if MapHandle::from_map_id(map_id).is_err() {
            return false;
        }
        thread::sleep(STEP);
    }
    true
}
