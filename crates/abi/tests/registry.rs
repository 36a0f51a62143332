//! The registry against the files of `bpf/cc/` and the objects compiled from them.

use std::collections::{BTreeMap, BTreeSet};

use ccactl_abi::{ALGORITHMS, Algorithm, layout, native, objects};
use libbpf_rs::btf::types::{DataSec, Int, Struct, Var};
use libbpf_rs::btf::{Btf, ReferencesType as _};
use libbpf_rs::{AsRawLibbpf as _, MapType, ObjectBuilder};

/// What a BPF object says about itself.
struct Compiled {
    /// `const volatile` variables: value, smallest and largest that the type holds.
    constants: BTreeMap<String, (i64, i64, i64)>,
    hooks: BTreeSet<String>,
    kernel_name: String,
}

fn compiled(row: &Algorithm) -> Compiled {
    let bytes = row.object();
    let btf = Btf::from_raw(row.name, bytes).expect("BTF can be read").expect("the object has BTF");
    let mut builder = ObjectBuilder::default();
    let mut object = builder.open_memory(bytes).expect("libbpf opens the object");
    let mut constants = BTreeMap::new();
    let mut hooks = BTreeSet::new();
    let mut kernel_name = String::new();
    for mut map in object.maps_mut() {
        // SAFETY: the map belongs to the open object.
        let kind = unsafe { libbpf_sys::bpf_map__type(map.as_libbpf_object().as_ptr()) };
        let name = map.name().to_string_lossy().into_owned();
        let Some(data) = map.initial_value_mut() else { continue };
        if name.ends_with(".rodata") {
            constants = read_constants(&btf, data);
        } else if kind == MapType::StructOps as u32 {
            (hooks, kernel_name) = read_ops(&btf, data);
        }
    }
    Compiled { constants, hooks, kernel_name }
}

fn read_constants(btf: &Btf<'_>, data: &[u8]) -> BTreeMap<String, (i64, i64, i64)> {
    let section: DataSec<'_> = btf.type_by_name(".rodata").expect("BTF describes .rodata");
    let mut found = BTreeMap::new();
    for entry in section.iter() {
        let variable: Var<'_> = btf.type_by_id(entry.ty).expect("a variable");
        let Ok(int) = Int::try_from(variable.referenced_type().skip_mods_and_typedefs()) else { continue };
        let bytes = &data[entry.offset as usize..entry.offset as usize + entry.size];
        let raw = bytes.iter().rev().fold(0_u64, |raw, &byte| raw << 8 | u64::from(byte));
        let bits = u32::from(int.bits);
        let limits = if matches!(int.encoding, libbpf_rs::btf::types::IntEncoding::Signed) {
            (-(1_i64 << (bits - 1)), (1_i64 << (bits - 1)) - 1)
        } else {
            (0, i64::try_from((1_u128 << bits) - 1).unwrap_or(i64::MAX))
        };
        let name = variable.name().expect("a variable has a name").to_string_lossy().into_owned();
        found.insert(name, (raw as i64, limits.0, limits.1));
    }
    found
}

/// libbpf's view of the table: a function pointer is non-zero where the file filled it.
fn read_ops(btf: &Btf<'_>, data: &[u8]) -> (BTreeSet<String>, String) {
    let ops: Struct<'_> = btf.type_by_name("tcp_congestion_ops").expect("BTF describes the ops");
    let mut hooks = BTreeSet::new();
    let mut kernel_name = String::new();
    for member in ops.iter() {
        let name = member.name.expect("members have names").to_string_lossy().into_owned();
        let offset = match member.attr {
            libbpf_rs::btf::types::MemberAttr::Normal { offset } => offset as usize / 8,
            libbpf_rs::btf::types::MemberAttr::BitField { .. } => continue,
        };
        match name.as_str() {
            "name" => kernel_name = layout::name_str(&data[offset..offset + layout::NAME_LEN]).to_owned(),
            "flags" => {}
            _ if data[offset..offset + 8] != [0; 8] => {
                hooks.insert(name);
            }
            _ => {}
        }
    }
    (hooks, kernel_name)
}

#[test]
fn files_equal_rows() {
    let files: BTreeSet<&str> = objects::algorithm_sources().collect();
    let rows: BTreeSet<&str> = ALGORITHMS.iter().map(|row| row.name).collect();
    assert_eq!(files, rows);
    assert_eq!(rows.len(), ALGORITHMS.len(), "a name occurs twice");
}

#[test]
fn kernel_names_fit_are_unique_and_never_native() {
    let mut seen = BTreeSet::new();
    for row in ALGORITHMS {
        let name = row.kernel_name;
        assert!(layout::name_bytes::<{ layout::NAME_LEN }>(name).is_some(), "{name} is longer than 15 bytes");
        assert!(name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_'), "{name}");
        assert!(!native::NAMES.contains(&name), "{name} is native");
        assert!(seen.insert(name), "{name} occurs twice");
        assert_eq!(compiled(row).kernel_name, name, "in the object of {}", row.name);
    }
}

#[test]
fn hooks_are_those_that_the_object_fills() {
    for row in ALGORITHMS {
        let listed: BTreeSet<String> = row.hooks.iter().map(|&hook| hook.to_owned()).collect();
        assert_eq!(listed, compiled(row).hooks, "{}", row.name);
        assert!(listed.contains("ssthresh") && listed.contains("undo_cwnd"), "{}: the kernel demands both", row.name);
    }
}

#[test]
fn tunables_are_those_of_the_object_with_the_same_defaults() {
    for row in ALGORITHMS {
        let constants = compiled(row).constants;
        let listed: BTreeSet<&str> = row.tunables.iter().map(|tunable| tunable.name).collect();
        // Set by the loader, not by the user.
        let in_object: BTreeSet<&str> =
            constants.keys().map(String::as_str).filter(|name| !name.starts_with("cc_")).collect();
        assert_eq!(listed, in_object, "{}", row.name);
        assert_eq!(listed.len(), row.tunables.len(), "{}: a tunable occurs twice", row.name);
        for tunable in row.tunables {
            let (default, low, high) = constants[tunable.name];
            let name = format!("{}.{}", row.name, tunable.name);
            assert_eq!(default, tunable.default_raw, "{name}");
            assert!(low <= tunable.min_raw && tunable.max_raw <= high, "{name}: its type cannot hold the range");
        }
    }
}

#[test]
fn tunables_have_a_default_in_range_and_say_what_they_are() {
    for row in ALGORITHMS {
        for tunable in row.tunables {
            let name = format!("{}.{}", row.name, tunable.name);
            assert!(tunable.min_raw < tunable.max_raw, "{name}");
            assert!((tunable.min_raw..=tunable.max_raw).contains(&tunable.default_raw), "{name}");
            assert!(tunable.scale.is_power_of_two() == (tunable.scale == 1), "{name}: scale {}", tunable.scale);
            assert!(!tunable.doc.is_empty() && !tunable.source.is_empty(), "{name}");
            assert!(tunable.name.len() < layout::TUNABLE_NAME_LEN, "{name}");
            assert_eq!(tunable.parse(&tunable.display(tunable.default_raw)), Ok(tunable.default_raw), "{name}");
        }
    }
}

#[test]
fn rows_are_complete_and_colours_differ() {
    let mut colors = BTreeSet::new();
    for row in ALGORITHMS {
        assert!(!row.modes.is_empty() && !row.summary.is_empty() && !row.reference.is_empty(), "{}", row.name);
        assert!(row.color.len() == 7 && row.color.starts_with('#'), "{}: {}", row.name, row.color);
        assert!(colors.insert(row.color), "{}: the colour {} is taken", row.name, row.color);
        assert!(row.name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-'), "{}", row.name);
        assert_eq!(Algorithm::by_name(row.name), Some(row));
        assert_eq!(Algorithm::by_kernel_name(row.kernel_name), Some(row));
    }
}
