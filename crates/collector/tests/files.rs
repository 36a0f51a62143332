//! Streams and Parquet files without a kernel: truncation at any byte, and the way from one to the other.

mod streams;

use arrow_array::cast::AsArray;
use arrow_array::types::UInt64Type;
use ccactl_collector::{Error, StreamFile, convert_stream};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::basic::Compression;
use std::collections::BTreeMap;
use std::fs::{self, File};
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
        assert!(matches!(StreamFile::open(&path), Err(Error::NotAStream { .. })), "cut at {length}");
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
    assert_eq!(groups[0].sorting_columns().unwrap()[0].column_idx, 0);
    let pairs = reader.metadata().file_metadata().key_value_metadata().unwrap();
    let keys: Vec<(&str, Option<&str>)> = pairs
        .iter()
        .filter(|pair| pair.key != "ARROW:schema" && pair.key != ccactl_format::CHECKSUM_KEY)
        .map(|pair| (pair.key.as_str(), pair.value.as_deref()))
        .collect();
    assert_eq!(keys, [("ccactl.rows", Some("3"))]);
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

#[test]
fn a_conversion_that_fails_leaves_no_file() {
    let dir = TempDir::new().unwrap();
    let (stream, file) = (dir.path().join("x.arrows"), dir.path().join("x.parquet"));
    fs::write(&stream, "this is no stream").unwrap();
    convert_stream(&stream, &file, &BTreeMap::new(), true).unwrap_err();
    let names: Vec<_> = fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["x.arrows"]);
}
