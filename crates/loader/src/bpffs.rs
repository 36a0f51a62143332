//! The folder of pins: on a BPF file system, there when needed, gone when empty.

use crate::error::{Error, Result};
use crate::paths::Paths;
use ccactl_host::lock;
use ccactl_host::state::Change;
use libbpf_rs::Link;
use nix::mount::{MsFlags, mount};
use nix::sys::statfs::{BPF_FS_MAGIC, statfs};
use std::fs;
use std::io;
use std::path::Path;

/// The one place where a BPF file system is mounted by us.
const MOUNT_POINT: &str = "/sys/fs/bpf";

/// Mounts bpffs when `/sys/fs/bpf` is not one yet.
///
/// # Errors
/// [`Error::NoBpffs`] when the folder of pins lies elsewhere or the mount is refused.
pub fn mount_if_missing(paths: &Paths) -> Result<()> {
    let root = &paths.bpffs;
    if is_bpffs(root) {
        return Ok(());
    }
    if !root.starts_with(MOUNT_POINT) {
        let reason = "it is not below a mounted one".to_owned();
        return Err(Error::NoBpffs { path: root.clone(), reason });
    }
    mount(Some("bpf"), MOUNT_POINT, Some("bpf"), MsFlags::empty(), None::<&str>)
        .map_err(|errno| Error::NoBpffs { path: root.clone(), reason: format!("mounting it failed: {errno}") })?;
    tracing::info!("mounted bpffs at {MOUNT_POINT}");
    Ok(())
}

/// Makes the folder, on a bpffs.
pub(crate) fn ensure(paths: &Paths) -> Result<()> {
    mount_if_missing(paths)?;
    let root = &paths.bpffs;
    for folder in [root, &paths.algorithms(), &paths.cgroups()] {
        lock::ensure_private(folder)?;
    }
    Ok(())
}

/// Whether `path`, or its nearest existing ancestor, is on a BPF file system.
fn is_bpffs(path: &Path) -> bool {
    path.ancestors()
        .find(|ancestor| ancestor.exists())
        .is_some_and(|ancestor| statfs(ancestor).is_ok_and(|fs| fs.filesystem_type() == BPF_FS_MAGIC))
}

/// Removes what is left of the folder once no policy is there; the folder itself goes with the lock. The shared
/// maps stay while somebody records, and the marks as long as there are some.
pub(crate) fn remove_all(change: &Change, paths: &Paths, keep_marks: bool) -> Result<()> {
    remove_pin(&paths.policies())?;
    remove_pin(&paths.leases())?;
    remove_pin(&paths.receivers())?;
    remove_dir(&paths.receive())?;
    if !keep_marks {
        remove_pin(&paths.marks())?;
    }
    change.remove_shared_maps()?;
    remove_dir(&paths.algorithms())?;
    remove_dir(&paths.cgroups())
}

/// Removes a pin; that it was not there is fine.
pub(crate) fn remove_pin(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(Error::Io { what: format!("cannot remove {}", path.display()), source: error })
        }
        _ => Ok(()),
    }
}

/// Detaches a pinned link and removes its pin. Without the explicit detachment the kernel would do it some time later.
pub(crate) fn remove_link(path: &Path) -> Result<()> {
    if path.exists() {
        // Kernels before 6.10 cannot detach struct_ops links, and the link of a removed cgroup is detached already:
        // then the removal of the pin does it.
        if let Err(error) = Link::open(path).and_then(|link| link.detach()) {
            tracing::debug!("detaching {}: {error}", path.display());
        }
    }
    remove_pin(path)
}

/// Removes a folder; that it was not there, or is not empty, is fine.
pub(crate) fn remove_dir(path: &Path) -> Result<()> {
    use io::ErrorKind::{DirectoryNotEmpty, NotFound};
    match fs::remove_dir(path) {
        Err(error) if !matches!(error.kind(), NotFound | DirectoryNotEmpty) => {
            Err(Error::Io { what: format!("cannot remove {}", path.display()), source: error })
        }
        _ => Ok(()),
    }
}

/// Names in a folder; an absent folder has none.
pub(crate) fn names(folder: &Path) -> Result<Vec<String>> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(Error::Io { what: format!("cannot read {}", folder.display()), source: error }),
    };
    Ok(entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_outside_every_bpffs_is_refused_and_not_made() {
        let dir = tempfile::tempdir().unwrap();
        let paths = Paths { bpffs: dir.path().join("ccactl"), ..Paths::default() };
        assert!(matches!(ensure(&paths), Err(Error::NoBpffs { .. })));
        assert!(!paths.bpffs.exists());
    }
}
