//! The rows of the CSV as Parquet: typed columns, with what they are in the metadata.

use std::path::Path;

use polars::prelude::*;

use super::frame::frame;
use crate::summary::Summary;
use crate::{Error, output};

/// Version of the columns, which changes when one changes its meaning or goes.
const VERSION: &str = "1";
/// Units by the end of a column's name; others are counts, times of an event or text.
const UNITS: [(&str, &str); 7] = [
    ("_bps_per_s", "bit/s per second of RTT"),
    ("_bps", "bit/s"),
    ("_bytes", "bytes"),
    ("_pkts", "packets"),
    ("_ratio", "ratio, 0 to 1"),
    ("_us", "microseconds"),
    ("_s", "seconds since the start of the recording"),
];

/// Writes one row per flow, per algorithm and per swap to `path`, whole or not at all. The metadata has
/// `ccactl.summary_version`, and in `ccactl.units` a JSON object with the unit of each column that has one.
///
/// # Errors
/// When the file cannot be written.
///
/// # Panics
/// Never: the Parquet is made in memory.
pub fn write(path: &Path, summary: &Summary) -> Result<(), Error> {
    let mut frame = frame(summary);
    let metadata = KeyValueMetadata::from_static(vec![
        ("ccactl.summary_version".to_owned(), VERSION.to_owned()),
        ("ccactl.units".to_owned(), units(&frame)),
    ]);
    let mut out = Vec::new();
    let writer = ParquetWriter::new(&mut out).with_key_value_metadata(Some(metadata));
    writer.finish(&mut frame).expect("memory can be written to");
    output::write_whole(path, &out)
}

fn units(frame: &DataFrame) -> String {
    let unit = |name: &str| UNITS.iter().find(|(end, _)| name.ends_with(end)).map(|(_, unit)| *unit);
    let names = frame.get_column_names();
    let units: serde_json::Map<String, serde_json::Value> =
        names.iter().filter_map(|name| Some((name.to_string(), unit(name)?.into()))).collect();
    serde_json::Value::Object(units).to_string()
}
