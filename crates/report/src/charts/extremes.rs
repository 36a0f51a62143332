//! Smallest and largest value of each bucket, in the order in which they occurred.

use std::collections::{BTreeMap, HashMap};

use polars::prelude::*;

use super::{Series, US_PER_S};
use crate::columns::{FlowKey, counts, flow_keys, i64s};
use crate::fold::{Agg, Fold};
use crate::steps;

/// A silence of this many buckets, and of this many times the flow's mean distance between samples, is a gap.
const GAP_BUCKETS: u64 = 40;
const GAP_DISTANCES: u64 = 8;
/// The lower half of a packed extreme holds the offset within the bucket.
const PACK_BITS: i64 = 1 << 31;
const BITS_PER_KBIT: i64 = 1000;

/// Smallest and largest value per bucket, each packed with its time in the bucket so that one `min` finds both.
pub fn fold(column: &'static str, width_us: u64) -> Fold {
    let width = lit(width_us as i64);
    let offset = col("t_us") - col("t_us").floor_div(width.clone()) * width.clone();
    // Bits per second would not fit beside the time.
    let value = if column.ends_with("_bps") { col(column).floor_div(lit(BITS_PER_KBIT)) } else { col(column) };
    let packed = value.clip(lit(-PACK_BITS), lit(PACK_BITS)) * lit(PACK_BITS) + offset;
    let mut keys = steps::flow();
    keys.push(col("t_us").floor_div(width).alias("bucket"));
    Fold::new(keys, vec![("least", Agg::Min, packed.clone()), ("most", Agg::Max, packed)])
        .filtered(col(column).is_not_null())
}

/// Per bucket the two extremes in the order of time.
pub type Buckets = BTreeMap<u64, [(u64, i64); 2]>;

pub fn read(fold: Fold, width_us: u64) -> PolarsResult<HashMap<FlowKey, Buckets>> {
    let mut flows: HashMap<FlowKey, Buckets> = HashMap::new();
    let Some(frame) = fold.finish()? else { return Ok(flows) };
    let values =
        counts(&frame, "bucket")?.into_iter().zip(i64s(&frame, "least")?.into_iter().zip(i64s(&frame, "most")?));
    for (flow, (bucket, (least, most))) in flow_keys(&frame)?.into_iter().zip(values) {
        let unpack = |packed: Option<i64>| {
            let packed = packed.unwrap_or(0);
            (bucket * width_us + packed.rem_euclid(PACK_BITS) as u64, packed.div_euclid(PACK_BITS))
        };
        let mut pair = [unpack(least), unpack(most)];
        pair.sort_unstable();
        flows.entry(flow).or_default().insert(bucket, pair);
    }
    Ok(flows)
}

/// How many of a packed value make one of the chart's.
pub fn chart_unit(name: &str) -> f64 {
    if matches!(name, "bw_bps" | "min_rtt_us") { 1e3 } else { 1.0 }
}

pub fn series(buckets: Buckets, width_us: u64, unit: f64) -> Series {
    let mut series = Series::default();
    let mut previous: Option<u64> = None;
    let span = buckets.keys().next_back().zip(buckets.keys().next()).map_or(0, |(last, first)| last - first);
    let mean_distance = span / (buckets.len() as u64).saturating_sub(1).max(1);
    let gap = GAP_BUCKETS.max(GAP_DISTANCES * mean_distance);
    for (bucket, pair) in buckets {
        // Points sit at two fixed places of their bucket, so that the flows share their x values.
        let at = |quarter: u64| (bucket * width_us + quarter * width_us / 4) as f64 / US_PER_S;
        if previous.is_some_and(|previous| bucket - previous > gap) {
            series.t.push(at(0));
            series.v.push(None);
        }
        previous = Some(bucket);
        let [(_, first), (_, second)] = pair;
        series.t.push(at(1));
        series.v.push(Some(first as f64 / unit));
        if first != second {
            series.t.push(at(3));
            series.v.push(Some(second as f64 / unit));
        }
    }
    series
}

#[cfg(test)]
mod tests {
    use super::series;

    #[test]
    fn a_long_silence_is_a_gap() {
        let one = |bucket: u64| (bucket, [(bucket * 1000, 5), (bucket * 1000 + 10, 9)]);
        let series = series((0..20).chain(100..120).map(one).collect(), 1000, 1.0);
        let gaps: Vec<f64> = series.t.iter().zip(&series.v).filter(|(_, v)| v.is_none()).map(|(t, _)| *t).collect();
        assert_eq!(gaps, [0.1]);
        assert_eq!(series.v[..2], [Some(5.0), Some(9.0)]);
        assert_eq!(series.t[..2], [0.000_25, 0.000_75]);
    }

    #[test]
    fn samples_that_are_all_far_apart_are_one_line() {
        let one = |bucket: u64| (bucket, [(bucket * 1000, 5), (bucket * 1000, 5)]);
        let series = series((0..20).map(|i| one(i * 100)).collect(), 1000, 1.0);
        assert_eq!(series.v, vec![Some(5.0); 20]);
    }
}
