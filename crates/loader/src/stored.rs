//! Objects of algorithms that were loaded from files: `objects/HASH`, an array of one value. Every later command, of
//! whatever process, finds there what the algorithm is, and a rollback finds its code.

use crate::error::{Error, Result};
use crate::paths::Paths;
use ccactl_abi::Algorithm;
use ccactl_abi::layout::{Loaded, name_str};
use ccactl_host::lock;
use libbpf_rs::{MapCore, MapFlags, MapHandle, MapType};

const KEY: [u8; 4] = [0; 4];

/// Keeps the object of an algorithm that is not built in. Nothing refers to it yet; a killed call leaves it for the next
/// collection of garbage.
pub(crate) fn keep(paths: &Paths, algorithm: &Algorithm) -> Result<()> {
    let path = paths.object(algorithm.hash());
    if algorithm.is_built_in() || path.exists() {
        return Ok(());
    }
    lock::ensure_private(&paths.objects())?;
    let what = || format!("cannot pin {}", path.display());
    let opts = libbpf_sys::bpf_map_create_opts {
        sz: size_of::<libbpf_sys::bpf_map_create_opts>() as libbpf_sys::size_t,
        ..Default::default()
    };
    let elf = algorithm.object();
    let (key, value) = (KEY.len() as u32, elf.len() as u32);
    let mut map =
        MapHandle::create(MapType::Array, Some("cca_object"), key, value, 1, &opts).map_err(Error::bpf(what()))?;
    map.update(&KEY, elf, MapFlags::ANY).map_err(Error::bpf(what()))?;
    map.pin(&path).map_err(Error::bpf(what()))
}

/// What was loaded: the very code, or what has its name now when it was that of another release of ccactl.
pub(crate) fn algorithm_of(paths: &Paths, loaded: &Loaded) -> Option<&'static Algorithm> {
    let name = name_str(&loaded.algorithm);
    let built_in = Algorithm::by_name(name).or_else(|| Algorithm::receiver_by_name(name));
    if let Some(algorithm) = built_in.filter(|algorithm| algorithm.hash() == loaded.object_hash) {
        return Some(algorithm);
    }
    let path = paths.object(loaded.object_hash);
    let stored = path.exists().then(|| MapHandle::from_pinned_path(&path).ok()?.lookup(&KEY, MapFlags::ANY).ok()?);
    stored.flatten().and_then(|elf| Algorithm::of_object(elf).ok()).or(built_in)
}
