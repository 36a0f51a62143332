//! Streams and Parquet files without a kernel: truncation at any byte, and the way from one to the other.

mod streams;

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::UInt64Type;
use ccactl_recording::CHECKSUM_KEY;
use ccactl_recording::write::{NotAStream, StreamFile, convert_stream};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::basic::Compression;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::Path;
use streams::write_stream;
use tempfile::TempDir;

fn flow_ids(stream: StreamFile) -> Vec<u64> {
    stream.flat_map(|batch| batch.unwrap()["flow_id"].as_primitive::<UInt64Type>().values().to_vec()).collect()
}

#[test]
fn a_stream_cut_at_any_byte_gives_every_complete_batch() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("x.arrows");
    let lengths = write_stream(&path, &[&[1, 2], &[3], &[4, 5, 6]]);
    let bytes = fs::read(&path).unwrap();
    for length in lengths[0]..=lengths[3] {
        fs::write(&path, &bytes[..length as usize]).unwrap();
        let expected: &[u64] = match lengths.iter().rposition(|&complete| complete <= length).unwrap() {
            0 => &[],
            1 => &[1, 2],
            2 => &[1, 2, 3],
            _ => &[1, 2, 3, 4, 5, 6],
        };
        assert_eq!(flow_ids(StreamFile::open(&path).unwrap()), expected, "cut at {length}");
    }
}

#[test]
fn a_stream_without_a_complete_header_is_refused() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("x.arrows");
    let header = write_stream(&path, &[])[0];
    let bytes = fs::read(&path).unwrap();
    for length in [0, 1, header / 2, header - 1] {
        fs::write(&path, &bytes[..length as usize]).unwrap();
        assert!(matches!(StreamFile::open(&path), Err(NotAStream { .. })), "cut at {length}");
    }
}

#[test]
fn parquet_has_the_rows_and_the_metadata() {
    let dir = TempDir::new().unwrap();
    let (stream, file) = (dir.path().join("x.arrows"), dir.path().join("x.parquet"));
    write_stream(&stream, &[&[1, 2], &[3]]);
    let metadata = BTreeMap::from([("ccactl.rows".to_owned(), "3".to_owned())]);
    convert_stream(&stream, &file, &metadata, true).unwrap();

    let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(&file).unwrap()).unwrap();
    let groups = reader.metadata().row_groups();
    assert_eq!(groups.iter().map(|group| group.num_rows()).sum::<i64>(), 3);
    assert!(groups[0].columns().iter().all(|column| matches!(column.compression(), Compression::ZSTD(_))));
    let pairs = reader.metadata().file_metadata().key_value_metadata().unwrap();
    let keys: Vec<(&str, Option<&str>)> = pairs
        .iter()
        .filter(|pair| pair.key != "ARROW:schema" && pair.key != CHECKSUM_KEY)
        .map(|pair| (pair.key.as_str(), pair.value.as_deref()))
        .collect();
    assert_eq!(keys, [("ccactl.order", Some("netns,flow_id,time")), ("ccactl.rows", Some("3"))]);
    assert_eq!(reader.schema().metadata().get("ccactl.rows").map(String::as_str), Some("3"));
    let rows: Vec<u64> = reader
        .build()
        .unwrap()
        .flat_map(|batch| batch.unwrap()["flow_id"].as_primitive::<UInt64Type>().values().to_vec())
        .collect();
    assert_eq!(rows, [1, 2, 3]);
    let names: Vec<_> = fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names.len(), 2, "{names:?}");
}

/// Flow ids and numbers of the rows, group by group.
fn groups(file: &Path) -> Vec<(Vec<u64>, Vec<u64>)> {
    let open = || ParquetRecordBatchReaderBuilder::try_new(File::open(file).unwrap()).unwrap();
    let rows_of = |group| {
        let batches: Vec<RecordBatch> =
            open().with_row_groups(vec![group]).build().unwrap().map(|batch| batch.unwrap()).collect();
        let numbers = |name: &str| -> Vec<u64> {
            batches.iter().flat_map(|batch| batch[name].as_primitive::<UInt64Type>().values().to_vec()).collect()
        };
        (numbers("flow_id"), numbers("bytes_acked"))
    };
    (0..open().metadata().num_row_groups()).map(rows_of).collect()
}

#[test]
fn the_rows_of_a_flow_are_neighbours_and_keep_their_order() {
    let dir = TempDir::new().unwrap();
    let (stream, file) = (dir.path().join("x.arrows"), dir.path().join("x.parquet"));
    write_stream(&stream, &[&[7, 3, 7], &[5, 3], &[], &[3, 7]]);
    for (is_sorted, expected) in [(true, &["netns", "flow_id", "time"][..]), (false, &["netns", "flow_id"])] {
        convert_stream(&stream, &file, &BTreeMap::new(), is_sorted).unwrap();
        assert_eq!(groups(&file), [(vec![3, 3, 3, 5, 7, 7, 7], vec![1, 4, 5, 3, 0, 2, 6])]);
        let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(&file).unwrap()).unwrap();
        let sorting = reader.metadata().row_group(0).sorting_columns().unwrap();
        let names: Vec<&str> =
            sorting.iter().map(|column| reader.schema().field(column.column_idx as usize).name().as_str()).collect();
        assert_eq!(names, expected);
        assert!(sorting.iter().all(|column| !column.descending));
        assert_eq!(reader.schema().metadata()["ccactl.order"], expected.join(","));
    }
}

#[test]
fn row_groups_follow_each_other_in_time_wherever_batches_end() {
    const GROUP: usize = 256 * 1024;
    let dir = TempDir::new().unwrap();
    let (stream, file) = (dir.path().join("x.arrows"), dir.path().join("x.parquet"));
    let flows = |rows: usize| -> Vec<u64> { (0..rows as u64).map(|row| row * 7 % 3).collect() };
    let batches = [flows(GROUP - 10), flows(30), flows(5)];
    write_stream(&stream, &batches.each_ref().map(Vec::as_slice));
    convert_stream(&stream, &file, &BTreeMap::new(), true).unwrap();
    let groups = groups(&file);
    let mut next = 0;
    for (flow_ids, numbers) in &groups {
        assert!(flow_ids.is_sorted());
        let mut numbers = numbers.clone();
        numbers.sort_unstable();
        assert!(numbers.iter().copied().eq(next..next + numbers.len() as u64));
        next += numbers.len() as u64;
    }
    assert_eq!(groups.iter().map(|(rows, _)| rows.len()).collect::<Vec<_>>(), [GROUP, 25]);
}

#[test]
fn a_conversion_that_fails_leaves_no_file() {
    let dir = TempDir::new().unwrap();
    let (stream, file) = (dir.path().join("x.arrows"), dir.path().join("x.parquet"));
    fs::write(&stream, "this is no stream").unwrap();
    convert_stream(&stream, &file, &BTreeMap::new(), true).unwrap_err();
    let names: Vec<_> = fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["x.arrows"]);
}
