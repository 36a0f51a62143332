//! Losses and timeouts as marks, few enough to be told apart.

use std::collections::HashMap;

use polars::prelude::*;

use super::{EventMark, US_PER_S};
use crate::columns::{FlowKey, counts, flow_keys};
use crate::fold::{Agg, Fold};
use crate::steps;

/// Lost packets and timeouts per flow and bucket.
pub fn fold(width_us: u64) -> Fold {
    let mut keys = steps::flow();
    keys.push(col("t_us").floor_div(lit(width_us as i64)).alias("bucket"));
    let counters = vec![("lost", Agg::Sum, col("d_lost_pkts")), ("rtos", Agg::Sum, col("d_rto_count"))];
    let happened = col("d_lost_pkts").gt(lit(0)).or(col("d_rto_count").gt(lit(0)));
    Fold::new(keys, counters).filtered(happened)
}

/// The marks of each flow in the order of time.
pub fn read(fold: Fold, width_us: u64) -> PolarsResult<HashMap<FlowKey, Vec<EventMark>>> {
    let mut flows: HashMap<FlowKey, Vec<EventMark>> = HashMap::new();
    let Some(frame) = fold.finish()? else { return Ok(flows) };
    let happened = counts(&frame, "lost")?.into_iter().zip(counts(&frame, "rtos")?);
    let buckets = counts(&frame, "bucket")?.into_iter().zip(happened);
    for (flow, (bucket, (lost_pkts, rtos))) in flow_keys(&frame)?.into_iter().zip(buckets) {
        let at_s = (bucket * width_us + width_us / 2) as f64 / US_PER_S;
        flows.entry(flow).or_default().push(EventMark { at_s, lost_pkts, rtos });
    }
    for marks in flows.values_mut() {
        marks.sort_by(|a, b| a.at_s.total_cmp(&b.at_s));
    }
    Ok(flows)
}
