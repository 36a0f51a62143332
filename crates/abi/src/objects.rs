//! BPF objects, compiled by clang in `build.rs` and embedded so that `ccactl` is a single file.

use crate::about;
use crate::registry::Algorithm;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::{fs, io};

include!(concat!(env!("OUT_DIR"), "/objects.rs"));
include!(concat!(env!("OUT_DIR"), "/test_macro.rs"));

/// Every algorithm of `bpf/cc/`, by family and name: the order in which lists show them.
pub static ALGORITHMS: LazyLock<Vec<Algorithm>> = LazyLock::new(|| {
    let read = |(file, elf): &(&str, &'static [u8])| {
        about::read(elf).unwrap_or_else(|error| panic!("bpf/cc/{file}.bpf.c, checked when it was built: {error}"))
    };
    let mut all: Vec<Algorithm> = ALGORITHM_OBJECTS.iter().map(read).collect();
    all.sort_by_key(|algorithm| (algorithm.family, algorithm.name));
    all
});

/// Every algorithm of `bpf/rcv/`, by name.
pub static RECEIVERS: LazyLock<Vec<Algorithm>> = LazyLock::new(|| {
    let read = |(file, elf): &(&str, &'static [u8])| {
        about::read(elf).unwrap_or_else(|error| panic!("bpf/rcv/{file}.bpf.c, checked when it was built: {error}"))
    };
    RECEIVER_OBJECTS.iter().map(read).collect()
});

/// Writes [`HEADERS`] below a folder, and returns where `#include` finds them.
///
/// # Errors
/// When they cannot be written.
pub fn unpack_headers(room: &Path) -> io::Result<PathBuf> {
    let include = room.join("include");
    for (name, text) in HEADERS {
        let path = include.join(name);
        fs::create_dir_all(path.parent().expect("it is below the folder"))?;
        fs::write(path, text)?;
    }
    Ok(include)
}
