//! Where the host keeps what the loader reads and writes.

use ccactl_host::state::{self, OFFERS_MAP, TRACE_MAP};
use std::env;
use std::path::PathBuf;

/// Every path that the loader touches. Tests replace them to stage a host that lacks something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Paths {
    /// Folder of the pinned links and maps, which is also the lock of every change (`CCACTL_BPFFS`, default `/sys/fs/bpf/ccactl`).
    pub bpffs: PathBuf,
    /// Type information of the running kernel (`CCACTL_BTF`, default `/sys/kernel/btf/vmlinux`).
    pub btf: PathBuf,
    /// Mount table in the format of `/proc/mounts` (`CCACTL_MOUNTS`).
    pub mounts: PathBuf,
    /// Status of this process with the line `CapEff:` (`CCACTL_PROC_STATUS`, default `/proc/self/status`).
    pub proc_status: PathBuf,
}

impl Default for Paths {
    fn default() -> Self {
        Self {
            bpffs: "/sys/fs/bpf/ccactl".into(),
            btf: "/sys/kernel/btf/vmlinux".into(),
            mounts: "/proc/mounts".into(),
            proc_status: "/proc/self/status".into(),
        }
    }
}

impl Paths {
    /// The defaults, each replaced by its environment variable where that is set.
    #[must_use]
    pub fn from_env() -> Self {
        let or = |name: &str, default: PathBuf| env::var_os(name).map_or(default, PathBuf::from);
        let default = Self::default();
        Self {
            bpffs: state::folder_from_env(),
            btf: or("CCACTL_BTF", default.btf),
            mounts: or("CCACTL_MOUNTS", default.mounts),
            proc_status: or("CCACTL_PROC_STATUS", default.proc_status),
        }
    }

    pub(crate) fn policies(&self) -> PathBuf {
        self.bpffs.join("policies")
    }

    pub(crate) fn marks(&self) -> PathBuf {
        self.bpffs.join("marks")
    }

    pub(crate) fn leases(&self) -> PathBuf {
        self.bpffs.join("leases")
    }

    pub(crate) fn receivers(&self) -> PathBuf {
        self.bpffs.join("receivers")
    }

    pub(crate) fn offers(&self) -> PathBuf {
        self.bpffs.join(OFFERS_MAP)
    }

    pub(crate) fn receive(&self) -> PathBuf {
        self.bpffs.join("receive")
    }

    pub(crate) fn receive_of(&self, id: u64) -> PathBuf {
        self.receive().join(id.to_string())
    }

    pub(crate) fn ect1(&self) -> PathBuf {
        self.bpffs.join("ect1")
    }

    pub(crate) fn trace_map(&self) -> PathBuf {
        self.bpffs.join(TRACE_MAP)
    }

    pub(crate) fn algorithms(&self) -> PathBuf {
        self.bpffs.join("algorithms")
    }

    pub(crate) fn algorithm(&self, kernel_name: &str) -> PathBuf {
        self.algorithms().join(kernel_name)
    }

    pub(crate) fn objects(&self) -> PathBuf {
        self.bpffs.join("objects")
    }

    pub(crate) fn object(&self, hash: u64) -> PathBuf {
        self.objects().join(format!("{hash:016x}"))
    }

    pub(crate) fn cgroups(&self) -> PathBuf {
        self.bpffs.join("cgroups")
    }

    pub(crate) fn cgroup(&self, id: u64) -> PathBuf {
        self.cgroups().join(id.to_string())
    }

    pub(crate) fn history(&self, id: u64) -> PathBuf {
        self.cgroup(id).join("history")
    }
}
