//! What every row of the registry must fulfil. A new algorithm is checked without another line here.

use ccactl_abi::{ALGORITHMS, objects};
use std::collections::BTreeSet;

/// Algorithms of the kernel tree; a struct_ops with one of these names would be refused where the native one exists.
const NATIVE: &[&str] = &[
    "bbr",
    "bic",
    "cdg",
    "cubic",
    "dctcp",
    "dctcp-reno",
    "highspeed",
    "htcp",
    "hybla",
    "illinois",
    "lp",
    "nv",
    "reno",
    "scalable",
    "vegas",
    "veno",
    "westwood",
    "yeah",
];

/// The kernel's `TCP_CA_NAME_MAX` without the terminating NUL.
const NAME_MAX: usize = 15;

#[test]
fn files_equal_rows() {
    let files: BTreeSet<&str> = objects::algorithm_sources().collect();
    let rows: BTreeSet<&str> = ALGORITHMS.iter().map(|a| a.name).collect();
    assert_eq!(files, rows, "left: files of bpf/cc/, right: rows of algorithms.rs");
}

#[test]
fn names_are_unique_among_rows_and_tunables() {
    let unique = |names: Vec<&str>| {
        let set: BTreeSet<&str> = names.iter().copied().collect();
        assert_eq!(set.len(), names.len(), "{names:?}");
    };
    unique(ALGORITHMS.iter().map(|a| a.name).collect());
    unique(ALGORITHMS.iter().map(|a| a.kernel_name).collect());
    unique(ALGORITHMS.iter().map(|a| a.color).collect());
    for a in ALGORITHMS {
        unique(a.tunables.iter().map(|t| t.name).collect());
        unique(a.modes.to_vec());
    }
}

#[test]
fn kernel_names_fit_and_are_not_native() {
    for a in ALGORITHMS {
        let name = a.kernel_name;
        assert!(!name.is_empty() && name.len() <= NAME_MAX, "{name}: {} bytes", name.len());
        assert!(name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_'), "{name}");
        assert!(!NATIVE.contains(&name), "{name} is an algorithm of the kernel");
        assert!(name.ends_with(&a.name.replace('-', "_")), "{name} does not end like {}", a.name);
    }
}

#[test]
fn defaults_lie_within_their_bounds_and_survive_being_printed() {
    for (a, t) in ALGORITHMS.iter().flat_map(|a| a.tunables.iter().map(move |t| (a, t))) {
        let place = format!("{}.{}", a.name, t.name);
        assert!((t.min_raw..=t.max_raw).contains(&t.default_raw), "{place}");
        assert!(t.min_raw < t.max_raw, "{place} cannot be set to anything else");
        // Tunable::parse works with decimal places.
        assert!(10_u32.pow(t.scale.ilog10()) == t.scale, "{place}: scale {} is not a power of ten", t.scale);
        for raw in [t.min_raw, t.default_raw, t.max_raw] {
            assert_eq!(t.parse(&t.display(raw)), Ok(raw), "{place}");
        }
    }
}

#[test]
fn every_text_that_users_read_is_there() {
    for a in ALGORITHMS {
        for text in [a.summary, a.reference] {
            assert!(!text.is_empty() && !text.contains(['\n', '\t']), "{}: {text:?}", a.name);
        }
        assert!(!a.hooks.is_empty(), "{}", a.name);
        for t in a.tunables {
            assert!(!t.doc.is_empty() && !t.source.is_empty(), "{}.{}", a.name, t.name);
        }
        for value in [a.v0, a.v1].into_iter().flatten() {
            assert!(!value.name.is_empty() && !value.doc.is_empty(), "{}: {value:?}", a.name);
        }
        let hex = a.color.strip_prefix('#').unwrap_or_default();
        assert!(hex.len() == 6 && hex.bytes().all(|b| b.is_ascii_hexdigit()), "{}: {}", a.name, a.color);
    }
}

#[test]
fn every_object_is_an_elf_file_for_bpf_with_btf() {
    const EM_BPF: u16 = 247;
    for a in ALGORITHMS {
        let object = a.object();
        assert_eq!(&object[..4], b"\x7fELF", "{}", a.name);
        assert_eq!(u16::from_le_bytes([object[18], object[19]]), EM_BPF, "{}", a.name);
        for section in [&b".BTF\0"[..], b".struct_ops.link\0", b"license\0"] {
            assert!(object.windows(section.len()).any(|w| w == section), "{} lacks {}", a.name, section.escape_ascii());
        }
    }
}
