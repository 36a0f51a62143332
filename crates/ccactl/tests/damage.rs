//! Recordings with bits that have flipped and ends that are missing: `report` gives an error or the readable part.

#[path = "../../report/tests/common/mod.rs"]
mod common;

use ccactl_collector::convert_stream;
use ccactl_report::{Error, Options, open_all, read, summarize};
use common::{Fixture, Row};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// No report on a file of some kilobytes takes longer.
const PATIENCE: Duration = Duration::from_secs(20);

fn transfer() -> Fixture {
    Fixture::new((0..300).map(|i| Row::at(1, i * 1000).bytes(i * 5000, i * 5000).rtt(1000, i as u32)).collect())
}

/// Rows that were read.
fn report(path: &Path) -> Result<u64, Error> {
    let summary = summarize(&open_all(&[path.to_owned()])?, &Options::default())?;
    Ok(summary.recordings[0].rows)
}

#[test]
fn every_change_of_a_finished_recording_is_found() {
    let folder = TempDir::new().unwrap();
    let stream = transfer().stream(&folder.path().join("x.arrows"), 100);
    let path = folder.path().join("x.parquet");
    let metadata = BTreeMap::from([("ccactl.schema_version".to_owned(), "2".to_owned())]);
    convert_stream(&stream, &path, &metadata, true).unwrap();
    assert_eq!(report(&path).unwrap(), 300);
    let bytes = fs::read(&path).unwrap();
    let mut dice = Dice(20_261_121);
    for round in 0..1000 {
        fs::write(&path, damaged(&bytes, round, &mut dice)).unwrap();
        let error = report(&path).expect_err("a change goes unnoticed");
        assert!(!error.to_string().contains('\n'), "{error}");
    }
}

#[test]
fn a_damaged_stream_is_refused_or_read_up_to_the_damage() {
    let folder = TempDir::new().unwrap();
    let path = transfer().stream(&folder.path().join("x.arrows"), 100);
    let bytes = fs::read(&path).unwrap();
    let mut dice = Dice(20_261_122);
    let (mut read, mut refused) = (0, 0);
    for _ in 0..300 {
        let mut altered = bytes.clone();
        let bit = dice.below(altered.len() * 8);
        altered[bit / 8] ^= 1 << (bit % 8);
        fs::write(&path, &altered).unwrap();
        match report(&path) {
            Ok(rows) => {
                assert!(rows <= 300);
                read += 1;
            }
            Err(_) => refused += 1,
        }
    }
    assert!(read > 10 && refused > 10, "{read} read, {refused} refused: the damage is one-sided");
}

/// Without a checksum a changed value is a value; what must not be is a panic, a hang, or an error that nobody can read.
#[test]
fn damage_that_no_checksum_tells_is_an_error_of_one_line_or_rows() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("x.parquet");
    transfer().of_version(1).parquet(&path);
    assert_eq!(report(&path).unwrap(), 300);
    let bytes = fs::read(&path).unwrap();
    let mut dice = Dice(20_261_123);
    let (mut read, mut refused, mut panicked) = (0, 0, 0);
    for round in 0..600 {
        fs::write(&path, damaged(&bytes, round, &mut dice)).unwrap();
        let began = Instant::now();
        match report(&path) {
            Ok(_) => read += 1,
            Err(error) => {
                let text = error.to_string();
                assert!(text.starts_with(&path.display().to_string()) && !text.contains('\n'), "{text}");
                refused += 1;
                panicked += usize::from(matches!(error, Error::Recording(read::Error::Undecodable { .. })));
            }
        }
        assert!(began.elapsed() < PATIENCE, "round {round} took {:?}", began.elapsed());
    }
    assert!(read > 10 && refused > 10, "{read} read, {refused} refused: the damage is one-sided");
    assert!(panicked > 0, "no reader has panicked: the guard is not under test");
}

#[test]
fn a_damaged_file_costs_the_command_one_line() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("x.parquet");
    transfer().of_version(1).parquet(&path);
    let bytes = fs::read(&path).unwrap();
    let mut dice = Dice(20_261_123);
    let mut refused = 0;
    for round in 0..60 {
        fs::write(&path, damaged(&bytes, round, &mut dice)).unwrap();
        let output = Command::new(env!("CARGO_BIN_EXE_ccactl")).arg("report").arg(&path).output().unwrap();
        let told = String::from_utf8(output.stderr).unwrap();
        assert!(!told.contains("panicked"), "{told}");
        match output.status.code() {
            Some(0) => {}
            Some(1 | 2) => {
                assert_eq!(told.lines().count(), 1, "{told}");
                refused += 1;
            }
            other => panic!("{other:?}: {told}"),
        }
    }
    assert!(refused > 10, "{refused} refused");
}

/// Every fourth is cut off; of the others two in three have their bit flipped in the footer, which every reader has to
/// believe first.
fn damaged(bytes: &[u8], round: usize, dice: &mut Dice) -> Vec<u8> {
    let mut altered = bytes.to_vec();
    if round.is_multiple_of(4) {
        altered.truncate(dice.below(bytes.len()));
    } else {
        let place = if round.is_multiple_of(2) { dice.below(bytes.len()) } else { bytes.len() - 1 - dice.below(4000) };
        altered[place] ^= 1 << dice.below(8);
    }
    altered
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
