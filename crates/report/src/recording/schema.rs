//! The columns that a report reads.

use std::path::Path;

use polars::prelude::*;

use crate::Error;

/// Columns as they are read: name, type to which they are cast.
///
/// Counters become signed, so that a difference of two is one subtraction.
pub const COLUMNS: [(&str, DataType); 25] = [
    ("t_us", DataType::Int64),
    ("netns", DataType::UInt32),
    ("flow_id", DataType::UInt64),
    ("cgroup_id", DataType::UInt64),
    ("src", DataType::String),
    ("dst", DataType::String),
    ("sport", DataType::UInt32),
    ("dport", DataType::UInt32),
    ("algorithm", DataType::String),
    ("trace_mode", DataType::String),
    ("trace_bw_bps", DataType::Int64),
    ("trace_min_rtt_us", DataType::Int64),
    ("trace_v0", DataType::Int64),
    ("trace_v1", DataType::Int64),
    ("cwnd_pkts", DataType::Int64),
    ("ssthresh_pkts", DataType::Int64),
    ("pacing_rate_bps", DataType::Int64),
    ("rtt_us", DataType::Int64),
    ("bytes_acked", DataType::Int64),
    ("bytes_sent", DataType::Int64),
    ("bytes_retrans", DataType::Int64),
    ("retrans_pkts", DataType::Int64),
    ("lost_pkts", DataType::Int64),
    ("delivered_pkts", DataType::Int64),
    ("delivered_ce_pkts", DataType::Int64),
];

/// Fails on the first column that is missing or of another kind.
pub fn check(path: &Path, found: &Schema) -> Result<(), Error> {
    for (name, wanted) in &COLUMNS {
        let text = *wanted == DataType::String;
        let problem = match found.get(name) {
            None => "no such column".to_owned(),
            Some(DataType::String) if text => continue,
            Some(dtype) if !text && dtype.is_integer() => continue,
            Some(dtype) => dtype.to_string(),
        };
        return Err(Error::Column {
            path: path.to_owned(),
            column: (*name).to_owned(),
            expected: if text { "text" } else { "an integer" },
            found: problem,
        });
    }
    Ok(())
}

/// The expressions that read them.
pub fn selection() -> Vec<Expr> {
    COLUMNS.iter().map(|(name, dtype)| col(*name).cast(dtype.clone())).collect()
}
