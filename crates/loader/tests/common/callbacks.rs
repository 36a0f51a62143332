//! How often the kernel has called each callback of a registered algorithm: BPF's own run counts.

use ccactl_abi::layout::Loaded;
use ccactl_loader::Paths;
use libbpf_rs::btf::types::{MemberAttr, Struct};
use libbpf_rs::query::ProgInfoIter;
use libbpf_rs::{Btf, MapCore, MapFlags, MapHandle};
use std::collections::{BTreeMap, HashMap};
use std::os::fd::{FromRawFd, OwnedFd};

/// Makes the kernel count while the value lives.
pub fn count_runs() -> OwnedFd {
    // SAFETY: the call takes no pointer.
    let fd = unsafe { libbpf_sys::bpf_enable_stats(libbpf_sys::BPF_STATS_RUN_TIME) };
    assert!(fd >= 0, "BPF_ENABLE_STATS: {}", std::io::Error::last_os_error());
    // SAFETY: a fresh descriptor that nobody else owns.
    unsafe { OwnedFd::from_raw_fd(fd) }
}

/// The programs behind the members of a registered struct tcp_congestion_ops.
pub struct Callbacks {
    program_ids: HashMap<String, u32>,
}

impl Callbacks {
    /// Reads the table of the algorithm that is loaded under this name.
    pub fn of(paths: &Paths, kernel_name: &str) -> Self {
        let pin = paths.bpffs.join("algorithms").join(kernel_name).join("loaded");
        let record = MapHandle::from_pinned_path(&pin).unwrap().lookup(&[0; 4], MapFlags::ANY).unwrap().unwrap();
        let record: Loaded = bytemuck::pod_read_unaligned(&record);
        // To user space, the kernel shows program ids where its own table has function pointers.
        let table = MapHandle::from_map_id(record.struct_ops_map_id).unwrap();
        let table = table.lookup(&[0; 4], MapFlags::ANY).unwrap().unwrap();

        let btf = Btf::from_vmlinux().unwrap();
        let value: Struct<'_> = btf.type_by_name("bpf_struct_ops_tcp_congestion_ops").unwrap();
        let data = offset_of(&value, "data").unwrap();
        let ops: Struct<'_> = btf.type_by_name("tcp_congestion_ops").unwrap();
        let mut program_ids = HashMap::new();
        for member in ops.iter() {
            let Some(name) = member.name.and_then(|name| name.to_str()) else { continue };
            if !ccactl_abi::ALGORITHMS.iter().any(|algorithm| algorithm.hooks.contains(&name)) {
                continue;
            }
            let at = data + offset_of(&ops, name).unwrap();
            let id = u64::from_ne_bytes(table[at..at + 8].try_into().unwrap());
            if id != 0 {
                program_ids.insert(name.to_owned(), u32::try_from(id).unwrap());
            }
        }
        Self { program_ids }
    }

    /// Names of the members that are filled, sorted.
    pub fn names(&self) -> Vec<&str> {
        let mut names: Vec<_> = self.program_ids.keys().map(String::as_str).collect();
        names.sort_unstable();
        names
    }

    /// Program ids by member.
    pub fn ids(&self) -> BTreeMap<String, u32> {
        self.program_ids.iter().map(|(name, id)| (name.clone(), *id)).collect()
    }

    /// Runs so far, by member.
    pub fn counts(&self) -> HashMap<&str, u64> {
        let programs: HashMap<u32, u64> = ProgInfoIter::default().map(|info| (info.id, info.run_cnt)).collect();
        self.program_ids.iter().map(|(name, id)| (name.as_str(), programs[id])).collect()
    }
}

fn offset_of(composite: &Struct<'_>, member: &str) -> Option<usize> {
    composite.iter().find(|field| field.name.is_some_and(|name| name == member)).map(|field| match field.attr {
        MemberAttr::Normal { offset } | MemberAttr::BitField { offset, .. } => offset as usize / 8,
    })
}
