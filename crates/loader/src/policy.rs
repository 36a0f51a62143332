//! Policies and the sockops program that applies them: `policies`, `marks`, `cgroups/CGROUP_ID/{link,history}`.

use crate::bpffs;
use crate::error::{Error, Result};
use crate::object;
use crate::paths::Paths;
use crate::policy_state::Policy;
use ccactl_abi::objects::ATTACH;
use ccactl_host::lock;
use libbpf_rs::query::{LinkTypeInfo, ProgInfoIter, ProgInfoQueryOptions};
use libbpf_rs::{Link, MapCore, MapFlags, MapHandle, OpenObject};
use std::collections::HashSet;
use std::fs::File;
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
        Ok(shared_map(paths, &path)?.map(|map| Self { map, path }))
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
        Ok(bytes.and_then(|bytes| bytemuck::try_pod_read_unaligned(&bytes).ok()).as_ref().map(Policy::read))
    }

    /// Sets a policy in one step: a socket sees the old one or the new one.
    pub(crate) fn set(&self, id: u64, policy: &Policy) -> Result<()> {
        self.map
            .update(&id.to_ne_bytes(), bytemuck::bytes_of(&policy.raw()), MapFlags::ANY)
            .map_err(self.error("write"))
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
    attach(paths, id, cgroup)?;
    Ok(true)
}

/// The same for a canary: a program that an earlier ccactl has attached does not look at leases, so ours takes its place.
pub(crate) fn ensure_leased(paths: &Paths, id: u64, cgroup: &Path) -> Result<()> {
    let leases = paths.leases();
    if is_attached(paths, id)? && map_of_programs([link_path(paths, id)].into_iter(), name_of(&leases)).is_some() {
        return Ok(());
    }
    attach(paths, id, cgroup)
}

fn attach(paths: &Paths, id: u64, cgroup: &Path) -> Result<()> {
    let mut object = object::open("attach", ATTACH)?;
    object::set_rodata(&mut object, "attach", "policy_cgroup_id", id.cast_signed())?;
    pin_shared_maps(&mut object, paths)?;
    let object = object::finish(object, "attach")?;
    let program = object.progs_mut().next().expect("attach.bpf.c has one program");

    let what = format!("cannot attach to the cgroup {}", cgroup.display());
    let directory = File::open(cgroup).map_err(Error::io(what.clone()))?;
    let mut link = program.attach_cgroup(directory.as_raw_fd()).map_err(Error::bpf(what))?;
    // Only now: a cgroup has several programs, and new sockets shall not be without one.
    detach(paths, id)?;
    let folder = paths.cgroup(id);
    lock::ensure_private(&folder)?;
    let path = link_path(paths, id);
    link.pin(&path).map_err(Error::bpf(format!("cannot pin {}", path.display())))
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

/// The maps that all programs share, by the paths of their pins. A pin has the name of its map.
fn shared_maps(paths: &Paths) -> [PathBuf; 3] {
    [paths.policies(), paths.marks(), paths.leases()]
}

fn name_of(pin: &Path) -> &str {
    pin.file_name().and_then(|name| name.to_str()).expect("our pins have names")
}

/// Pins the maps that all programs share, or takes those that are pinned.
pub(crate) fn pin_shared_maps(object: &mut OpenObject, paths: &Paths) -> Result<()> {
    shared_maps(paths).iter().try_for_each(|pin| object::pin_map(object, name_of(pin), pin))
}

/// The same for an object that only looks: it makes no pins, so where there is nothing to share its map is its own.
/// `own_policies`: the policies are given to it, and are not those in force.
pub(crate) fn borrow_shared_maps(object: &mut OpenObject, paths: &Paths, own_policies: bool) -> Result<()> {
    for pin in shared_maps(paths) {
        let shared = if own_policies && pin == paths.policies() { None } else { shared_map(paths, &pin)? };
        match shared {
            Some(map) => object::reuse_map(object, name_of(&pin), &map)?,
            None => object::keep_private(object, name_of(&pin))?,
        }
    }
    Ok(())
}

/// A map that all programs share: by its pin, or, when somebody has removed that, from a program that goes on using it.
pub(crate) fn shared_map(paths: &Paths, pin: &Path) -> Result<Option<MapHandle>> {
    if pin.exists() {
        let map = MapHandle::from_pinned_path(pin).map_err(Error::bpf(format!("cannot open {}", pin.display())))?;
        return Ok(Some(map));
    }
    let links = bpffs::names(&paths.cgroups())?.into_iter().map(|folder| paths.cgroups().join(folder).join("link"));
    Ok(map_of_programs(links, name_of(pin)))
}

/// Whether somebody has removed such a pin.
pub(crate) fn has_lost_pins(paths: &Paths) -> Result<bool> {
    for pin in shared_maps(paths) {
        if !pin.exists() && shared_map(paths, &pin)?.is_some() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Puts back the pins of shared maps that somebody has removed while programs use them: the policies themselves, and the
/// notes that tell our choices from those of applications.
pub(crate) fn restore_pins(paths: &Paths) -> Result<()> {
    for pin in shared_maps(paths) {
        if pin.exists() {
            continue;
        }
        if let Some(mut map) = shared_map(paths, &pin)? {
            map.pin(&pin).map_err(Error::bpf(format!("cannot pin {}", pin.display())))?;
            tracing::warn!("somebody removed {}: it was put back", pin.display());
        }
    }
    Ok(())
}

/// A map of one of the programs behind pinned links. What cannot be read has no map for us.
fn map_of_programs(links: impl Iterator<Item = PathBuf>, name: &str) -> Option<MapHandle> {
    let programs: HashSet<u32> = links.filter_map(|link| Some(Link::open(link).ok()?.info().ok()?.prog_id)).collect();
    if programs.is_empty() {
        return None;
    }
    let wanted = ProgInfoQueryOptions::default().include_map_ids(true);
    ProgInfoIter::with_query_opts(wanted)
        .filter(|program| programs.contains(&program.id))
        .flat_map(|program| program.map_ids)
        .filter_map(|id| MapHandle::from_map_id(id).ok())
        .find(|map| map.name() == name)
}
