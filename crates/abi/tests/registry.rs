//! What the files of `bpf/cc/` say about themselves, against libbpf's reading of their objects.

use std::collections::{BTreeMap, BTreeSet};
use std::mem::offset_of;

use ccactl_abi::layout::{self, CongestionOps};
use ccactl_abi::{ALGORITHMS, Algorithm, EcnNeed, Family, about, native, objects};
use libbpf_rs::btf::types::{DataSec, Int, IntEncoding, MemberAttr, Struct, Var};
use libbpf_rs::btf::{Btf, ReferencesType as _};
use libbpf_rs::{AsRawLibbpf as _, MapType, ObjectBuilder};

/// What a BPF object says about itself.
struct Compiled {
    /// Values of the `const volatile` variables.
    constants: BTreeMap<String, i64>,
    hooks: BTreeSet<String>,
    kernel_name: String,
    /// Members of the table with their offsets.
    members: BTreeMap<String, usize>,
}

fn compiled(algorithm: &Algorithm) -> Compiled {
    let bytes = algorithm.object();
    let btf = Btf::from_raw(algorithm.name, bytes).expect("BTF can be read").expect("the object has BTF");
    let mut builder = ObjectBuilder::default();
    let mut object = builder.open_memory(bytes).expect("libbpf opens the object");
    let members = members(&btf);
    let (mut constants, mut hooks, mut kernel_name) = (BTreeMap::new(), BTreeSet::new(), String::new());
    for mut map in object.maps_mut() {
        // SAFETY: the map belongs to the open object.
        let kind = unsafe { libbpf_sys::bpf_map__type(map.as_libbpf_object().as_ptr()) };
        let name = map.name().to_string_lossy().into_owned();
        let Some(data) = map.initial_value_mut() else { continue };
        if name.ends_with(".rodata") {
            constants = read_constants(&btf, data);
        } else if kind == MapType::StructOps as u32 {
            let at = members["name"];
            kernel_name = layout::name_str(&data[at..at + layout::NAME_LEN]).to_owned();
            // libbpf's view of the table: a function pointer is non-zero where the file filled it.
            let is_hook = |(name, at): &(&String, &usize)| {
                !matches!(name.as_str(), "name" | "flags") && data[**at..**at + 8] != [0; 8]
            };
            hooks = members.iter().filter(is_hook).map(|(name, _)| name.clone()).collect();
        }
    }
    Compiled { constants, hooks, kernel_name, members }
}

fn members(btf: &Btf<'_>) -> BTreeMap<String, usize> {
    let ops: Struct<'_> = btf.type_by_name("tcp_congestion_ops").expect("BTF describes the ops");
    let member = |member: libbpf_rs::btf::types::StructMember<'_>| match member.attr {
        MemberAttr::Normal { offset } => (member.name.unwrap().to_string_lossy().into_owned(), offset as usize / 8),
        MemberAttr::BitField { .. } => panic!("the table has no bit fields"),
    };
    ops.iter().map(member).collect()
}

fn read_constants(btf: &Btf<'_>, data: &[u8]) -> BTreeMap<String, i64> {
    let section: DataSec<'_> = btf.type_by_name(".rodata").expect("BTF describes .rodata");
    let mut found = BTreeMap::new();
    for entry in section.iter() {
        let variable: Var<'_> = btf.type_by_id(entry.ty).expect("a variable");
        let Ok(int) = Int::try_from(variable.referenced_type().skip_mods_and_typedefs()) else { continue };
        let bytes = &data[entry.offset as usize..entry.offset as usize + entry.size];
        let raw = bytes.iter().rev().fold(0_u64, |raw, &byte| raw << 8 | u64::from(byte));
        let unused = 64 - u32::from(int.bits);
        let is_signed = matches!(int.encoding, IntEncoding::Signed);
        let value = if is_signed { (raw << unused).cast_signed() >> unused } else { raw.cast_signed() };
        found.insert(variable.name().expect("a variable has a name").to_string_lossy().into_owned(), value);
    }
    found
}

#[test]
fn every_object_is_complete() {
    assert_eq!(ALGORITHMS.len(), objects::ALGORITHM_OBJECTS.len());
    for (file, elf) in objects::ALGORITHM_OBJECTS {
        let algorithm = about::read(elf).unwrap_or_else(|error| panic!("bpf/cc/{file}.bpf.c: {error}"));
        assert_eq!(algorithm.name, *file, "a file has the name of its algorithm");
        assert_eq!(Algorithm::by_name(file), Some(&algorithm));
        assert_eq!(Algorithm::by_kernel_name(algorithm.kernel_name), Some(&algorithm));
        assert!(!native::NAMES.contains(&algorithm.kernel_name), "{file}: {} is native", algorithm.kernel_name);
        assert!(!algorithm.modes.is_empty(), "{file}: which phases?");
        assert_eq!(algorithm.ecn != EcnNeed::None, algorithm.family == Family::Ecn, "{file}");
        for tunable in algorithm.tunables {
            let shown = tunable.display(tunable.default_raw);
            assert_eq!(tunable.parse(&shown), Ok(tunable.default_raw), "{file}.{}", tunable.name);
        }
    }
}

#[test]
fn libbpf_reads_the_same() {
    for algorithm in ALGORITHMS.iter() {
        let compiled = compiled(algorithm);
        let name = algorithm.name;
        assert_eq!(compiled.kernel_name, algorithm.kernel_name, "{name}");
        assert_eq!(compiled.hooks, algorithm.hooks.iter().map(|&hook| hook.to_owned()).collect(), "{name}");
        let ours = CongestionOps::HOOKS.iter().map(|&(hook, at)| (hook.to_owned(), at));
        let others = [("name", offset_of!(CongestionOps, name)), ("flags", offset_of!(CongestionOps, flags))];
        let ours: BTreeMap<String, usize> = ours.chain(others.map(|(name, at)| (name.to_owned(), at))).collect();
        assert_eq!(compiled.members, ours, "{name}: struct tcp_congestion_ops");
        // What begins with cc_ the loader sets, not the user.
        let found = compiled.constants.into_iter().filter(|(name, _)| !name.starts_with("cc_"));
        let listed = algorithm.tunables.iter().map(|tunable| (tunable.name.to_owned(), tunable.default_raw));
        assert_eq!(found.collect::<BTreeMap<_, _>>(), listed.collect(), "{name}");
    }
}
