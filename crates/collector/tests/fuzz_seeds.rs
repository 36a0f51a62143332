//! The seeds of the fuzzer, and what it found before, through `ccactl recover`: `cargo xtask fuzz recover_stream` goes on
//! from these.

use ccactl_collector::recover;
use std::fs;
use std::path::Path;
use tempfile::TempDir;

/// The name of a seed that must be accepted begins so.
const WHOLE: &str = "whole";

#[test]
fn every_seed_is_recovered_or_refused_in_one_line() {
    let seeds = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds/recover_stream");
    let folder = TempDir::new().unwrap();
    let stream = folder.path().join("x.arrows");
    let mut whole = 0;
    for seed in fs::read_dir(&seeds).unwrap() {
        let seed = seed.unwrap();
        let name = seed.file_name().into_string().unwrap();
        fs::copy(seed.path(), &stream).unwrap();
        match recover(&stream, &folder.path().join("x.parquet"), true) {
            Ok(found) if name.starts_with(WHOLE) => {
                assert!(found.rows > 0 && found.damage.is_none(), "{name}: {found:?}");
                whole += 1;
            }
            Ok(_) => {}
            Err(error) => {
                assert!(!name.starts_with(WHOLE), "{name}: {error}");
                assert!(!error.to_string().contains('\n'), "{name}: {error}");
            }
        }
    }
    assert!(whole >= 4, "two of each schema version, found {whole} in {}", seeds.display());
}
