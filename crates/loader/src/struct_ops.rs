//! Registered algorithms: `algorithms/KERNEL_NAME/{loaded,link}`.
//!
//! `loaded` is pinned before `link` (on old kernels `map`, see `registration`) and removed after it, so a link without
//! its record never exists; a record without a link is what a killed process left and counts as nothing.

use crate::bpffs;
use crate::error::{Error, Result};
use crate::names;
use crate::object::{self, Settings};
use crate::paths::Paths;
use crate::preflight::Kernel;
use crate::registration;
use crate::time::unix_ns;
use bytemuck::Zeroable;
use ccactl_abi::layout::{Loaded, TunableValue, name_bytes, name_str};
use ccactl_abi::{Algorithm, Tunable};
use libbpf_rs::{MapCore, MapFlags, MapHandle, MapInfo, MapType};
use std::fs;
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

const KEY: [u8; 4] = [0; 4];

/// The algorithm that a user asks for, as it is to be registered.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wanted<'a> {
    pub(crate) algorithm: &'static Algorithm,
    pub(crate) kernel_name: &'a str,
    pub(crate) tunables: &'a [(&'static Tunable, i64)],
}

fn loaded_path(paths: &Paths, kernel_name: &str) -> PathBuf {
    paths.algorithm(kernel_name).join("loaded")
}

/// What was loaded under this name, when it is registered and ours.
pub(crate) fn read(paths: &Paths, kernel_name: &str) -> Result<Option<Loaded>> {
    if registration::is_live(&paths.algorithm(kernel_name))? { read_record(paths, kernel_name) } else { Ok(None) }
}

fn read_record(paths: &Paths, kernel_name: &str) -> Result<Option<Loaded>> {
    let path = loaded_path(paths, kernel_name);
    if !path.exists() {
        return Ok(None);
    }
    let what = || format!("cannot read {}", path.display());
    let map = MapHandle::from_pinned_path(&path).map_err(Error::bpf(what()))?;
    let bytes = map.lookup(&KEY, MapFlags::ANY).map_err(Error::bpf(what()))?;
    Ok(bytes.and_then(|bytes| bytemuck::try_pod_read_unaligned(&bytes).ok()))
}

/// Registers an algorithm unless exactly that is registered already; says whether it did.
pub(crate) fn ensure(paths: &Paths, kernel: Kernel, wanted: &Wanted<'_>) -> Result<bool> {
    if let Some(loaded) = read(paths, wanted.kernel_name)? {
        return if same(&loaded, wanted) {
            Ok(false)
        } else {
            Err(Error::OtherTunables {
                kernel_name: wanted.kernel_name.to_owned(),
                loaded: describe(&loaded),
                asked: describe_settings(wanted.algorithm.name, &explicit(wanted.tunables)),
            })
        };
    }
    remove(paths, wanted.kernel_name)?;
    if !becomes_free(wanted.kernel_name)? {
        return Err(Error::NameTaken { kernel_name: wanted.kernel_name.to_owned(), bpffs: paths.bpffs.clone() });
    }
    register(paths, kernel, wanted)?;
    Ok(true)
}

fn register(paths: &Paths, kernel: Kernel, wanted: &Wanted<'_>) -> Result<()> {
    let name = wanted.kernel_name;
    let trace_pin = paths.trace_map();
    let settings = Settings {
        algorithm: wanted.algorithm,
        kernel_name: name,
        tunables: wanted.tunables,
        trace_pin: Some(&trace_pin),
    };
    let mut object = object::load(&settings, kernel)?;
    let mut table = object
        .maps_mut()
        .find(|map| map.map_type() == MapType::StructOps)
        .expect("the name was set in this very table");
    let map_id = MapInfo::new(table.as_fd()).map_err(Error::bpf(format!("cannot look at {name}")))?.info.id;

    let folder = paths.algorithm(name);
    fs::create_dir_all(&folder).map_err(Error::io(format!("cannot make {}", folder.display())))?;
    pin_record(&record(wanted, map_id), &loaded_path(paths, name))?;
    registration::attach(kernel, &mut table, name, &folder)
}

fn record(wanted: &Wanted<'_>, struct_ops_map_id: u32) -> Loaded {
    let mut loaded = Loaded {
        algorithm: name_bytes(wanted.algorithm.name).expect("the registry's names are short"),
        kernel_name: name_bytes(wanted.kernel_name).expect("kernel names are checked when parsed"),
        loaded_unix_ns: unix_ns(),
        struct_ops_map_id,
        n_tunables: wanted.tunables.len() as u32,
        ..Loaded::zeroed()
    };
    for (slot, (tunable, raw)) in loaded.tunables.iter_mut().zip(wanted.tunables) {
        *slot = TunableValue { name: name_bytes(tunable.name).expect("the registry's names are short"), raw: *raw };
    }
    loaded
}

fn pin_record(loaded: &Loaded, path: &PathBuf) -> Result<()> {
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

/// Unregisters an algorithm. Sockets that have it keep it until they are closed.
pub(crate) fn remove(paths: &Paths, kernel_name: &str) -> Result<()> {
    let folder = paths.algorithm(kernel_name);
    let was_pinned = registration::is_pinned(&folder);
    let table_id = read_record(paths, kernel_name)?.map(|loaded| loaded.struct_ops_map_id);
    registration::release(&folder, kernel_name, table_id)?;
    bpffs::remove_pin(&loaded_path(paths, kernel_name))?;
    bpffs::remove_dir(&folder)?;
    if was_pinned && !becomes_free(kernel_name)? {
        tracing::warn!("the kernel still lists {kernel_name} after it was unregistered");
    }
    Ok(())
}

/// Whether nobody holds the name. The kernel unregisters in the background once the last reference to a link is gone,
/// be it unpinned or that of a killed process, so a name that is on its way out is waited for.
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

/// The tunables that were set at load, as the registry knows them.
pub(crate) fn tunables(loaded: &Loaded) -> Vec<(&'static Tunable, i64)> {
    let Some(algorithm) = Algorithm::by_name(name_str(&loaded.algorithm)) else {
        return Vec::new();
    };
    let used = &loaded.tunables[..(loaded.n_tunables as usize).min(loaded.tunables.len())];
    used.iter().filter_map(|value| Some((algorithm.tunable(name_str(&value.name))?, value.raw))).collect()
}

/// A value that equals the default makes no difference.
fn explicit(tunables: &[(&'static Tunable, i64)]) -> Vec<(&'static Tunable, i64)> {
    tunables.iter().filter(|(tunable, raw)| *raw != tunable.default_raw).copied().collect()
}

fn same(loaded: &Loaded, wanted: &Wanted<'_>) -> bool {
    let names = |tunables: &[(&'static Tunable, i64)]| -> Vec<(&str, i64)> {
        let mut values: Vec<_> = explicit(tunables).iter().map(|(tunable, raw)| (tunable.name, *raw)).collect();
        values.sort_unstable();
        values
    };
    name_str(&loaded.algorithm) == wanted.algorithm.name && names(&tunables(loaded)) == names(wanted.tunables)
}

fn describe(loaded: &Loaded) -> String {
    describe_settings(name_str(&loaded.algorithm), &explicit(&tunables(loaded)))
}

fn describe_settings(algorithm: &str, tunables: &[(&'static Tunable, i64)]) -> String {
    if tunables.is_empty() {
        return format!("{algorithm} with its defaults");
    }
    let values: Vec<_> =
        tunables.iter().map(|(tunable, raw)| format!("{}={}", tunable.name, tunable.display(*raw))).collect();
    format!("{algorithm} with {}", values.join(" "))
}
