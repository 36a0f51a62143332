//! Which phase lasted longest in each bucket.

use std::collections::{BTreeMap, HashMap};

use polars::prelude::*;

use super::US_PER_S;
use crate::columns::{FlowKey, counts, flow_keys, texts};
use crate::fold::{Agg, Fold};
use crate::steps;
use crate::summary::FlowSummary;

/// Time per flow, bucket and phase.
pub fn fold(width_us: u64) -> Fold {
    let mut keys = steps::flow();
    keys.push(col("prev_t_us").floor_div(lit(width_us as i64)).alias("bucket"));
    keys.push(col("prev_trace_mode"));
    Fold::new(keys, vec![("time_us", Agg::Sum, col("dt_us"))]).filtered(col("prev_trace_mode").is_not_null())
}

/// The phase that lasted longest, per bucket in which a phase was seen.
pub fn read(fold: Fold) -> PolarsResult<HashMap<FlowKey, BTreeMap<u64, String>>> {
    let Some(frame) = fold.finish()? else { return Ok(HashMap::new()) };
    let mut longest: HashMap<FlowKey, BTreeMap<u64, (u64, String)>> = HashMap::new();
    let buckets = flow_keys(&frame)?.into_iter().zip(counts(&frame, "bucket")?);
    let values = texts(&frame, "prev_trace_mode")?.into_iter().zip(counts(&frame, "time_us")?);
    for ((flow, bucket), (mode, time_us)) in buckets.zip(values) {
        let best = longest.entry(flow).or_default().entry(bucket).or_default();
        if best.1.is_empty() || time_us > best.0 {
            *best = (time_us, mode);
        }
    }
    let names = |buckets: BTreeMap<u64, (u64, String)>| buckets.into_iter().map(|(k, (_, mode))| (k, mode)).collect();
    Ok(longest.into_iter().map(|(flow, buckets)| (flow, names(buckets))).collect())
}

/// Equal neighbours become one span; a phase lasts until another is seen.
pub fn spans(
    buckets: BTreeMap<u64, String>,
    flow: &FlowSummary,
    width_us: u64,
    modes: &mut Vec<String>,
) -> Vec<(f64, f64, usize)> {
    let mut spans: Vec<(f64, f64, usize)> = Vec::new();
    for (bucket, mode) in buckets {
        let index = modes.iter().position(|known| *known == mode).unwrap_or_else(|| {
            modes.push(mode);
            modes.len() - 1
        });
        let start_s = ((bucket * width_us) as f64 / US_PER_S).max(flow.start_s);
        match spans.last_mut() {
            Some(last) if last.2 == index => {}
            Some(last) => {
                last.1 = start_s;
                spans.push((start_s, start_s, index));
            }
            None => spans.push((start_s, start_s, index)),
        }
    }
    if let Some(last) = spans.last_mut() {
        last.1 = flow.end_s.max(last.0);
    }
    spans
}
