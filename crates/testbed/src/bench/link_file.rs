//! `link.parquet`: what the links of a run did over time, beside its recording.

use crate::error::{Error, Result};
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, UInt64Type};
use arrow_array::{Array, ArrayRef, Float64Array, RecordBatch, StringArray, UInt32Array, UInt64Array};
use ccactl_host::output::{Place, Replace};
use ccactl_link::network::{INTERVAL, Interval, Way};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;

/// Name of the file in the folder of a run.
pub const LINK_FILE: &str = "link.parquet";

/// Writes it into `folder`; nothing is seen under that name until it is complete. `names` are those of the transmitters.
pub fn write(folder: &Path, names: &[(String, Way)], rows: &[Interval]) -> Result<()> {
    let path = folder.join(LINK_FILE);
    let written = encode(&path, names, rows);
    written.map_err(|cause| Error::Output { path, cause })
}

fn encode(path: &Path, names: &[(String, Way)], rows: &[Interval]) -> io::Result<()> {
    let draft = Place::at(path)?.draft(Replace::Ours)?;
    let zstd = Compression::ZSTD(ZstdLevel::default());
    let properties = WriterProperties::builder().set_compression(zstd).build();
    let batch = batch(names, rows).map_err(io::Error::other)?;
    let mut writer = ArrowWriter::try_new(draft.file().try_clone()?, batch.schema(), Some(properties))?;
    writer.write(&batch)?;
    writer.close()?;
    Ok(draft.publish()?)
}

/// The columns of `docs/scenarios.md`.
fn batch(names: &[(String, Way)], rows: &[Interval]) -> Result<RecordBatch, arrow_schema::ArrowError> {
    let name = |row: &Interval| names[row.transmitter as usize].0.as_str();
    let way = |row: &Interval| way_name(names[row.transmitter as usize].1);
    let some = |row: &Interval, ns: f64| (row.sent_packets > 0).then_some(ns / 1000.0);
    let mean = |row: &Interval| some(row, row.sojourn_sum_ns as f64 / f64::from(row.sent_packets.max(1)));
    let u32s = |value: fn(&Interval) -> u32| Arc::new(rows.iter().map(value).collect::<UInt32Array>()) as ArrayRef;
    let u64s = |value: fn(&Interval) -> u64| Arc::new(rows.iter().map(value).collect::<UInt64Array>()) as ArrayRef;
    let f64s = |value: &dyn Fn(&Interval) -> Option<f64>| {
        Arc::new(rows.iter().map(value).collect::<Float64Array>()) as ArrayRef
    };
    RecordBatch::try_from_iter_with_nullable([
        ("time_us", u64s(|row| u64::from(row.number + 1) * (INTERVAL / 1000)), false),
        ("link", Arc::new(rows.iter().map(|row| Some(name(row))).collect::<StringArray>()) as ArrayRef, false),
        ("way", Arc::new(rows.iter().map(|row| Some(way(row))).collect::<StringArray>()) as ArrayRef, false),
        ("queue_packets", u32s(|row| row.queued_packets), false),
        ("queue_bytes", u64s(|row| row.queued_bytes), false),
        ("rate_bps", u64s(Interval::sent_bps), false),
        ("sent_packets", u32s(|row| row.sent_packets), false),
        ("sojourn_mean_us", f64s(&mean), true),
        ("sojourn_max_us", f64s(&|row| some(row, row.sojourn_max_ns as f64)), true),
        ("dropped_full_packets", u32s(|row| row.dropped_full_packets), false),
        ("dropped_early_packets", u32s(|row| row.dropped_early_packets), false),
        ("marked_packets", u32s(|row| row.marked_packets), false),
        ("lost_packets", u32s(|row| row.lost_packets), false),
    ])
}

fn way_name(way: Way) -> &'static str {
    match way {
        Way::Up => "up",
        Way::Down => "down",
    }
}

/// What a transmitter did in one interval, of what the file says of it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LinkRow {
    /// End of the interval, since the beginning of the run.
    pub time_us: u64,
    /// Rate on the wire.
    pub sent_bps: u64,
    /// Mean queueing delay of what left; none where nothing left.
    pub sojourn_mean_us: Option<f64>,
}

/// The intervals of one transmitter, in the order of time.
///
/// # Errors
/// When the file cannot be read, or has other columns.
pub fn link_rows(path: &Path, link: &str, way: Way) -> Result<Vec<LinkRow>> {
    let unreadable = |reason: String| Error::Unreadable { path: path.to_owned(), reason };
    let file = File::open(path).map_err(|cause| unreadable(cause.to_string()))?;
    let reader = ParquetRecordBatchReaderBuilder::try_new(file).and_then(|builder| builder.build());
    let mut rows = Vec::new();
    for batch in reader.map_err(|error| unreadable(error.to_string()))? {
        let batch = batch.map_err(|error| unreadable(error.to_string()))?;
        rows.extend(rows_in(&batch, link, way_name(way)).ok_or_else(|| unreadable("other columns".to_owned()))?);
    }
    Ok(rows)
}

fn rows_in(batch: &RecordBatch, link: &str, way: &str) -> Option<Vec<LinkRow>> {
    let u64s = |name: &str| batch.column_by_name(name)?.as_primitive_opt::<UInt64Type>();
    let texts = |name: &str| batch.column_by_name(name)?.as_string_opt::<i32>();
    let (time, rate) = (u64s("time_us")?, u64s("rate_bps")?);
    let (links, ways) = (texts("link")?, texts("way")?);
    let sojourn = batch.column_by_name("sojourn_mean_us")?.as_primitive_opt::<Float64Type>()?;
    let row = |at: usize| LinkRow {
        time_us: time.value(at),
        sent_bps: rate.value(at),
        sojourn_mean_us: sojourn.is_valid(at).then(|| sojourn.value(at)),
    };
    let is_its = |at: &usize| links.value(*at) == link && ways.value(*at) == way;
    Some((0..batch.num_rows()).filter(is_its).map(row).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_interval_is_a_row_with_its_link_and_an_idle_one_has_no_delay() {
        let folder = tempfile::tempdir().unwrap();
        let names = [("link".to_owned(), Way::Up), ("link".to_owned(), Way::Down)];
        let busy = Interval {
            sent_packets: 2,
            sent_wire_bytes: 2500,
            sojourn_sum_ns: 3000,
            sojourn_max_ns: 2000,
            ..Interval::default()
        };
        write(folder.path(), &names, &[busy, Interval { number: 0, transmitter: 1, ..Interval::default() }]).unwrap();
        let file = File::open(folder.path().join(LINK_FILE)).unwrap();
        let batches: Vec<_> = ParquetRecordBatchReaderBuilder::try_new(file).unwrap().build().unwrap().collect();
        let batch = batches[0].as_ref().unwrap();
        let column = |name: &str| batch.column_by_name(name).unwrap();
        assert_eq!(column("time_us").as_ref(), &UInt64Array::from(vec![10_000, 10_000]));
        assert_eq!(column("way").as_ref(), &StringArray::from(vec!["up", "down"]));
        assert_eq!(column("rate_bps").as_ref(), &UInt64Array::from(vec![2_000_000, 0]));
        assert_eq!(column("sojourn_mean_us").as_ref(), &Float64Array::from(vec![Some(1.5), None]));
        assert_eq!(column("sojourn_max_us").as_ref(), &Float64Array::from(vec![Some(2.0), None]));
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "no partial file stays");
        let read = |way| link_rows(&folder.path().join(LINK_FILE), "link", way).unwrap();
        let up = LinkRow { time_us: 10_000, sent_bps: 2_000_000, sojourn_mean_us: Some(1.5) };
        assert_eq!(read(Way::Up), [up]);
        assert_eq!(read(Way::Down), [LinkRow { sent_bps: 0, sojourn_mean_us: None, ..up }]);
    }
}
