//! What keeps an algorithm registered once we are gone, the one place where the kernel's version matters for that.
//!
//! From Linux 6.4 on (commit 68b04864ca42) a struct_ops table is registered by a link, and the pinned link keeps it.
//! Before, writing the table into its map registers it, and it stays until the element is deleted, pinned or not; there
//! the map itself is pinned to find it again.

use crate::bpffs;
use crate::error::{Error, Result};
use crate::preflight::Kernel;
use ccactl_abi::layout::{NAME_LEN, name_bytes};
use libbpf_rs::query::LinkTypeInfo;
use libbpf_rs::{Link, MapCore, MapFlags, MapHandle, MapMut, MapType, OpenObject};
use std::os::fd::{AsFd, AsRawFd};
use std::path::Path;
use std::ptr;

const KEY: [u8; 4] = [0; 4];

/// Makes the table one that this kernel can register.
pub(crate) fn prepare(object: &mut OpenObject, kernel: Kernel) -> Result<()> {
    if kernel.struct_ops_links {
        return Ok(());
    }
    for mut map in object.maps_mut().filter(|map| map.map_type() == MapType::StructOps) {
        let flags = map.map_flags() & !libbpf_sys::BPF_F_LINK;
        map.set_map_flags(flags).map_err(Error::bpf("cannot prepare the struct_ops table"))?;
    }
    Ok(())
}

/// Registers a loaded table and pins what keeps it so in `folder`.
pub(crate) fn attach(kernel: Kernel, table: &mut MapMut<'_>, kernel_name: &str, folder: &Path) -> Result<()> {
    let mut link =
        table.attach_struct_ops().map_err(Error::bpf(format!("cannot register {kernel_name} with the kernel")))?;
    let pin = folder.join(if kernel.struct_ops_links { "link" } else { "map" });
    // Should this fail, the drop of the link takes the registration back.
    link.pin(&pin).map_err(Error::bpf(format!("cannot pin {}", pin.display())))?;
    if !kernel.struct_ops_links {
        // Not a link in the kernel, only libbpf's stand-in: its drop would unregister what is to stay.
        link.disconnect();
    }
    Ok(())
}

/// Puts another loaded table behind the link that is pinned in `folder`.
pub(crate) fn replace(kernel: Kernel, table: &mut MapMut<'_>, kernel_name: &str, folder: &Path) -> Result<()> {
    let what = || format!("cannot replace the code of {kernel_name}");
    if !kernel.struct_ops_links {
        return Err(Error::NoLinkUpdate { kernel_name: kernel_name.to_owned() });
    }
    let link = Link::open(folder.join("link")).map_err(Error::bpf(what()))?;
    // libbpf writes the table's value, which makes it ready, and then fails to register the name a second time; the
    // update below says whether the value is good. It has no other door to the value in the kernel's layout.
    match table.attach_struct_ops() {
        Ok(_) => {
            let source = libbpf_rs::Error::from_raw_os_error(libc::ENOENT);
            return Err(Error::Bpf { what: format!("{kernel_name} was unregistered meanwhile: try again"), source });
        }
        Err(error) => tracing::debug!("expected: {error}"),
    }
    // SAFETY: both descriptors are open, and no options are passed.
    let ret = unsafe { libbpf_sys::bpf_link_update(link.as_fd().as_raw_fd(), table.as_fd().as_raw_fd(), ptr::null()) };
    if ret == 0 { Ok(()) } else { Err(Error::Bpf { what: what(), source: libbpf_rs::Error::from_raw_os_error(-ret) }) }
}

/// Id of the table behind the link that is pinned in `folder`; `None` without such a link.
pub(crate) fn table_id(folder: &Path) -> Result<Option<u32>> {
    let path = folder.join("link");
    if !path.exists() {
        return Ok(None);
    }
    let info = Link::open(&path).and_then(|link| link.info());
    let info = info.map_err(Error::bpf(format!("cannot read {}", path.display())))?;
    Ok(match info.info {
        LinkTypeInfo::StructOps(ops) if ops.map_id != 0 => Some(ops.map_id),
        _ => None,
    })
}

/// Whether what is pinned in `folder` is registered.
pub(crate) fn is_live(folder: &Path) -> Result<bool> {
    if folder.join("link").exists() {
        // Detaching a link by force (`bpftool link detach`) leaves the pin with no table behind it.
        return Ok(table_id(folder)?.is_some());
    }
    let map = folder.join("map");
    if !map.exists() {
        return Ok(false);
    }
    let table = MapHandle::from_pinned_path(&map).map_err(Error::bpf(format!("cannot read {}", map.display())))?;
    Ok(is_in_use(&table))
}

/// Whether there is anything pinned in `folder` that may keep an algorithm registered.
pub(crate) fn is_pinned(folder: &Path) -> bool {
    folder.join("link").exists() || folder.join("map").exists()
}

/// Unregisters what is pinned in `folder`. `table_id` finds a table that a killed process registered but did not pin.
pub(crate) fn release(folder: &Path, kernel_name: &str, table_id: Option<u32>) -> Result<()> {
    bpffs::remove_link(&folder.join("link"))?;
    let pin = folder.join("map");
    let pinned = pin.exists().then(|| MapHandle::from_pinned_path(&pin).ok()).flatten();
    let table = pinned.or_else(|| MapHandle::from_map_id(table_id?).ok().filter(|map| carries(map, kernel_name)));
    if let Some(table) = table.filter(is_in_use) {
        // A table with a link refuses this; its link is gone, so there is nothing to do.
        if let Err(error) = table.delete(&KEY) {
            tracing::debug!("unregistering {kernel_name}: {error}");
        }
    }
    bpffs::remove_pin(&pin)
}

/// `state` of struct bpf_struct_ops_common_value, which precedes the table in its map: after the reference count.
fn is_in_use(table: &MapHandle) -> bool {
    const IN_USE: u32 = 1;
    let Ok(Some(value)) = table.lookup(&KEY, MapFlags::ANY) else { return false };
    value.get(4..8).is_some_and(|state| state == IN_USE.to_ne_bytes())
}

/// Map ids are used again some day: the table must carry the name.
fn carries(map: &MapHandle, kernel_name: &str) -> bool {
    let Some(name) = name_bytes::<NAME_LEN>(kernel_name) else { return false };
    map.map_type() == MapType::StructOps
        && matches!(map.lookup(&KEY, MapFlags::ANY), Ok(Some(value)) if value.windows(NAME_LEN).any(|part| part == name))
}
