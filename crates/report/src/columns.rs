//! Columns of small result frames as Rust vectors.

use polars::prelude::*;

/// Column `name` as `Option<i64>` values.
pub fn i64s(frame: &DataFrame, name: &str) -> PolarsResult<Vec<Option<i64>>> {
    Ok(frame.column(name)?.cast(&DataType::Int64)?.i64()?.iter().collect())
}

/// Column `name` as integers, null = 0.
pub fn counts(frame: &DataFrame, name: &str) -> PolarsResult<Vec<u64>> {
    Ok(i64s(frame, name)?.into_iter().map(|v| v.unwrap_or(0).max(0) as u64).collect())
}

/// Column `name` as floats, null = 0.
pub fn f64s(frame: &DataFrame, name: &str) -> PolarsResult<Vec<f64>> {
    Ok(frame.column(name)?.cast(&DataType::Float64)?.f64()?.iter().map(|v| v.unwrap_or(0.0)).collect())
}

/// Column `name` as text, null = empty.
pub fn texts(frame: &DataFrame, name: &str) -> PolarsResult<Vec<String>> {
    Ok(frame.column(name)?.str()?.iter().map(|v| v.unwrap_or("").to_owned()).collect())
}

/// Identity of a flow: socket cookies are unique within a network namespace only.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FlowKey {
    /// Inode number of the network namespace.
    pub netns: u64,
    /// Socket cookie.
    pub flow_id: u64,
}

/// The flow of each row.
pub fn flow_keys(frame: &DataFrame) -> PolarsResult<Vec<FlowKey>> {
    let netns = counts(frame, "netns")?;
    let flow_ids = frame.column("flow_id")?.cast(&DataType::UInt64)?;
    let flow_ids = flow_ids.u64()?;
    Ok(netns.into_iter().zip(flow_ids.iter()).map(|(netns, id)| FlowKey { netns, flow_id: id.unwrap_or(0) }).collect())
}
