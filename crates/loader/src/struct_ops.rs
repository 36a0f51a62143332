//! Registered algorithms: `algorithms/KERNEL_NAME/{loaded,link}`.
//!
//! `loaded` is pinned before `link` (on old kernels `map`, see `registration`) and removed after it, so a link without
//! its record never exists. A record without a link is what a killed process left, and counts as nothing. While the code
//! behind a name is replaced there is a second record, `loaded_new`; the one with the id of the registered table is true.

use crate::bpffs;
use crate::error::{Error, Result};
use crate::fault;
use crate::names;
use crate::object;
use crate::paths::Paths;
use crate::preflight::Kernel;
use crate::registration;
use crate::request::Loadable;
use crate::stored;
use crate::time::unix_ns;
use bytemuck::Zeroable;
use ccactl_abi::layout::{Loaded, TunableValue, name_bytes, name_str};
use ccactl_abi::{Algorithm, Tunable};
use ccactl_host::lock;
use libbpf_rs::{MapCore, MapFlags, MapHandle, MapInfo, MapMut, MapType, Object};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

const KEY: [u8; 4] = [0; 4];

fn loaded_path(paths: &Paths, kernel_name: &str) -> PathBuf {
    paths.algorithm(kernel_name).join("loaded")
}

fn replacing_path(paths: &Paths, kernel_name: &str) -> PathBuf {
    paths.algorithm(kernel_name).join("loaded_new")
}

/// What was loaded under this name, when it is registered and ours.
pub(crate) fn read(paths: &Paths, kernel_name: &str) -> Result<Option<Loaded>> {
    let folder = paths.algorithm(kernel_name);
    if !registration::is_live(&folder)? {
        return Ok(None);
    }
    let record = read_record(&loaded_path(paths, kernel_name))?;
    let replacing = read_record(&replacing_path(paths, kernel_name))?;
    let table_id = registration::table_id(&folder)?;
    Ok(replacing.filter(|new| Some(new.struct_ops_map_id) == table_id).or(record))
}

pub(crate) fn read_record(path: &Path) -> Result<Option<Loaded>> {
    if !path.exists() {
        return Ok(None);
    }
    let what = || format!("cannot read {}", path.display());
    let map = MapHandle::from_pinned_path(path).map_err(Error::bpf(what()))?;
    let bytes = map.lookup(&KEY, MapFlags::ANY).map_err(Error::bpf(what()))?;
    Ok(bytes.and_then(|bytes| bytemuck::try_pod_read_unaligned(&bytes).ok()))
}

/// The records under a name, whichever is true.
pub(crate) fn records(paths: &Paths, kernel_name: &str) -> Result<impl Iterator<Item = Loaded>> {
    let record = read_record(&loaded_path(paths, kernel_name))?;
    Ok(record.into_iter().chain(read_record(&replacing_path(paths, kernel_name))?))
}

/// What [`ensure`] found and did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Registered {
    /// Exactly that was registered already.
    Already,
    /// It was registered under a free name.
    New,
    /// Other code or other tunables had the name; new sockets get the new ones.
    Replaced,
}

/// Registers an algorithm unless exactly that is registered already. `may_replace` says what happens when the name
/// stands for something else.
pub(crate) fn ensure(paths: &Paths, kernel: Kernel, wanted: &Loadable, may_replace: bool) -> Result<Registered> {
    let name = wanted.kernel_name.as_str();
    match read(paths, name)? {
        Some(loaded) if same(&loaded, wanted) => {
            settle(paths, name)?;
            return Ok(Registered::Already);
        }
        Some(_) if may_replace => {
            replace(paths, kernel, wanted)?;
            return Ok(Registered::Replaced);
        }
        Some(loaded) => {
            let kernel_name = name.to_owned();
            let asked = describe_settings(wanted.algorithm.name, &explicit(&wanted.tunables));
            let loaded = describe(paths, &loaded);
            return Err(if loaded == asked {
                Error::OtherCode { kernel_name, algorithm: wanted.algorithm.name }
            } else {
                Error::OtherTunables { kernel_name, loaded, asked }
            });
        }
        None => {}
    }
    remove(paths, name)?;
    if !becomes_free(name)? {
        return Err(Error::NameTaken { kernel_name: name.to_owned(), bpffs: paths.bpffs.clone() });
    }
    register(paths, kernel, wanted)?;
    Ok(Registered::New)
}

fn register(paths: &Paths, kernel: Kernel, wanted: &Loadable) -> Result<()> {
    let name = wanted.kernel_name.as_str();
    let mut object = load_object(paths, kernel, wanted)?;
    let (mut table, map_id) = table(&mut object, name)?;
    let folder = paths.algorithm(name);
    lock::ensure_private(&folder)?;
    stored::keep(paths, wanted.algorithm)?;
    pin_record(&record(wanted, map_id), &loaded_path(paths, name))?;
    registration::attach(kernel, &mut table, name, &folder)
}

/// Puts other code behind a registered name, in one step for new sockets; live ones keep the old code until they are
/// moved.
fn replace(paths: &Paths, kernel: Kernel, wanted: &Loadable) -> Result<()> {
    let name = wanted.kernel_name.as_str();
    settle(paths, name)?;
    let mut object = load_object(paths, kernel, wanted)?;
    let (mut table, map_id) = table(&mut object, name)?;
    let pending = replacing_path(paths, name);
    stored::keep(paths, wanted.algorithm)?;
    pin_record(&record(wanted, map_id), &pending)?;
    fault::point("replacing");
    if let Err(error) = registration::replace(kernel, &mut table, name, &paths.algorithm(name)) {
        bpffs::remove_pin(&pending)?;
        return Err(error);
    }
    fault::point("replaced");
    settle(paths, name)
}

/// Ends a replacement, also one that a killed process has begun: the true record takes its place.
fn settle(paths: &Paths, kernel_name: &str) -> Result<()> {
    let pending = replacing_path(paths, kernel_name);
    let Some(new) = read_record(&pending)? else { return Ok(()) };
    if Some(new.struct_ops_map_id) == registration::table_id(&paths.algorithm(kernel_name))? {
        write_record(&new, &loaded_path(paths, kernel_name))?;
    }
    bpffs::remove_pin(&pending)
}

fn load_object(paths: &Paths, kernel: Kernel, wanted: &Loadable) -> Result<Object> {
    let trace_pin = paths.trace_map();
    let was_pinned = trace_pin.exists();
    match object::load(wanted, Some(&trace_pin), kernel) {
        // A recorder, which takes no lock, has made the map at the same moment.
        Err(_) if !was_pinned && trace_pin.exists() => object::load(wanted, Some(&trace_pin), kernel),
        loaded => loaded,
    }
}

/// The struct_ops table of a loaded object, and its id.
fn table<'a>(object: &'a mut Object, name: &str) -> Result<(MapMut<'a>, u32)> {
    let table = object
        .maps_mut()
        .find(|map| map.map_type() == MapType::StructOps)
        .expect("the name was set in this very table");
    let map_id = MapInfo::new(table.as_fd()).map_err(Error::bpf(format!("cannot look at {name}")))?.info.id;
    Ok((table, map_id))
}

pub(crate) fn record(wanted: &Loadable, struct_ops_map_id: u32) -> Loaded {
    let mut loaded = Loaded {
        algorithm: name_bytes(wanted.algorithm.name).expect("the registry's names are short"),
        kernel_name: name_bytes(&wanted.kernel_name).expect("kernel names are checked when parsed"),
        loaded_unix_ns: unix_ns(),
        struct_ops_map_id,
        n_tunables: wanted.tunables.len() as u32,
        object_hash: wanted.algorithm.hash(),
        ..Loaded::zeroed()
    };
    for (slot, (tunable, raw)) in loaded.tunables.iter_mut().zip(&wanted.tunables) {
        *slot = TunableValue { name: name_bytes(tunable.name).expect("the registry's names are short"), raw: *raw };
    }
    loaded
}

pub(crate) fn pin_record(loaded: &Loaded, path: &Path) -> Result<()> {
    let what = || format!("cannot pin {}", path.display());
    let opts = libbpf_sys::bpf_map_create_opts {
        sz: size_of::<libbpf_sys::bpf_map_create_opts>() as libbpf_sys::size_t,
        ..Default::default()
    };
    let mut map =
        MapHandle::create(MapType::Array, Some("cca_loaded"), KEY.len() as u32, size_of::<Loaded>() as u32, 1, &opts)
            .map_err(Error::bpf(what()))?;
    map.update(&KEY, bytemuck::bytes_of(loaded), MapFlags::ANY).map_err(Error::bpf(what()))?;
    map.pin(path).map_err(Error::bpf(what()))
}

fn write_record(loaded: &Loaded, path: &Path) -> Result<()> {
    let what = || format!("cannot write {}", path.display());
    let map = MapHandle::from_pinned_path(path).map_err(Error::bpf(what()))?;
    map.update(&KEY, bytemuck::bytes_of(loaded), MapFlags::ANY).map_err(Error::bpf(what()))
}

/// Unregisters an algorithm. Sockets that have it keep it until they are closed.
pub(crate) fn remove(paths: &Paths, kernel_name: &str) -> Result<()> {
    let folder = paths.algorithm(kernel_name);
    let was_pinned = registration::is_pinned(&folder);
    let table_id = read_record(&loaded_path(paths, kernel_name))?.map(|loaded| loaded.struct_ops_map_id);
    registration::release(&folder, kernel_name, table_id)?;
    bpffs::remove_pin(&replacing_path(paths, kernel_name))?;
    bpffs::remove_pin(&loaded_path(paths, kernel_name))?;
    bpffs::remove_dir(&folder)?;
    if was_pinned && !becomes_free(kernel_name)? {
        tracing::warn!("the kernel still lists {kernel_name} after it was unregistered");
    }
    Ok(())
}

/// Whether nobody holds the name. The kernel unregisters in the background once the last reference to a link is gone,
/// be it unpinned or that of a killed process. So a name that is on its way out is waited for.
fn becomes_free(kernel_name: &str) -> Result<bool> {
    const ATTEMPTS: u32 = 100;
    const STEP: Duration = Duration::from_millis(5);
    for _ in 0..ATTEMPTS {
        if names::registered()?.iter().all(|name| name != kernel_name) {
            return Ok(true);
        }
        thread::sleep(STEP);
    }
    Ok(false)
}

/// The tunables that were set at load.
pub(crate) fn tunables(algorithm: &'static Algorithm, loaded: &Loaded) -> Vec<(&'static Tunable, i64)> {
    let used = &loaded.tunables[..(loaded.n_tunables as usize).min(loaded.tunables.len())];
    used.iter().filter_map(|value| Some((algorithm.tunable(name_str(&value.name))?, value.raw))).collect()
}

/// A value that equals the default makes no difference.
fn explicit(tunables: &[(&'static Tunable, i64)]) -> Vec<(&'static Tunable, i64)> {
    tunables.iter().filter(|(tunable, raw)| *raw != tunable.default_raw).copied().collect()
}

pub(crate) fn same(loaded: &Loaded, wanted: &Loadable) -> bool {
    let names = |tunables: &[(&'static Tunable, i64)]| -> Vec<(&str, i64)> {
        let mut values: Vec<_> = explicit(tunables).iter().map(|(tunable, raw)| (tunable.name, *raw)).collect();
        values.sort_unstable();
        values
    };
    name_str(&loaded.algorithm) == wanted.algorithm.name
        && names(&tunables(wanted.algorithm, loaded)) == names(&wanted.tunables)
        && loaded.object_hash == wanted.algorithm.hash()
}

fn describe(paths: &Paths, loaded: &Loaded) -> String {
    let tunables = stored::algorithm_of(paths, loaded).map(|algorithm| tunables(algorithm, loaded)).unwrap_or_default();
    describe_settings(name_str(&loaded.algorithm), &explicit(&tunables))
}

fn describe_settings(algorithm: &str, tunables: &[(&'static Tunable, i64)]) -> String {
    if tunables.is_empty() {
        return format!("{algorithm} with its defaults");
    }
    let values: Vec<_> =
        tunables.iter().map(|(tunable, raw)| format!("{}={}", tunable.name, tunable.display(*raw))).collect();
    format!("{algorithm} with {}", values.join(" "))
}
