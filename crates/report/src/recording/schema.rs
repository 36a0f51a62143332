//! The columns that a report reads.

use std::path::Path;

use polars::prelude::*;

use crate::Error;

/// Versions of the columns and metadata that this crate reads, oldest and newest.
pub const VERSIONS: std::ops::RangeInclusive<u32> = 1..=2;

/// One column as it is read.
#[derive(Debug)]
pub struct Column {
    /// Its name in the file.
    pub name: &'static str,
    /// Type to which it is cast. Counters become signed, so that a difference of two is one subtraction.
    pub dtype: DataType,
    /// Version of the schema that brought it.
    since: u32,
    /// What a row of an older recording has: null, or a number.
    before: Option<i64>,
}

const fn text(name: &'static str) -> Column {
    column(name, DataType::String, 1)
}

const fn signed(name: &'static str) -> Column {
    column(name, DataType::Int64, 1)
}

const fn signed_since_2(name: &'static str) -> Column {
    column(name, DataType::Int64, 2)
}

const fn column(name: &'static str, dtype: DataType, since: u32) -> Column {
    Column { name, dtype, since, before: None }
}

impl Column {
    fn fits(&self, found: &DataType) -> bool {
        if self.dtype == DataType::String { *found == DataType::String } else { found.is_integer() }
    }

    fn expected(&self) -> &'static str {
        if self.dtype == DataType::String { "text" } else { "an integer" }
    }

    /// Reads it, or what an older recording has for it.
    fn expression(&self, found: &Schema) -> Expr {
        if found.contains(self.name) {
            return col(self.name).cast(self.dtype.clone());
        }
        let value = self.before.map_or_else(|| lit(NULL), lit);
        value.cast(self.dtype.clone()).alias(self.name)
    }
}

/// Every column that a fold can ask for.
pub static COLUMNS: [Column; 37] = [
    signed("t_us"),
    text("event"),
    column("netns", DataType::UInt32, 1),
    column("flow_id", DataType::UInt64, 1),
    column("cgroup_id", DataType::UInt64, 1),
    text("src"),
    text("dst"),
    column("sport", DataType::UInt32, 1),
    column("dport", DataType::UInt32, 1),
    text("algorithm"),
    column("previous", DataType::String, 2),
    text("trace_mode"),
    signed("trace_bw_bps"),
    signed("trace_min_rtt_us"),
    signed("trace_inflight_lo_pkts"),
    signed("trace_inflight_hi_pkts"),
    signed("trace_v0"),
    signed("trace_v1"),
    signed("cwnd_pkts"),
    signed("ssthresh_pkts"),
    signed("pacing_rate_bps"),
    signed_since_2("snd_wnd_bytes"),
    signed("rtt_us"),
    signed("bytes_acked"),
    signed("bytes_sent"),
    signed("bytes_retrans"),
    signed_since_2("bytes_received"),
    signed("retrans_pkts"),
    signed("lost_pkts"),
    signed("delivered_pkts"),
    signed("delivered_ce_pkts"),
    signed_since_2("rto_count"),
    signed_since_2("duration_us"),
    signed_since_2("completion_us"),
    signed_since_2("rtt_mean_us"),
    signed_since_2("rtt_min_us"),
    Column { name: "dropped_rows", dtype: DataType::Int64, since: 2, before: Some(0) },
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

/// The expressions that read these columns from a file that has the columns `found`.
///
/// # Panics
/// When a name is not one of [`COLUMNS`].
pub fn selection<'a>(names: impl IntoIterator<Item = &'a str>, found: &Schema) -> Vec<Expr> {
    let column = |name| COLUMNS.iter().find(|column| column.name == name).expect("a column of the table");
    names.into_iter().map(|name| column(name).expression(found)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_that_an_older_recording_lacks_are_null_or_nothing_lost() {
        let old = df!("t_us" => [7u64], "rtt_us" => [Some(3u32)]).unwrap();
        let names = ["rtt_us", "completion_us", "previous", "dropped_rows"];
        let read = old.clone().lazy().select(selection(names, old.schema())).collect().unwrap();
        assert_eq!(read.dtypes(), [DataType::Int64, DataType::Int64, DataType::String, DataType::Int64]);
        let expected = df!(
            "rtt_us" => [Some(3i64)],
            "completion_us" => [None::<i64>],
            "previous" => [None::<&str>],
            "dropped_rows" => [Some(0i64)],
        );
        assert!(read.equals_missing(&expected.unwrap()), "{read}");
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
