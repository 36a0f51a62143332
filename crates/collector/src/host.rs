//! What a recorder shares with other processes of ccactl on this host: locks under `/run/ccactl` and the pinned trace
//! map. `docs/architecture.md`, "State on the host", has the rules.

use crate::error::{Error, Result};
use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};
use nix::sys::statfs::{BPF_FS_MAGIC, statfs};
use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Name of the shared map and of its pin.
pub(crate) const TRACE_MAP: &str = "cca_trace_map";

/// Held exclusively while the state changes.
const STATE_LOCK: &str = "lock";
/// Held shared by every running recorder.
const RECORDER_LOCK: &str = "recorder.lock";

/// How long the lock of others is waited for. Each holds it for a load or an unload, well below a second on a quiet host; a suite begins
/// a dozen recordings at a time, and beside compilers ten seconds were not enough for the last of them.
const LOCK_PATIENCE: Duration = Duration::from_secs(60);

/// The folders that all processes of ccactl on this host share.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostPaths {
    /// Pinned maps and links, on a bpffs.
    pub bpffs: PathBuf,
    /// Lock files.
    pub run: PathBuf,
}

impl HostPaths {
    /// `CCACTL_BPFFS` and `CCACTL_RUN`, or `/sys/fs/bpf/ccactl` and `/run/ccactl`.
    #[must_use]
    pub fn from_env() -> HostPaths {
        let path = |variable, default: &str| std::env::var_os(variable).unwrap_or_else(|| default.into()).into();
        HostPaths { bpffs: path("CCACTL_BPFFS", "/sys/fs/bpf/ccactl"), run: path("CCACTL_RUN", "/run/ccactl") }
    }

    fn make_bpffs(&self) -> Result<()> {
        let dir = &self.bpffs;
        let mount = dir.ancestors().find(|ancestor| ancestor.exists()).unwrap_or(Path::new("/"));
        let is_bpffs = statfs(mount).is_ok_and(|stat| stat.filesystem_type() == BPF_FS_MAGIC);
        let remedy = "mount it with `mount -t bpf bpf /sys/fs/bpf`";
        if !is_bpffs {
            let cause = io::Error::other("there is no bpffs");
            return Err(Error::State { doing: "pin the trace map under", path: dir.clone(), cause, remedy });
        }
        fs::create_dir_all(dir).map_err(|cause| Error::State { doing: "create", path: dir.clone(), cause, remedy })
    }

    fn open_lock(&self, name: &str) -> Result<File> {
        let remedy = "ccactl keeps its locks there; CCACTL_RUN names another folder";
        let failed = |doing, path: &Path, cause| Error::State { doing, path: path.to_owned(), cause, remedy };
        fs::create_dir_all(&self.run).map_err(|cause| failed("create", &self.run, cause))?;
        let path = self.run.join(name);
        OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .map_err(|cause| failed("open", &path, cause))
    }

    /// Keeps every other ccactl from changing the state.
    fn lock_state(&self) -> Result<Flock<File>> {
        let mut file = self.open_lock(STATE_LOCK)?;
        let deadline = Instant::now() + LOCK_PATIENCE;
        loop {
            match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
                Ok(locked) => return Ok(locked),
                Err((unlocked, Errno::EWOULDBLOCK)) if Instant::now() < deadline => {
                    file = unlocked;
                    std::thread::sleep(Duration::from_millis(20));
                }
                Err((_, errno)) => return Err(self.lock_error(STATE_LOCK, errno)),
            }
        }
    }

    fn lock_error(&self, name: &str, errno: Errno) -> Error {
        let remedy = "another ccactl holds it: wait for that one, or end it";
        Error::State { doing: "lock", path: self.run.join(name), cause: errno.into(), remedy }
    }
}

/// Refuses early and by name what would otherwise be a bare EPERM or ENOENT of a BPF call.
pub(crate) fn preflight() -> Result<()> {
    const CAP_SYS_ADMIN: u32 = 21;
    const CAP_PERFMON: u32 = 38;
    const CAP_BPF: u32 = 39;
    let effective = effective_capabilities();
    let has = |capability: u32| effective & 1 << capability != 0;
    let missing: Vec<&str> = [(CAP_BPF, "CAP_BPF"), (CAP_PERFMON, "CAP_PERFMON")]
        .into_iter()
        .filter(|&(capability, _)| !has(capability) && !has(CAP_SYS_ADMIN))
        .map(|(_, name)| name)
        .collect();
    if !missing.is_empty() {
        return Err(Error::Permission { missing: missing.join(" and ") });
    }
    if !Path::new("/sys/kernel/btf/vmlinux").exists() {
        return Err(Error::Kernel { what: "/sys/kernel/btf/vmlinux is missing".to_owned() });
    }
    Ok(())
}

/// The effective capability set as bits; empty when /proc does not say.
fn effective_capabilities() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let bits = status.lines().find_map(|line| line.strip_prefix("CapEff:")).unwrap_or_default();
    u64::from_str_radix(bits.trim(), 16).unwrap_or(0)
}

/// A running recorder's share of the host's state. Dropping it gives the announcement back; the last recorder removes
/// the trace map unless algorithms are loaded, which go on using it.
pub(crate) struct Presence {
    paths: HostPaths,
    recorder: Option<Flock<File>>,
}

impl Presence {
    /// Announces a recorder and runs `load`, which gets the path of the trace map's pin, while no other ccactl changes
    /// the state.
    pub(crate) fn enter<T>(paths: &HostPaths, load: impl FnOnce(&Path) -> Result<T>) -> Result<(Presence, T)> {
        let _exclusive = paths.lock_state()?;
        let recorder = Flock::lock(paths.open_lock(RECORDER_LOCK)?, FlockArg::LockShared)
            .map_err(|(_, errno)| paths.lock_error(RECORDER_LOCK, errno))?;
        let mut presence = Presence { paths: paths.clone(), recorder: Some(recorder) };
        match paths.make_bpffs().and_then(|()| load(&paths.bpffs.join(TRACE_MAP))) {
            Ok(loaded) => Ok((presence, loaded)),
            Err(error) => {
                presence.leave();
                Err(error)
            }
        }
    }

    /// To be called with the lock of the state.
    fn leave(&mut self) {
        let is_last = self.recorder.take().is_some_and(|lock| lock.relock(FlockArg::LockExclusiveNonblock).is_ok());
        if !is_last {
            return;
        }
        let dir = &self.paths.bpffs;
        let is_alone =
            fs::read_dir(dir).is_ok_and(|entries| entries.flatten().all(|entry| entry.file_name() == TRACE_MAP));
        if is_alone {
            let _ = fs::remove_file(dir.join(TRACE_MAP));
            let _ = fs::remove_dir(dir);
        }
    }
}

impl Drop for Presence {
    fn drop(&mut self) {
        if self.recorder.is_none() {
            return;
        }
        match self.paths.lock_state() {
            Ok(_exclusive) => self.leave(),
            Err(error) => tracing::warn!("{error}"),
        }
    }
}
