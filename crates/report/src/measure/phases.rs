//! How long each algorithm stayed in each of its phases.

use std::collections::HashMap;

use polars::prelude::*;

use crate::columns::{FlowKey, counts, flow_keys, texts};
use crate::fold::{Agg, Fold};
use crate::steps;

/// Time per phase. A phase holds from the row that shows it to the flow's next row.
pub fn fold() -> Fold {
    let mut keys = steps::flow();
    keys.push(col("running"));
    keys.push(col("prev_trace_mode"));
    Fold::new(keys, vec![("time_us", Agg::Sum, col("dt_us"))]).filtered(col("prev_trace_mode").is_not_null())
}

/// Microseconds per phase.
pub type PhaseTimes = HashMap<String, u64>;

/// The result of [`fold`], by flow and kernel name.
pub fn read(frame: &DataFrame) -> PolarsResult<HashMap<(FlowKey, String), PhaseTimes>> {
    let mut phases: HashMap<(FlowKey, String), PhaseTimes> = HashMap::new();
    let keys = flow_keys(frame)?.into_iter().zip(texts(frame, "running")?);
    let values = texts(frame, "prev_trace_mode")?.into_iter().zip(counts(frame, "time_us")?);
    for (key, (mode, time_us)) in keys.zip(values) {
        *phases.entry(key).or_default().entry(mode).or_default() += time_us;
    }
    Ok(phases)
}
