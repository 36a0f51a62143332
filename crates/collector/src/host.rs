//! What a recorder shares with other processes of ccactl on this host: the pinned maps, and the announcement that
//! somebody records. `docs/host-state.md`, has the rules.

use crate::error::{Error, Result};
use ccactl_host::capabilities::{self, Capability};
use ccactl_host::state::{Presence, SHARED_MAPS};
use nix::sys::statfs::{BPF_FS_MAGIC, statfs};
use std::io;
use std::path::Path;

/// Refuses early and by name what would otherwise be a bare EPERM or ENOENT of a BPF call.
pub(crate) fn preflight() -> Result<()> {
    let missing = |needed: &[Capability]| capabilities::missing(Path::new("/proc/self/status"), needed);
    let needed = [Capability::CAP_BPF, Capability::CAP_PERFMON];
    let lacks = |needed: &[Capability]| {
        missing(needed).map_err(|error| Error::Kernel { what: format!("/proc/self/status cannot be read: {error}") })
    };
    let missing = if lacks(&[Capability::CAP_SYS_ADMIN])?.is_empty() { Vec::new() } else { lacks(&needed)? };
    if !missing.is_empty() {
        return Err(Error::Permission { missing: missing.join(" and ") });
    }
    if !Path::new("/sys/kernel/btf/vmlinux").exists() {
        return Err(Error::Kernel { what: "/sys/kernel/btf/vmlinux is missing".to_owned() });
    }
    Ok(())
}

/// Announces a recorder and runs `load` with the folder of the pinned maps. No other process has to wait for that, and
/// it waits for none that changes policies.
pub(crate) fn enter<T>(bpffs: &Path, load: impl Fn(&Path) -> Result<T>) -> Result<(Presence, T)> {
    require_bpffs(bpffs)?;
    let presence = Presence::announce(bpffs)?;
    let pinned = || SHARED_MAPS.map(|map| bpffs.join(map).exists());
    let before = pinned();
    let loaded = match load(bpffs) {
        // Somebody else, who needs a map too, has made it at the same moment.
        Err(_) if pinned() != before => load(bpffs),
        loaded => loaded,
    };
    Ok((presence, loaded?))
}

fn require_bpffs(folder: &Path) -> Result<()> {
    let mount = folder.ancestors().find(|ancestor| ancestor.exists()).unwrap_or(Path::new("/"));
    if statfs(mount).is_ok_and(|stat| stat.filesystem_type() == BPF_FS_MAGIC) {
        return Ok(());
    }
    let remedy = "mount it with `mount -t bpf bpf /sys/fs/bpf`";
    let cause = io::Error::other("there is no bpffs");
    Err(Error::State { doing: "pin the trace map under", path: folder.to_owned(), cause, remedy })
}
