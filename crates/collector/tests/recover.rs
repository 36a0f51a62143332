//! From the stream of a killed recording to a file: what is whole comes back, and nothing else is touched.

#[path = "../../recording/tests/streams/mod.rs"]
mod streams;

use ccactl_collector::{Error, recover, recovered_path, streams_in};
use nix::fcntl::{Flock, FlockArg};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use std::collections::HashMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use streams::{stream, write_stream};
use tempfile::TempDir;

fn rows(path: &Path) -> (usize, HashMap<String, String>) {
    let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(path).unwrap()).unwrap();
    let metadata = reader.schema().metadata().clone();
    (reader.build().unwrap().map(|batch| batch.unwrap().num_rows()).sum(), metadata.into())
}

fn place(name: &str) -> (TempDir, PathBuf) {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join(name);
    (folder, path)
}

#[test]
fn every_whole_row_comes_back_with_what_is_known_of_it() {
    let (folder, path) = place("x.parquet.partial.arrows");
    let ends = write_stream(&path, &[&[1, 2], &[3], &[4, 5, 6]]);
    let bytes = fs::read(&path).unwrap();
    let target = folder.path().join("x.parquet");
    assert_eq!(recovered_path(&path), target);
    for (length, expected) in [(ends[3], 6), (ends[3] - 1, 3), (ends[2], 3), (ends[1] + 30, 2), (ends[0], 0)] {
        fs::write(&path, &bytes[..length as usize]).unwrap();
        let found = recover(&path, &target, true).unwrap();
        assert_eq!((found.rows, found.truncated, &found.damage), (expected, true, &None), "{length} bytes");
        let (there, metadata) = rows(&target);
        assert_eq!(there as u64, expected);
        assert_eq!(metadata["ccactl.rows"], expected.to_string());
        assert_eq!(metadata["ccactl.schema_version"], "2");
        let recovered: serde_json::Value = serde_json::from_str(&metadata["ccactl.recovered"]).unwrap();
        assert_eq!((&recovered["rows"], &recovered["truncated"]), (&expected.into(), &true.into()));
        assert_eq!(recovered["until"].is_null(), expected == 0);
        assert_eq!(fs::read(&path).unwrap(), &bytes[..length as usize], "the stream is kept as it was");
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
}

#[test]
fn a_file_that_is_there_stays_unless_force_is_given() {
    let (folder, path) = place("x.arrows");
    write_stream(&path, &[&[1]]);
    let target = folder.path().join("x.parquet");
    assert_eq!(recovered_path(&path), target);
    fs::write(&target, "somebody's").unwrap();
    assert!(matches!(recover(&path, &target, false), Err(Error::Exists { .. })));
    assert_eq!(fs::read(&target).unwrap(), b"somebody's");
    assert_eq!(recover(&path, &target, true).unwrap().rows, 1);
}

#[test]
fn what_is_no_stream_of_a_recording_is_refused() {
    let (folder, path) = place("x.arrows");
    let target = folder.path().join("x.parquet");
    let refused = |expected: &str| {
        let error = recover(&path, &target, false).unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
        assert_eq!(error.exit_code(), 2);
        assert!(!target.exists());
    };
    refused("No such file");
    fs::write(&path, "").unwrap();
    refused("it ends before its end mark");
    fs::write(&path, "time,rtt\n1,2\n").unwrap();
    refused("not the stream of a recording");
    fs::write(&path, stream(&[("ccactl.version", "1")], &[&[1]]).0).unwrap();
    refused("no metadata key ccactl.schema_version");
    fs::write(&path, stream(&[("ccactl.schema_version", "9")], &[&[1]]).0).unwrap();
    refused("schema version is 9, expected 1 to 4");
    assert!(matches!(recover(folder.path(), &target, false), Err(Error::NotAStream { .. })));
}

#[test]
fn a_recording_that_runs_is_left_alone() {
    let (folder, path) = place("x.parquet.partial.arrows");
    write_stream(&path, &[&[1]]);
    let held = Flock::lock(File::open(&path).unwrap(), FlockArg::LockExclusiveNonblock).unwrap();
    let error = recover(&path, &folder.path().join("x.parquet"), false).unwrap_err();
    assert!(matches!(error, Error::StillRecorded { .. }), "{error}");
    drop(held);
    assert!(recover(&path, &folder.path().join("x.parquet"), false).is_ok());
}

#[test]
fn a_folder_gives_the_streams_that_have_no_file_yet() {
    let folder = TempDir::new().unwrap();
    assert!(matches!(streams_in(folder.path()), Err(Error::NotAStream { .. })));
    let at = |name: &str| folder.path().join(name);
    for name in ["part-00001.parquet.partial.arrows", "part-00002.parquet.partial.arrows"] {
        write_stream(&at(name), &[&[1]]);
    }
    fs::write(at("part-00001.parquet"), "").unwrap();
    assert_eq!(streams_in(folder.path()).unwrap(), [at("part-00002.parquet.partial.arrows")]);
}

/// xorshift64*: the same damage in every run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) as usize % limit
    }
}

#[test]
fn damage_anywhere_ends_in_an_error_or_in_the_rows_before_it() {
    let (folder, path) = place("x.arrows");
    write_stream(&path, &[&[1, 2], &[3], &[4, 5, 6]]);
    let bytes = fs::read(&path).unwrap();
    let target = folder.path().join("x.parquet");
    let mut dice = Dice(20_261_121);
    let (mut whole, mut refused) = (0, 0);
    for _ in 0..1000 {
        let mut altered = bytes.clone();
        for _ in 0..=dice.below(4) {
            let bit = dice.below(altered.len() * 8);
            altered[bit / 8] ^= 1 << (bit % 8);
        }
        if dice.below(4) == 0 {
            altered.truncate(dice.below(bytes.len()));
        }
        fs::write(&path, &altered).unwrap();
        match recover(&path, &target, true) {
            Ok(found) => {
                assert!(found.rows <= 6);
                assert_eq!(rows(&target).0 as u64, found.rows);
                whole += 1;
            }
            Err(error) => {
                assert!(!error.to_string().contains('\n'), "{error}");
                refused += 1;
            }
        }
    }
    assert!(whole > 30 && refused > 30, "{whole} read, {refused} refused: the damage is one-sided");
}
