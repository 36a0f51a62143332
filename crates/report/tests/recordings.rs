//! Older schema versions, and datasets of several parts.

mod common;

use std::path::{Path, PathBuf};

use ccactl_report::{Options, RecordingSummary, left_out, open_all, summarize};
use common::{Fixture, Row};
use tempfile::TempDir;

/// Rows of a transfer of 5 MB/s, one per millisecond.
fn rows(from_ms: u64, to_ms: u64) -> Vec<Row> {
    (from_ms..to_ms).map(|ms| Row::at(1, ms * 1000).bytes(ms * 5000, ms * 5000).rtt(1000, ms as u32)).collect()
}

fn part(number: u64, rows: Vec<Row>) -> Fixture {
    let count = rows.len().to_string();
    Fixture::new(rows)
        .meta("dataset", "d1")
        .meta("part", &number.to_string())
        .meta("rows", &count)
        .meta("drops", "2")
        .meta("duration_us", "1000000")
        .meta("rows_by_event", &format!(r#"{{"sample":{count}}}"#))
}

fn report(paths: &[PathBuf]) -> Vec<RecordingSummary> {
    summarize(&open_all(paths).unwrap(), &Options::default()).unwrap().recordings
}

/// Everything but where it came from.
fn figures(mut summary: RecordingSummary) -> RecordingSummary {
    summary.path.clear();
    summary.name.clear();
    summary
}

/// The same without what a recording of version 1 does not know.
fn without_timeouts(mut summary: RecordingSummary) -> RecordingSummary {
    summary.flows.iter_mut().for_each(|flow| flow.measures.rto_count = None);
    summary.algorithms.iter_mut().for_each(|algorithm| algorithm.measures.rto_count = None);
    summary
}

/// Why the last part lost its rows.
const REASONS: &str = r#"{"ring_full_samples":3,"ring_full_events":3,"no_storage":0}"#;

/// Three parts of one second each; the last one says that it is the last.
fn dataset(folder: &Path) {
    part(0, rows(0, 1000)).parquet(&folder.join("part-00000.parquet"));
    part(1, rows(1000, 2000)).parquet(&folder.join("part-00001.parquet"));
    let last = part(2, rows(2000, 3000)).meta("parts", "3").meta("drops_by_reason", REASONS);
    last.parquet(&folder.join("part-00002.parquet"));
}

/// A bench of two runs, of which the first was tried twice.
fn bench(folder: &Path, valid: [bool; 3]) -> Vec<String> {
    let names = ["run-1", "run-1-attempt-2", "run-2"];
    for name in names {
        std::fs::create_dir(folder.join(name)).unwrap();
        Fixture::new(rows(0, 100)).parquet(&folder.join(name).join("recording.parquet"));
    }
    let run = |(name, valid): (&str, bool)| serde_json::json!({"directory": name, "valid": valid, "more": 1});
    let runs: Vec<_> = names.into_iter().zip(valid).map(run).collect();
    std::fs::write(folder.join("result.json"), serde_json::json!({"runs": runs}).to_string()).unwrap();
    let of = |summary: &RecordingSummary| {
        let folder = Path::new(&summary.path).parent().unwrap();
        folder.file_name().unwrap().to_string_lossy().into_owned()
    };
    report(&[folder.to_owned()]).iter().map(of).collect()
}

#[test]
fn a_run_that_was_not_valid_is_in_no_report_of_its_bench() {
    let folder = TempDir::new().unwrap();
    assert_eq!(bench(folder.path(), [false, true, true]), ["run-1-attempt-2", "run-2"]);
    assert_eq!(left_out(&[folder.path().to_owned()]), [folder.path().join("run-1")]);
    // Who names it wants to see it.
    assert_eq!(report(&[folder.path().join("run-1")]).len(), 1);
    let none = TempDir::new().unwrap();
    assert_eq!(bench(none.path(), [false; 3]).len(), 3, "better than nothing, and each was told");
    assert!(left_out(&[none.path().to_owned()]).is_empty());
}

#[test]
fn a_recording_of_version_1_gives_the_same_figures() {
    let folder = TempDir::new().unwrap();
    let new = Fixture::new(rows(0, 3000)).parquet(&folder.path().join("new.parquet"));
    let old = Fixture::new(rows(0, 3000)).of_version(1).parquet(&folder.path().join("old.parquet"));
    let stream = Fixture::new(rows(0, 3000)).of_version(1).stream(&folder.path().join("stream.arrows"), 700);
    let [new, old, stream]: [_; 3] = report(&[new, old, stream]).try_into().unwrap();
    assert_eq!(new.rows, 3000);
    let new = without_timeouts(new);
    assert_eq!(figures(old), figures(new.clone()));
    assert_eq!(figures(stream), figures(new));
}

#[test]
fn the_parts_of_a_dataset_are_one_recording() {
    let folder = TempDir::new().unwrap();
    dataset(folder.path());
    let whole = Fixture::new(rows(0, 3000)).meta("rows", "3000").meta("drops", "6").meta("duration_us", "3000000");
    whole.meta("drops_by_reason", REASONS).parquet(&folder.path().join("whole.parquet"));
    let found = open_all(&[folder.path().to_owned()]).unwrap();
    assert_eq!(found.len(), 2, "a stranger in the folder is a recording of its own");
    let metadata = found[0].metadata();
    assert_eq!((metadata.rows, metadata.drops, metadata.duration_us), (Some(3000), Some(6), Some(3_000_000)));
    assert_eq!(metadata.drops_by_reason.unwrap().ring_full_events, 3);
    assert_eq!(metadata.rows_by_event.as_ref().unwrap()["sample"], 3000);
    assert_eq!((found[0].path(), found[0].problems()), (folder.path(), &[][..]));

    let [parts, whole]: [_; 2] = report(&[folder.path().to_owned()]).try_into().unwrap();
    assert_eq!(parts.path, folder.path().display().to_string());
    assert_eq!(figures(parts), figures(whole.clone()));
    assert_eq!(whole.path, folder.path().join("whole.parquet").display().to_string());
}

#[test]
fn the_part_that_is_being_written_is_read_from_its_stream() {
    let folder = TempDir::new().unwrap();
    dataset(folder.path());
    std::fs::remove_file(folder.path().join("part-00002.parquet")).unwrap();
    part(2, rows(2000, 3000)).stream(&folder.path().join("part-00002.parquet.partial.arrows"), 100);
    let [found]: [_; 1] = report(&[folder.path().to_owned()]).try_into().unwrap();
    assert_eq!(found.rows, 3000);
    assert!(found.warnings[0].contains("no last part: its recorder was killed or is still running"));
}

#[test]
fn a_missing_part_is_named() {
    let folder = TempDir::new().unwrap();
    dataset(folder.path());
    std::fs::remove_file(folder.path().join("part-00001.parquet")).unwrap();
    let [found]: [_; 1] = report(&[folder.path().to_owned()]).try_into().unwrap();
    assert_eq!(found.rows, 2000);
    assert!(found.warnings[0].contains("of 3 parts of this recording part 1 is missing"), "{:?}", found.warnings);
}

#[test]
fn parts_that_are_named_one_by_one_are_one_recording_in_their_own_order() {
    let folder = TempDir::new().unwrap();
    dataset(folder.path());
    let named = ["part-00002.parquet", "part-00000.parquet", "part-00001.parquet"].map(|name| folder.path().join(name));
    let [found]: [_; 1] = report(&named).try_into().unwrap();
    // What they lost is one figure, and all that there is to say.
    assert_eq!((found.rows, found.duration_s, found.drops), (3000, 2.999, Some(6)));
    assert!(found.warnings.len() == 1 && found.warnings[0].starts_with("6 rows were dropped"), "{:?}", found.warnings);
}

#[test]
fn two_files_of_one_part_are_not_counted_twice() {
    let folder = TempDir::new().unwrap();
    dataset(folder.path());
    std::fs::copy(folder.path().join("part-00001.parquet"), folder.path().join("part-00001 (copy).parquet")).unwrap();
    let [found]: [_; 1] = report(&[folder.path().to_owned()]).try_into().unwrap();
    assert_eq!(found.rows, 3000);
    assert!(found.warnings[0].contains("is the same part of the recording"), "{:?}", found.warnings);
}

#[test]
fn a_recovered_recording_says_so() {
    let folder = TempDir::new().unwrap();
    let recovered = r#"{"rows":3000,"until":"2026-11-21T22:00:00Z","truncated":true}"#;
    let path = Fixture::new(rows(0, 3000)).meta("recovered", recovered).parquet(&folder.path().join("x.parquet"));
    let [found]: [_; 1] = report(&[path]).try_into().unwrap();
    let expected = "recovered from the stream of a killed recording: 3000 whole rows, the last at 2026-11-21T22:00:00Z";
    assert!(found.warnings[0].contains(expected), "{:?}", found.warnings);
}

/// Three flows in turn for four seconds: one is connected anew, one changes its algorithm, one opens late and closes early; rows are lost.
fn three_flows() -> Vec<Row> {
    let of_ms = |ms: u64| {
        let flow_id = 1 + ms % 3;
        let t_us = ms * 1000 + flow_id * 7;
        let since_ms = match flow_id {
            1 if ms >= 2500 => ms - 2500,
            3 => ms.saturating_sub(1000),
            _ => ms,
        };
        let mut row = Row::at(flow_id, t_us)
            .bytes(since_ms * 5000 + 7 * flow_id, since_ms * (4000 + 100 * flow_id))
            .rtt((10_000 + ms * 37 % 501) as u32, since_ms as u32 / 2);
        row.cwnd_pkts = (10 + ms * flow_id % 17) as u32;
        row.lost_pkts = (since_ms / 300) as u32;
        row.retrans_pkts = (since_ms / 310) as u32;
        row.dropped_rows = if ms < 1500 { 0 } else { 5 + ms / 3100 };
        row.trace_mode = [None, Some("up"), Some("down"), Some("cruise")][(ms / 50 * flow_id % 4) as usize];
        row.trace_bw_bps = (flow_id == 2).then_some(ms * 1000);
        row.trace_v0 = (ms % 11 > 3).then_some(since_ms as i64 - 800);
        if flow_id == 2 && ms >= 2000 {
            row.algorithm = "bbrv3";
        }
        match (flow_id, ms) {
            (3, 1001) => row.event = "open",
            (3, 3002) => {
                row.event = "close";
                row.duration_us = Some(2_001_000);
                row.completion_us = Some(1_990_000);
            }
            _ => {}
        }
        row
    };
    let is_there = |row: &Row| row.flow_id != 3 || (1_000_000..3_003_000).contains(&row.t_us);
    (0..4000).map(of_ms).filter(is_there).collect()
}

#[test]
fn the_order_of_flows_within_a_row_group_changes_no_figure() {
    const GROUP_ROWS: usize = 700;
    let folder = TempDir::new().unwrap();
    let path = |name: &str| folder.path().join(name);
    let by_time = three_flows();
    let mut by_flow = by_time.clone();
    by_flow.chunks_mut(GROUP_ROWS).for_each(|group| group.sort_by_key(|row| row.flow_id));
    let expected = figures(report(&[Fixture::new(by_time.clone()).parquet(&path("whole.parquet"))]).remove(0));
    assert_eq!((expected.flows.len(), expected.drop_spans.len()), (3, 2));
    assert!(!expected.flows[1].changes.is_empty() && expected.flows[2].closed.is_some());
    for other in [
        Fixture::new(by_time.clone()).parquet_in_groups(&path("time.parquet"), GROUP_ROWS),
        Fixture::new(by_flow.clone()).parquet_in_groups(&path("flow.parquet"), GROUP_ROWS),
        Fixture::new(by_flow).parquet(&path("flow-in-one.parquet")),
        Fixture::new(by_time.clone()).stream(&path("small.arrows"), 64),
        Fixture::new(by_time).stream(&path("large.arrows"), 3000),
    ] {
        assert_eq!(figures(report(std::slice::from_ref(&other)).remove(0)), expected, "{}", other.display());
    }
}
