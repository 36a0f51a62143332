//! RTT samples: how often each value was measured, per flow and algorithm.

use std::collections::HashMap;

use polars::prelude::*;

use crate::columns::{FlowKey, counts, flow_keys, texts};
use crate::fold::{Agg, Fold};
use crate::stats::Histogram;
use crate::steps;

/// Counts the rows of each RTT value.
///
/// `rtt_us` is the *latest* sample, which a row after a duplicate ACK repeats. So a row counts only when packets were
/// delivered since the flow's previous row.
pub fn fold() -> Fold {
    let mut keys = steps::flow();
    keys.push(col("running"));
    keys.push(col("rtt_us"));
    Fold::new(keys, vec![("samples", Agg::Count, col("t_us"))])
        .filtered(col("d_delivered_pkts").gt(lit(0)).and(col("rtt_us").is_not_null()))
}

/// The result of [`fold`], by flow and kernel name.
pub fn read(frame: &DataFrame) -> PolarsResult<HashMap<(FlowKey, String), Histogram>> {
    let mut histograms: HashMap<(FlowKey, String), Histogram> = HashMap::new();
    let keys = flow_keys(frame)?.into_iter().zip(texts(frame, "running")?);
    let values = counts(frame, "rtt_us")?.into_iter().zip(counts(frame, "samples")?);
    for (key, (rtt_us, samples)) in keys.zip(values) {
        histograms.entry(key).or_default().add(rtt_us, samples);
    }
    Ok(histograms)
}
