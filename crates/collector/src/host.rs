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

/// How long the lock of another ccactl is waited for; it is held for a load or an unload, well below a second.
const LOCK_PATIENCE: Duration = Duration::from_secs(10);

/// The folder of our pins.
fn bpffs_dir() -> PathBuf {
    std::env::var_os("CCACTL_BPFFS").map_or_else(|| PathBuf::from("/sys/fs/bpf/ccactl"), PathBuf::from)
}

/// The folder of our locks.
fn run_dir() -> PathBuf {
    std::env::var_os("CCACTL_RUN").map_or_else(|| PathBuf::from("/run/ccactl"), PathBuf::from)
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
    recorder: Option<Flock<File>>,
}

impl Presence {
    /// Announces a recorder and runs `load` while no other ccactl changes the state.
    pub(crate) fn enter<T>(load: impl FnOnce(&Path) -> Result<T>) -> Result<(Presence, T)> {
        let _exclusive = lock_state()?;
        let recorder = open_lock("recorder.lock")?;
        let path = run_dir().join("recorder.lock");
        let recorder = Flock::lock(recorder, FlockArg::LockShared).map_err(|(_, errno)| lock_error(&path, errno))?;
        let mut presence = Presence { recorder: Some(recorder) };
        let loaded = make_bpffs_dir().and_then(|dir| load(&dir.join(TRACE_MAP)));
        match loaded {
            Ok(loaded) => Ok((presence, loaded)),
            Err(error) => {
                presence.leave_locked();
                Err(error)
            }
        }
    }

    /// To be called with the lock of the state.
    fn leave_locked(&mut self) {
        let is_last = self.recorder.take().is_some_and(|lock| lock.relock(FlockArg::LockExclusiveNonblock).is_ok());
        if !is_last {
            return;
        }
        let dir = bpffs_dir();
        let is_alone =
            fs::read_dir(&dir).is_ok_and(|entries| entries.flatten().all(|entry| entry.file_name() == TRACE_MAP));
        if is_alone {
            let _ = fs::remove_file(dir.join(TRACE_MAP));
            let _ = fs::remove_dir(&dir);
        }
    }
}

impl Drop for Presence {
    fn drop(&mut self) {
        if self.recorder.is_none() {
            return;
        }
        match lock_state() {
            Ok(_exclusive) => self.leave_locked(),
            Err(error) => tracing::warn!("{error}"),
        }
    }
}

fn make_bpffs_dir() -> Result<PathBuf> {
    let dir = bpffs_dir();
    let mount = dir.ancestors().find(|ancestor| ancestor.exists()).unwrap_or(Path::new("/"));
    let is_bpffs = statfs(mount).is_ok_and(|stat| stat.filesystem_type() == BPF_FS_MAGIC);
    let remedy = "mount it with `mount -t bpf bpf /sys/fs/bpf`";
    if !is_bpffs {
        let source = io::Error::other("there is no bpffs");
        return Err(Error::State { doing: "pin the trace map under", path: dir, source, remedy });
    }
    match fs::create_dir_all(&dir) {
        Ok(()) => Ok(dir),
        Err(source) => Err(Error::State { doing: "create", path: dir, source, remedy }),
    }
}

fn lock_state() -> Result<Flock<File>> {
    let path = run_dir().join("lock");
    let mut file = open_lock("lock")?;
    let deadline = Instant::now() + LOCK_PATIENCE;
    loop {
        match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
            Ok(locked) => return Ok(locked),
            Err((unlocked, Errno::EWOULDBLOCK)) if Instant::now() < deadline => {
                file = unlocked;
                std::thread::sleep(Duration::from_millis(20));
            }
            Err((_, errno)) => return Err(lock_error(&path, errno)),
        }
    }
}

fn open_lock(name: &str) -> Result<File> {
    let dir = run_dir();
    let remedy = "ccactl keeps its locks there; CCACTL_RUN names another folder";
    let failed = |doing, path: &Path, source| Error::State { doing, path: path.to_owned(), source, remedy };
    fs::create_dir_all(&dir).map_err(|source| failed("create", &dir, source))?;
    let path = dir.join(name);
    OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(&path)
        .map_err(|source| failed("open", &path, source))
}

fn lock_error(path: &Path, errno: Errno) -> Error {
    let remedy = "another ccactl holds it: wait for that one, or end it";
    Error::State { doing: "lock", path: path.to_owned(), source: errno.into(), remedy }
}
