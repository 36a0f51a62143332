//! Policies and the sockops program that applies them: `policies`, `marks`, `cgroups/CGROUP_ID/{link,history}`.

use crate::bpffs;
use crate::error::{Error, Result};
use crate::object;
use crate::paths::Paths;
use ccactl_abi::layout::Policy;
use ccactl_abi::objects::ATTACH;
use libbpf_rs::query::LinkTypeInfo;
use libbpf_rs::{Link, MapCore, MapFlags, MapHandle, OpenObject};
use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

/// The pinned map of all policies.
pub(crate) struct Policies {
    map: MapHandle,
    path: PathBuf,
}

impl Policies {
    /// The map, when there is one.
    pub(crate) fn open(paths: &Paths) -> Result<Option<Self>> {
        let path = paths.policies();
        if !path.exists() {
            return Ok(None);
        }
        let map = MapHandle::from_pinned_path(&path).map_err(Error::bpf(format!("cannot open {}", path.display())))?;
        Ok(Some(Self { map, path }))
    }

    /// The map, which must be there.
    pub(crate) fn required(paths: &Paths) -> Result<Self> {
        let gone = || {
            let what = format!("{} is gone: somebody removed it while it was in use", paths.policies().display());
            Error::Io { what, source: io::ErrorKind::NotFound.into() }
        };
        Self::open(paths)?.ok_or_else(gone)
    }

    /// Every policy by cgroup id, in the order of the ids.
    pub(crate) fn all(paths: &Paths) -> Result<Vec<(u64, Policy)>> {
        let Some(policies) = Self::open(paths)? else {
            return Ok(Vec::new());
        };
        let mut all = Vec::new();
        for key in policies.map.keys() {
            let Ok(id) = key.as_slice().try_into().map(u64::from_ne_bytes) else { continue };
            if let Some(policy) = policies.get(id)? {
                all.push((id, policy));
            }
        }
        all.sort_by_key(|(id, _)| *id);
        Ok(all)
    }

    pub(crate) fn get(&self, id: u64) -> Result<Option<Policy>> {
        let bytes = self.map.lookup(&id.to_ne_bytes(), MapFlags::ANY).map_err(self.error("read"))?;
        Ok(bytes.and_then(|bytes| bytemuck::try_pod_read_unaligned(&bytes).ok()))
    }

    /// Sets a policy in one step: a socket sees the old one or the new one.
    pub(crate) fn set(&self, id: u64, policy: &Policy) -> Result<()> {
        self.map.update(&id.to_ne_bytes(), bytemuck::bytes_of(policy), MapFlags::ANY).map_err(self.error("write"))
    }

    pub(crate) fn remove(&self, id: u64) -> Result<()> {
        self.map.delete(&id.to_ne_bytes()).map_err(self.error("delete from"))
    }

    fn error(&self, verb: &str) -> impl FnOnce(libbpf_rs::Error) -> Error {
        Error::bpf(format!("cannot {verb} {}", self.path.display()))
    }
}

fn link_path(paths: &Paths, id: u64) -> PathBuf {
    paths.cgroup(id).join("link")
}

/// Whether the pinned program is attached to its cgroup; a removed cgroup leaves a link to nothing.
pub(crate) fn is_attached(paths: &Paths, id: u64) -> Result<bool> {
    let path = link_path(paths, id);
    if !path.exists() {
        return Ok(false);
    }
    let what = || format!("cannot read {}", path.display());
    let link = Link::open(&path).map_err(Error::bpf(what()))?;
    let info = link.info().map_err(Error::bpf(what()))?;
    Ok(matches!(info.info, LinkTypeInfo::Cgroup(cgroup) if cgroup.cgroup_id == id))
}

/// Attaches the program to a cgroup unless it is; it does nothing until the policy is set. Says whether it did.
pub(crate) fn ensure_attached(paths: &Paths, id: u64, cgroup: &Path) -> Result<bool> {
    if is_attached(paths, id)? {
        return Ok(false);
    }
    detach(paths, id)?;
    let mut object = object::open("attach", ATTACH)?;
    object::set_rodata(&mut object, "attach", "policy_cgroup_id", id.cast_signed())?;
    pin_shared_maps(&mut object, paths)?;
    let object = object::finish(object, "attach")?;
    let program = object.progs_mut().next().expect("attach.bpf.c has one program");

    let what = format!("cannot attach to the cgroup {}", cgroup.display());
    let directory = File::open(cgroup).map_err(Error::io(what.clone()))?;
    let mut link = program.attach_cgroup(directory.as_raw_fd()).map_err(Error::bpf(what))?;
    let folder = paths.cgroup(id);
    fs::create_dir_all(&folder).map_err(Error::io(format!("cannot make {}", folder.display())))?;
    let path = link_path(paths, id);
    link.pin(&path).map_err(Error::bpf(format!("cannot pin {}", path.display())))?;
    Ok(true)
}

/// Detaches the program of a cgroup. The history stays.
pub(crate) fn detach(paths: &Paths, id: u64) -> Result<()> {
    bpffs::remove_link(&link_path(paths, id))
}

/// Removes all that is pinned of a cgroup.
pub(crate) fn forget(paths: &Paths, id: u64) -> Result<()> {
    detach(paths, id)?;
    bpffs::remove_pin(&paths.history(id))?;
    bpffs::remove_dir(&paths.cgroup(id))
}

/// The maps that all programs share.
pub(crate) fn pin_shared_maps(object: &mut OpenObject, paths: &Paths) -> Result<()> {
    object::pin_map(object, "policies", &paths.policies())?;
    object::pin_map(object, "marks", &paths.marks())
}
