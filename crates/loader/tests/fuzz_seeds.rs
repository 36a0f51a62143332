//! The seeds of the fuzzer, and what it found before: `cargo xtask fuzz policy` goes on from these.

use ccactl_loader::cgroup::Mount;
use ccactl_loader::fleet::PolicyFile;
use std::fs;
use std::path::Path;
use tempfile::TempDir;

/// The name of a seed that must be accepted begins so.
const WHOLE: &str = "whole";

#[test]
fn every_seed_is_a_policy_or_refused_in_one_line() {
    let seeds = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds/policy");
    let folder = TempDir::new().unwrap();
    let mounts = folder.path().join("mounts");
    fs::write(&mounts, "cgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0\n").unwrap();
    let mount = Mount::find(&mounts).unwrap();
    let mut whole = 0;
    for seed in fs::read_dir(&seeds).unwrap() {
        let seed = seed.unwrap();
        let name = seed.file_name().into_string().unwrap();
        // The fuzzer's own finds are bytes; whoever reads a policy file refuses those that are no text.
        let Ok(text) = fs::read_to_string(seed.path()) else { continue };
        match PolicyFile::parse(&name, &text, &mount) {
            Ok(_) => whole += usize::from(name.starts_with(WHOLE)),
            Err(error) => {
                assert!(!name.starts_with(WHOLE), "{name}: {error}");
                assert!(!error.to_string().contains('\n'), "{name}: {error}");
            }
        }
    }
    assert!(whole >= 5, "found {whole} in {}", seeds.display());
}
