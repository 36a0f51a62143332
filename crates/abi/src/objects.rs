//! BPF objects, compiled by clang in `build.rs` and embedded so that `ccactl` is a single file.

include!(concat!(env!("OUT_DIR"), "/objects.rs"));
include!(concat!(env!("OUT_DIR"), "/test_macro.rs"));

/// ELF bytes of an algorithm's BPF object.
///
/// `source` is the file name under `bpf/cc/` without `.bpf.c` ([`crate::Algorithm::name`]).
#[must_use]
pub fn algorithm(source: &str) -> Option<&'static [u8]> {
    ALGORITHM_OBJECTS.iter().find(|(name, _)| *name == source).map(|(_, bytes)| *bytes)
}

/// File stems found under `bpf/cc/` when this crate was built.
pub fn algorithm_sources() -> impl Iterator<Item = &'static str> {
    ALGORITHM_OBJECTS.iter().map(|(name, _)| *name)
}
