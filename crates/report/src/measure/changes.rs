//! When a live flow was given another algorithm.

use polars::prelude::*;

use crate::columns::{FlowKey, counts, flow_keys, texts};

/// One change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// The flow.
    pub flow: FlowKey,
    /// First row with the new algorithm.
    pub at_us: u64,
    /// Kernel name before.
    pub from: String,
    /// Kernel name after.
    pub to: String,
}

/// Whether a step ends with another algorithm than it began with. What happened before the first data does not count.
pub fn changed() -> Expr {
    col("prev_bytes_sent").gt(lit(0)).and(col("algorithm").neq(col("prev_algorithm")))
}

/// Changes among the steps of a batch.
pub fn find(steps: &DataFrame) -> PolarsResult<Vec<Change>> {
    let wanted = ["netns", "flow_id", "t_us", "prev_algorithm", "algorithm"].map(col);
    let found = steps.clone().lazy().filter(changed()).select(wanted).collect()?;
    let columns =
        (flow_keys(&found)?, counts(&found, "t_us")?, texts(&found, "prev_algorithm")?, texts(&found, "algorithm")?);
    let (flows, times, from, to) = columns;
    let names = from.into_iter().zip(to);
    Ok(flows
        .into_iter()
        .zip(times)
        .zip(names)
        .map(|((flow, at_us), (from, to))| Change { flow, at_us, from, to })
        .collect())
}
