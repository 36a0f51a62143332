//! The stream of a killed recording, as `ccactl recover` reads it.

#![no_main]

use ccactl_collector::recover;
use libfuzzer_sys::fuzz_target;
use std::fs;
use std::path::PathBuf;
use std::sync::LazyLock;

/// In memory: the file of each run is synced.
static FOLDER: LazyLock<PathBuf> = LazyLock::new(|| {
    let folder = PathBuf::from(format!("/dev/shm/ccactl-fuzz-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("/dev/shm takes files");
    folder
});

fuzz_target!(|bytes: &[u8]| {
    let stream = FOLDER.join("x.arrows");
    fs::write(&stream, bytes).expect("/dev/shm takes files");
    // An error is an answer; a panic or an allocation beyond the limit is not.
    let _ = recover(&stream, &FOLDER.join("x.parquet"), true);
});
