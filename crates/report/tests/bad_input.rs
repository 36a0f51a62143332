//! Every bad file gets one clear line that names it.

mod common;

use std::path::{Path, PathBuf};

use ccactl_report::{Error, Options, Recording, open_all, summarize};
use common::{Fixture, Row};
use polars::prelude::*;
use tempfile::TempDir;

fn transfer() -> Fixture {
    Fixture::new((0..40).map(|i| Row::at(1, i * 1000).bytes(i * 5000, i * 5000).rtt(1000, i as u32)).collect())
}

fn report(path: &Path) -> Result<ccactl_report::Summary, Error> {
    summarize(&open_all(&[path.to_owned()])?, &Options::default())
}

/// The message of the error, which must be one line, name the file and be the user's to mend.
fn complaint(path: &Path) -> String {
    let error = report(path).unwrap_err();
    let text = error.to_string();
    assert!(!text.contains('\n'), "{text}");
    assert!(text.starts_with(&path.display().to_string()), "{text}");
    assert_eq!(error.exit_code(), 2, "{text}");
    text
}

fn cut(path: &Path, keep: impl Fn(u64) -> u64) {
    let file = std::fs::OpenOptions::new().write(true).open(path).unwrap();
    file.set_len(keep(file.metadata().unwrap().len())).unwrap();
}

fn place(name: &str) -> (TempDir, PathBuf) {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join(name);
    (folder, path)
}

#[test]
fn a_missing_file() {
    let (_folder, path) = place("nothing.parquet");
    assert!(complaint(&path).contains("no such file"));
}

#[test]
fn a_missing_file_whose_recorder_was_killed() {
    let (folder, path) = place("x.parquet");
    transfer().stream(&folder.path().join("x.parquet.partial.arrows"), 10);
    assert!(complaint(&path).contains("no such file or folder; its recorder was killed: report on "));
}

#[test]
fn an_empty_file() {
    let (_folder, path) = place("x.parquet");
    std::fs::write(&path, "").unwrap();
    assert!(complaint(&path).contains("truncated: the file is empty"));
}

#[test]
fn a_text_file() {
    let (_folder, path) = place("x.csv");
    std::fs::write(&path, "time,rtt\n1,2\n").unwrap();
    assert!(complaint(&path).contains("not a recording: expected Parquet or an Arrow stream"));
    assert!(complaint(&path).contains(r#"found a text file that starts with "time,rtt""#));
}

#[test]
fn a_parquet_file_of_somebody_else() {
    let (_folder, path) = place("x.parquet");
    transfer().without_meta().parquet(&path);
    assert!(complaint(&path).contains("without the metadata key ccactl.schema_version"));
}

#[test]
fn a_parquet_file_without_its_end() {
    let (_folder, path) = place("x.parquet");
    transfer().parquet(&path);
    cut(&path, |length| length - 9);
    let text = complaint(&path);
    assert!(text.contains("truncated: starts as Parquet but has no footer") && text.contains("record again"), "{text}");
}

#[test]
fn a_parquet_file_without_its_end_beside_the_stream_it_was_made_of() {
    let (folder, path) = place("x.parquet");
    transfer().parquet(&path);
    cut(&path, |length| length / 2);
    transfer().stream(&folder.path().join("x.parquet.partial.arrows"), 10);
    assert!(complaint(&path).contains("; report on "));
    assert!(complaint(&path).ends_with("x.parquet.partial.arrows"));
}

#[test]
fn a_parquet_file_with_rubbish_for_a_footer() {
    let (_folder, path) = place("x.parquet");
    let mut bytes = b"PAR1".to_vec();
    bytes.extend([7; 64]);
    bytes.extend(16u32.to_le_bytes());
    bytes.extend(b"PAR1");
    std::fs::write(&path, bytes).unwrap();
    assert!(complaint(&path).contains("footer does not parse"));
}

#[test]
fn another_schema_version() {
    let (_folder, path) = place("x.parquet");
    transfer().meta("schema_version", "9").meta("version", "9.9.9").parquet(&path);
    assert!(complaint(&path).contains("schema version 9, expected 1 to 4; use the ccactl that wrote it (9.9.9)"));
}

#[test]
fn another_schema_version_in_a_stream() {
    let (_folder, path) = place("x.arrows");
    transfer().meta("schema_version", "9").stream(&path, 10);
    assert!(complaint(&path).contains("schema version 9, expected 1 to 4"));
}

#[test]
fn a_column_that_is_missing_and_one_of_another_type() {
    let (_folder, path) = place("x.parquet");
    let write = |frame: LazyFrame| {
        let metadata = KeyValueMetadata::from_static(vec![("ccactl.schema_version".into(), "1".into())]);
        ParquetWriter::new(std::fs::File::create(&path).unwrap())
            .with_key_value_metadata(Some(metadata))
            .finish(&mut frame.collect().unwrap())
            .unwrap();
    };
    write(transfer().frame().lazy().drop(cols(["rtt_us"])));
    assert!(complaint(&path).contains("column rtt_us: expected an integer, found no such column"));
    write(transfer().frame().lazy().with_column(col("rtt_us").cast(DataType::String)));
    assert!(complaint(&path).contains("column rtt_us: expected an integer, found str"));
}

#[test]
fn no_flow_that_sent_data() {
    let (_folder, path) = place("x.parquet");
    Fixture::new(vec![Row::at(1, 0), Row::at(1, 1000), Row::at(2, 0)]).parquet(&path);
    assert!(complaint(&path).contains("no flow that sent data: 3 rows of 2 flows, all idle"));
}

#[test]
fn no_rows_at_all() {
    let (_folder, path) = place("x.parquet");
    Fixture::new(Vec::new()).parquet(&path);
    assert!(complaint(&path).contains("no flow that sent data: it has no rows"));
}

#[test]
fn a_folder_without_recordings() {
    let folder = TempDir::new().unwrap();
    std::fs::write(folder.path().join("notes.txt"), "x").unwrap();
    assert!(complaint(folder.path()).contains("no recording in this folder"));
}

#[test]
fn a_stream_cut_in_a_batch_is_read_up_to_the_last_whole_one() {
    let (_folder, path) = place("x.parquet.partial.arrows");
    transfer().stream(&path, 10);
    let whole = report(&path).unwrap().recordings.remove(0);
    assert!(!whole.truncated && whole.warnings.is_empty(), "{:?}", whole.warnings);
    assert_eq!(whole.rows, 40);

    cut(&path, |length| length - 300);
    let found = report(&path).unwrap().recordings.remove(0);
    assert!(found.truncated);
    assert_eq!(found.rows, 30);
    assert!(
        found.warnings[0].contains("ends early") && found.warnings[0].contains("30 whole rows"),
        "{:?}",
        found.warnings
    );
}

#[test]
fn a_stream_without_its_end_mark_is_whole_but_warned_about() {
    let (_folder, path) = place("x.arrows");
    transfer().stream(&path, 10);
    cut(&path, |length| length - 8);
    let found = report(&path).unwrap().recordings.remove(0);
    assert!(found.truncated);
    assert_eq!(found.rows, 40);
}

#[test]
fn a_stream_cut_at_any_byte_is_read_or_refused_but_never_panics() {
    let (_folder, path) = place("x.arrows");
    transfer().stream(&path, 10);
    let bytes = std::fs::read(&path).unwrap();
    let mut rows_before = 0;
    for length in (0..bytes.len()).step_by(61).chain([bytes.len()]) {
        std::fs::write(&path, &bytes[..length]).unwrap();
        let rows = report(&path).map_or(0, |summary| summary.recordings[0].rows);
        assert!(rows >= rows_before && rows.is_multiple_of(10), "{rows} rows of {length} bytes");
        rows_before = rows;
    }
    assert_eq!(rows_before, 40);
}

#[test]
fn a_pipe_is_read_to_its_end() {
    let (_folder, path) = place("x.arrows");
    transfer().stream(&path, 10);
    let piped = Recording::from_reader(std::fs::File::open(&path).unwrap()).unwrap();
    let summary = summarize(&[piped], &Options::default()).unwrap();
    assert_eq!((summary.recordings[0].rows, summary.recordings[0].path.as_str()), (40, "-"));
}

#[test]
fn in_a_folder_strangers_and_streams_of_finished_recordings_are_passed_over() {
    let folder = TempDir::new().unwrap();
    let at = |name: &str| folder.path().join(name);
    transfer().parquet(&at("a.parquet"));
    transfer().stream(&at("a.parquet.partial.arrows"), 10);
    transfer().without_meta().parquet(&at("stranger.parquet"));
    std::fs::create_dir_all(at("run-1/deep")).unwrap();
    transfer().stream(&at("run-1/deep/b.arrows"), 10);
    std::fs::create_dir_all(at("run-1/deep/too-deep")).unwrap();
    transfer().parquet(&at("run-1/deep/too-deep/c.parquet"));
    let found = open_all(&[folder.path().to_owned()]).unwrap();
    let names: Vec<_> = found.iter().map(|r| r.path().strip_prefix(folder.path()).unwrap().to_owned()).collect();
    assert_eq!(names, [PathBuf::from("a.parquet"), PathBuf::from("run-1/deep/b.arrows")]);
}

#[test]
fn more_intervals_than_anybody_can_look_at_are_refused_at_once() {
    let (_folder, path) = place("x.parquet");
    let mut fixture = transfer();
    fixture.rows.push(Row::at(1, u64::MAX / 2).bytes(300_000, 300_000).rtt(1000, 50));
    fixture.parquet(&path);
    let began = std::time::Instant::now();
    let text = complaint(&path);
    assert!(text.contains("--interval") && text.contains("10000000"), "{text}");
    assert!(began.elapsed() < std::time::Duration::from_secs(20), "{:?}", began.elapsed());

    // A wider interval, or a part of the recording, is what helps.
    let recordings = open_all(&[path]).unwrap();
    let (wide, early) =
        (Options { interval_s: 1e9, ..Options::default() }, Options { to_s: Some(1.0), ..Options::default() });
    assert_eq!(summarize(&recordings, &wide).unwrap().recordings[0].rows, 41);
    assert_eq!(summarize(&recordings, &early).unwrap().recordings[0].rows, 40);
}

#[test]
fn intervals_are_counted_over_all_flows() {
    let (_folder, path) = place("x.parquet");
    // 115 days are within the limit of a recording, not when each of three flows is there all the time.
    let rows = (1..=3).flat_map(|flow| [0, 9_900_000].map(|s| (flow, s)));
    let row = |(flow, s): (u64, u64)| Row::at(flow, s * 1_000_000).bytes(1 + s, 1 + s).rtt(1000, 1 + s as u32);
    let mut rows: Vec<Row> = rows.map(row).collect();
    rows.sort_by_key(|row| row.t_us);
    Fixture::new(rows).parquet(&path);
    let text = complaint(&path);
    assert!(text.contains("20000000 of all flows together") && text.contains("--interval"), "{text}");
    let recordings = open_all(&[path]).unwrap();
    assert!(summarize(&recordings, &Options { interval_s: 10.0, ..Options::default() }).is_ok());
}

#[test]
fn a_tiny_interval_of_a_long_recording_is_refused() {
    let (_folder, path) = place("x.parquet");
    let row = |i: u64| Row::at(1, i * 1_000_000).bytes(i * 5000, i * 5000).rtt(1000, i as u32);
    Fixture::new((0..40).map(row).collect()).parquet(&path);
    let recordings = open_all(&[path]).unwrap();
    let report = |interval_s| summarize(&recordings, &Options { interval_s, ..Options::default() });
    assert!(matches!(report(1e-6), Err(Error::TooManyIntervals { .. })));
    assert!(report(1e-3).is_ok());
}
