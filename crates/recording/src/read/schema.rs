//! The columns that a report reads.

use std::path::Path;

use polars::prelude::*;

use super::Error;
use crate::{OLDEST_VERSION, SCHEMA_VERSION};

/// Versions of the columns and metadata that this crate reads, oldest and newest.
pub const VERSIONS: std::ops::RangeInclusive<u32> = OLDEST_VERSION..=SCHEMA_VERSION;

/// One column as it is read.
#[derive(Debug)]
pub struct Column {
    /// Its name in the file.
    pub name: &'static str,
    /// Its type in a file of the recorder; other integers are cast to it.
    pub dtype: DataType,
    /// Version of the schema that brought it.
    since: u32,
}

const fn text(name: &'static str) -> Column {
    column(name, DataType::String, 1)
}

const fn u32(name: &'static str, since: u32) -> Column {
    column(name, DataType::UInt32, since)
}

const fn u64(name: &'static str, since: u32) -> Column {
    column(name, DataType::UInt64, since)
}

const fn column(name: &'static str, dtype: DataType, since: u32) -> Column {
    Column { name, dtype, since }
}

impl Column {
    fn fits(&self, found: &DataType) -> bool {
        if self.dtype == DataType::String { *found == DataType::String } else { found.is_integer() }
    }

    fn expected(&self) -> &'static str {
        if self.dtype == DataType::String { "text" } else { "an integer" }
    }
}

/// Every column that a fold can ask for.
pub static COLUMNS: [Column; 37] = [
    u64("t_us", 1),
    text("event"),
    u32("netns", 1),
    u64("flow_id", 1),
    u64("cgroup_id", 1),
    text("src"),
    text("dst"),
    column("sport", DataType::UInt16, 1),
    column("dport", DataType::UInt16, 1),
    text("algorithm"),
    column("previous", DataType::String, 2),
    text("trace_mode"),
    u64("trace_bw_bps", 1),
    u32("trace_min_rtt_us", 1),
    u32("trace_inflight_lo_pkts", 1),
    u32("trace_inflight_hi_pkts", 1),
    column("trace_v0", DataType::Int64, 1),
    column("trace_v1", DataType::Int64, 1),
    u32("cwnd_pkts", 1),
    u32("ssthresh_pkts", 1),
    u64("pacing_rate_bps", 1),
    u32("snd_wnd_bytes", 2),
    u32("rtt_us", 1),
    u64("bytes_acked", 1),
    u64("bytes_sent", 1),
    u64("bytes_retrans", 1),
    u64("bytes_received", 2),
    u32("retrans_pkts", 1),
    u32("lost_pkts", 1),
    u32("delivered_pkts", 1),
    u32("delivered_ce_pkts", 1),
    u32("rto_count", 2),
    u64("duration_us", 2),
    u64("completion_us", 2),
    u32("rtt_mean_us", 2),
    u32("rtt_min_us", 2),
    u64("dropped_rows", 2),
];

/// Fails on the first column of this version that is missing or of another kind.
pub fn check(path: &Path, version: u32, found: &Schema) -> Result<(), Error> {
    for column in &COLUMNS {
        let problem = match found.get(column.name) {
            None if column.since > version => continue,
            None => "no such column".to_owned(),
            Some(dtype) if column.fits(dtype) => continue,
            Some(dtype) => dtype.to_string(),
        };
        return Err(Error::Column {
            path: path.to_owned(),
            column: column.name.to_owned(),
            expected: column.expected(),
            found: problem,
        });
    }
    Ok(())
}

/// These columns of a batch, as far as it has them, with the types of [`COLUMNS`]; a number that does not fit is none.
///
/// # Panics
/// When a name is not one of [`COLUMNS`].
pub fn selected(rows: &DataFrame, names: &[&str]) -> PolarsResult<DataFrame> {
    let mut found = Vec::new();
    for name in names {
        let dtype = &COLUMNS.iter().find(|column| column.name == *name).expect("a column of the table").dtype;
        let Ok(column) = rows.column(name) else { continue };
        found.push(if column.dtype() == dtype { column.clone() } else { column.cast(dtype)? });
    }
    DataFrame::new(rows.height(), found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_of_other_types_are_read_and_what_does_not_fit_is_none() {
        let rows = df!("t_us" => [7i64, -1], "rtt_us" => [Some(3u64), Some(1 << 40)], "extra" => [1, 2]).unwrap();
        let read = selected(&rows, &["rtt_us", "completion_us", "t_us"]).unwrap();
        let expected = df!("rtt_us" => [Some(3u32), None], "t_us" => [Some(7u64), None]).unwrap();
        assert!(read.equals_missing(&expected), "{read}");
    }

    #[test]
    fn a_column_is_asked_for_from_the_version_that_brought_it() {
        let mut found: Schema = COLUMNS.iter().map(|c| Field::new(c.name.into(), c.dtype.clone())).collect();
        found.shift_remove("rto_count").unwrap();
        let path = Path::new("x.parquet");
        assert!(check(path, 1, &found).is_ok());
        let missing = check(path, 2, &found).unwrap_err().to_string();
        assert!(missing.contains("column rto_count: expected an integer, found no such column"), "{missing}");
        // A type that is wrong is wrong in any version.
        found.insert("dropped_rows".into(), DataType::String);
        assert!(check(path, 1, &found).is_err());
    }
}
