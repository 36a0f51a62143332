//! Former policies of a cgroup, pinned beside its program, so that a rollback knows where to go.

use crate::error::{Error, Result};
use crate::paths::Paths;
use crate::policy_state::Policy;
use crate::struct_ops;
use crate::time::unix_ns;
use bytemuck::Zeroable;
use ccactl_abi::Algorithm;
use ccactl_abi::layout::{HISTORY_SLOTS, Loaded, POLICY_ENFORCE, Past, name_bytes};
use libbpf_rs::{MapCore, MapFlags, MapHandle, MapType};
use std::fs;
use std::path::PathBuf;

/// The history of one cgroup.
pub(crate) struct History {
    map: MapHandle,
    path: PathBuf,
}

impl History {
    pub(crate) fn open(paths: &Paths, id: u64) -> Result<Option<Self>> {
        let path = paths.history(id);
        if !path.exists() {
            return Ok(None);
        }
        let map = MapHandle::from_pinned_path(&path).map_err(Error::bpf(format!("cannot open {}", path.display())))?;
        Ok(Some(Self { map, path }))
    }

    pub(crate) fn ensure(paths: &Paths, id: u64) -> Result<Self> {
        if let Some(history) = Self::open(paths, id)? {
            return Ok(history);
        }
        let path = paths.history(id);
        let folder = paths.cgroup(id);
        fs::create_dir_all(&folder).map_err(Error::io(format!("cannot make {}", folder.display())))?;
        let what = || format!("cannot pin {}", path.display());
        let opts = libbpf_sys::bpf_map_create_opts {
            sz: size_of::<libbpf_sys::bpf_map_create_opts>() as libbpf_sys::size_t,
            ..Default::default()
        };
        let (key, value) = (size_of::<u32>() as u32, size_of::<Past>() as u32);
        let mut map = MapHandle::create(MapType::Array, Some("cca_history"), key, value, HISTORY_SLOTS, &opts)
            .map_err(Error::bpf(what()))?;
        map.pin(&path).map_err(Error::bpf(what()))?;
        Ok(Self { map, path })
    }

    /// All entries, latest first.
    pub(crate) fn entries(&self) -> Result<Vec<Past>> {
        let mut entries = Vec::new();
        for slot in 0..HISTORY_SLOTS {
            let bytes = self.map.lookup(&slot.to_ne_bytes(), MapFlags::ANY).map_err(self.error("read"))?;
            let past: Option<Past> = bytes.and_then(|bytes| bytemuck::try_pod_read_unaligned(&bytes).ok());
            entries.extend(past.filter(|past| past.seq != 0));
        }
        entries.sort_by_key(|past| std::cmp::Reverse(past.seq));
        Ok(entries)
    }

    /// Adds an entry in one step, in place of the oldest one when all slots are taken. An entry like the latest one is
    /// there already: a killed call has left it.
    pub(crate) fn push(&self, past: Past) -> Result<()> {
        let latest = self.entries()?.into_iter().next();
        if latest.is_some_and(|latest| is_same(&latest, &past)) {
            return Ok(());
        }
        let past = Past { seq: latest.map_or(1, |latest| latest.seq + 1), replaced_unix_ns: unix_ns(), ..past };
        self.write(&past, slot(past.seq))
    }

    /// Takes an entry out.
    pub(crate) fn drop_entry(&self, seq: u64) -> Result<()> {
        self.write(&Past::zeroed(), slot(seq))
    }

    fn write(&self, past: &Past, slot: u32) -> Result<()> {
        self.map.update(&slot.to_ne_bytes(), bytemuck::bytes_of(past), MapFlags::ANY).map_err(self.error("write"))
    }

    fn error(&self, verb: &str) -> impl FnOnce(libbpf_rs::Error) -> Error {
        Error::bpf(format!("cannot {verb} {}", self.path.display()))
    }
}

fn slot(seq: u64) -> u32 {
    (seq % u64::from(HISTORY_SLOTS)) as u32
}

/// What is in force now, as an entry; `None` is "no policy".
pub(crate) fn present(paths: &Paths, policy: Option<&Policy>) -> Result<Past> {
    let Some(policy) = policy else { return Ok(Past::zeroed()) };
    let kernel_name = policy.given.kernel_name.as_str();
    let loaded = match struct_ops::read(paths, kernel_name)? {
        Some(loaded) => loaded,
        // A native one, or one of ours that somebody has unregistered.
        None => Loaded {
            algorithm: Algorithm::by_kernel_name(kernel_name)
                .and_then(|row| name_bytes(row.name))
                .unwrap_or([0; ccactl_abi::layout::TUNABLE_NAME_LEN]),
            kernel_name: policy.raw().kernel_name,
            ..Loaded::zeroed()
        },
    };
    Ok(Past { flags: if policy.enforce { POLICY_ENFORCE } else { 0 }, loaded, ..Past::zeroed() })
}

/// Whether two entries lead to the same policy.
pub(crate) fn is_same(a: &Past, b: &Past) -> bool {
    let tunables = |past: &Past| past.loaded.tunables[..past.loaded.n_tunables as usize].to_vec();
    a.flags == b.flags
        && a.loaded.algorithm == b.loaded.algorithm
        && a.loaded.kernel_name == b.loaded.kernel_name
        && tunables(a) == tunables(b)
}

/// Whether what applications chose was overruled.
pub(crate) fn is_enforced(past: &Past) -> bool {
    past.flags & POLICY_ENFORCE != 0
}

/// Whether an entry says that there was no policy.
pub(crate) fn is_none(past: &Past) -> bool {
    past.loaded.kernel_name[0] == 0
}
