//! The rows of the registry against the compiled objects, which libbpf opens without root: what a row promises is what
//! the C file has.

use ccactl_abi::{ALGORITHMS, Algorithm};
use libbpf_rs::btf::types::{DataSec, Var};
use libbpf_rs::{Btf, ObjectBuilder};
use std::collections::BTreeMap;

/// Variables of `bpf/include/`, which are set by the loader and not by users.
const OF_THE_LOADER: &str = "cc_";

/// Initial bytes of every `const volatile` that belongs to the algorithm.
fn constants(algorithm: &Algorithm) -> BTreeMap<String, Vec<u8>> {
    let btf = Btf::from_raw(algorithm.name, algorithm.object()).expect("BTF is valid").expect("there is BTF");
    let Some(section) = btf.type_by_name::<DataSec<'_>>(".rodata") else {
        return BTreeMap::new();
    };
    let mut builder = ObjectBuilder::default();
    let object = builder.open_memory(algorithm.object()).expect("libbpf opens the object");
    let rodata = object
        .maps()
        .find(|map| map.name().to_string_lossy().ends_with(".rodata"))
        .and_then(|map| map.initial_value().map(<[u8]>::to_vec))
        .expect("a .rodata section becomes a map");
    section
        .iter()
        .filter_map(|info| {
            let variable = btf.type_by_id::<Var<'_>>(info.ty)?;
            let name = variable.name()?.to_string_lossy().into_owned();
            let start = info.offset as usize;
            (!name.starts_with(OF_THE_LOADER)).then(|| (name, rodata[start..start + info.size].to_vec()))
        })
        .collect()
}

#[test]
fn tunables_of_a_row_are_the_constants_of_its_file_with_the_same_defaults() {
    for algorithm in ALGORITHMS {
        let constants = constants(algorithm);
        let in_row: Vec<&str> = algorithm.tunables.iter().map(|t| t.name).collect();
        for name in constants.keys() {
            assert!(in_row.contains(&name.as_str()), "{}.bpf.c has '{name}', which its row lacks", algorithm.name);
        }
        for tunable in algorithm.tunables {
            let place = format!("{}: {}", algorithm.name, tunable.name);
            let bytes = constants.get(tunable.name).unwrap_or_else(|| panic!("{place} is in the row only"));
            let expected = &tunable.default_raw.to_le_bytes()[..bytes.len()];
            assert_eq!(bytes, expected, "{place}: default of the file (left), of the row (right), little endian");
        }
    }
}

#[test]
fn hooks_of_a_row_are_the_callbacks_of_its_file() {
    for algorithm in ALGORITHMS {
        let mut builder = ObjectBuilder::default();
        let object = builder.open_memory(algorithm.object()).expect("libbpf opens the object");
        let callbacks: Vec<String> =
            object.progs().map(|program| program.name().to_string_lossy().into_owned()).collect();
        // bbr2_cong_control is the callback cong_control.
        let fills = |callback: &str, hook: &str| callback.ends_with(&format!("_{hook}"));
        for callback in &callbacks {
            let known = algorithm.hooks.iter().any(|hook| fills(callback, hook));
            assert!(known, "{}.bpf.c has {callback}, which no hook of its row explains", algorithm.name);
        }
        for hook in algorithm.hooks {
            let filled = callbacks.iter().any(|callback| fills(callback, hook));
            assert!(filled, "{}: the row has the hook {hook}, the file no callback for it", algorithm.name);
        }
    }
}
