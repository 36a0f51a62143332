//! The seeds of the fuzzer, and what it found before, through `ccactl report`: `cargo xtask fuzz report_stream` and
//! `report_parquet` go on from these.

use std::fs;
use std::path::Path;

use ccactl_report::{Options, open_all, summarize};
use tempfile::TempDir;

/// The name of a seed that must be accepted begins so.
const WHOLE: &str = "whole";

fn every_seed_is_reported_or_refused_in_one_line(target: &str, file: &str) {
    let seeds = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds").join(target);
    let folder = TempDir::new().unwrap();
    let path = folder.path().join(file);
    let mut whole = 0;
    for seed in fs::read_dir(&seeds).unwrap() {
        let seed = seed.unwrap();
        let name = seed.file_name().into_string().unwrap();
        fs::copy(seed.path(), &path).unwrap();
        let recordings = open_all(std::slice::from_ref(&path));
        match recordings.and_then(|recordings| summarize(&recordings, &Options::default())) {
            Ok(_) => whole += usize::from(name.starts_with(WHOLE)),
            Err(error) => {
                assert!(!name.starts_with(WHOLE), "{name}: {error}");
                assert!(!error.to_string().contains('\n'), "{name}: {error}");
            }
        }
    }
    assert!(whole >= 4, "two of each schema version, found {whole} in {}", seeds.display());
}

#[test]
fn every_stream_among_the_seeds() {
    every_seed_is_reported_or_refused_in_one_line("report_stream", "x.arrows");
}

#[test]
fn every_parquet_file_among_the_seeds() {
    every_seed_is_reported_or_refused_in_one_line("report_parquet", "x.parquet");
}
