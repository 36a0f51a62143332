//! A policy file, as `ccactl apply` and `ccactl diff` read it.

#![no_main]

use ccactl_loader::cgroup::Mount;
use ccactl_loader::fleet::PolicyFile;
use libfuzzer_sys::fuzz_target;
use std::path::Path;
use std::sync::LazyLock;

static MOUNT: LazyLock<Mount> =
    LazyLock::new(|| Mount::find(Path::new("/proc/mounts")).expect("this host has a cgroup2 mount"));

fuzz_target!(|text: &str| {
    let _ = PolicyFile::parse("fuzz.toml", text, &MOUNT);
});
