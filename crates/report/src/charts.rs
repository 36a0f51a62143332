//! Time series for the page: few enough points for a phone, with the extremes kept.
//!
//! RTT and window are reduced to the smallest and the largest value of each bucket of time, in the order in which
//! they occurred, so a spike of one row is still drawn. Goodput is averaged over wider buckets, because bytes per row
//! say nothing. A phase bucket shows the phase that lasted longest in it.
//!
//! Goodput over time is drawn from the packets *delivered*, each with the flow's mean payload. `bytes_acked` stands
//! still while a hole is repaired and then jumps: it would draw a stop and a burst faster than the link at each loss.

use std::collections::{BTreeMap, HashMap};

use polars::prelude::*;
use serde::Serialize;

use crate::columns::{FlowKey, counts, flow_keys, i64s, texts};
use crate::fold::{Agg, Fold};
use crate::measure::inner;
use crate::measure::intervals::{Intervals, PerInterval};
use crate::recording::{Recording, ValueInfo};
use crate::summary::{AlgorithmChange, FlowSummary, RecordingSummary};
use crate::{Error, Options, labels, steps};

const US_PER_S: f64 = 1e6;
const BITS_PER_BYTE: f64 = 8.0;
/// Flows drawn at most: more cannot be told apart. The ones that moved most data are drawn.
pub const MAX_FLOWS: usize = 16;
/// Buckets of RTT and window, shared out among the flows.
const SAMPLE_BUCKETS: u64 = 6000;
const SAMPLE_BUCKETS_PER_FLOW: std::ops::RangeInclusive<u64> = 400..=2500;
/// Buckets in which the longest phase is found.
const PHASE_BUCKETS: u64 = 6000;
/// Throughput has at most this many buckets …
const RATE_BUCKETS: u64 = 600;
/// … of one of these widths; longer recordings get multiples of the last.
const RATE_WIDTHS_US: [u64; 4] = [100_000, 200_000, 500_000, 1_000_000];
/// A silence of this many buckets, and of this many times the flow's mean distance between samples, is a gap.
const GAP_BUCKETS: u64 = 40;
const GAP_DISTANCES: u64 = 8;
/// The lower half of a packed extreme holds the offset within the bucket.
const PACK_BITS: i64 = 1 << 31;
const BITS_PER_KBIT: i64 = 1000;

/// Everything that the charts of one recording draw.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Charts {
    /// Width of the buckets of RTT and window.
    pub sample_bucket_s: f64,
    /// Width of the buckets of throughput.
    pub rate_bucket_s: f64,
    /// Width of the buckets of phases.
    pub phase_bucket_s: f64,
    /// Names of the phases; [`FlowCharts::phases`] holds indices.
    pub modes: Vec<String>,
    /// One entry per drawn flow.
    pub flows: Vec<FlowCharts>,
}

/// The series of one flow.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FlowCharts {
    /// As in the summary.
    pub name: String,
    /// As in the summary.
    pub algorithm: String,
    /// `#rrggbb` of the algorithm that ran first.
    pub color: String,
    /// Goodput in Mbit/s.
    pub rate: Series,
    /// RTT in ms.
    pub rtt: Series,
    /// Window in packets.
    pub cwnd: Series,
    /// What the algorithm published about its inner state.
    pub inner: Vec<InnerChart>,
    /// Start, end (seconds) and index of each phase.
    pub phases: Vec<(f64, f64, usize)>,
    /// When the flow was given another algorithm.
    pub swaps: Vec<SwapMark>,
}

/// A change of algorithm, to be marked in the charts.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SwapMark {
    /// Seconds since the start of the recording.
    pub at_s: f64,
    /// Algorithm from then on.
    pub to: String,
    /// Its `#rrggbb`.
    pub color: String,
}

/// One value of an algorithm's inner state over time.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct InnerChart {
    /// Name in the registry, with its unit.
    pub name: String,
    /// What it is.
    pub doc: String,
    /// The values; `bw_bps` in Mbit/s, `min_rtt_us` in ms, others as they are named.
    pub series: Series,
}

/// Points of a line; a value of `None` is a gap.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Series {
    /// Seconds since the start of the recording.
    pub t: Vec<f64>,
    /// Values.
    pub v: Vec<Option<f64>>,
}

/// Reads the rows once more and reduces them.
pub fn charts(recording: &Recording, summary: &RecordingSummary, options: &Options) -> Result<Charts, Error> {
    let drawn = drawn_flows(summary);
    let span_us = (((summary.to_s - summary.from_s) * US_PER_S) as u64).max(1);
    let widths = Widths::new(span_us, drawn.len() as u64);
    let mut samples = [extremes("rtt_us", widths.sample_us), extremes("cwnd_pkts", widths.sample_us)];
    let mut inner = inner::COLUMNS.map(|column| extremes(column, widths.sample_us));
    let mut rates = Intervals::new("delivered_pkts", widths.rate_us);
    let mut phases = phase_fold(widths.phase_us);
    steps::for_each_batch(recording, options.window_us()?, |steps| {
        for fold in samples.iter_mut().chain(&mut inner) {
            fold.push(steps)?;
        }
        rates.push(steps)?;
        phases.push(steps)
    })?;
    let read = || {
        let [rtt, cwnd] = samples.map(|fold| read_extremes(fold, widths.sample_us));
        let inner =
            inner.map(|fold| read_extremes(fold, widths.sample_us)).into_iter().collect::<PolarsResult<Vec<_>>>();
        Ok((rtt?, cwnd?, inner?, rates.finish()?, read_phases(phases)?))
    };
    let (mut rtt, mut cwnd, mut inner, rates, mut phases) = read().map_err(Error::rows(recording.path()))?;
    let mut modes = Vec::new();
    let flows = drawn
        .into_iter()
        .map(|flow| {
            let key = FlowKey { netns: flow.netns, flow_id: flow.flow_id };
            FlowCharts {
                name: flow.name.clone(),
                algorithm: flow.algorithm.clone(),
                color: color(summary, flow),
                rate: rate_series(&rates, key, flow, widths.rate_us),
                rtt: sample_series(rtt.remove(&key).unwrap_or_default(), widths.sample_us, 1e3),
                cwnd: sample_series(cwnd.remove(&key).unwrap_or_default(), widths.sample_us, 1.0),
                inner: inner_labels(recording, flow)
                    .into_iter()
                    .zip(&mut inner)
                    .filter_map(|(label, values)| Some((label?, values.remove(&key)?)))
                    .map(|(label, buckets)| InnerChart {
                        series: sample_series(buckets, widths.sample_us, chart_unit(&label.name)),
                        name: label.name,
                        doc: label.doc,
                    })
                    .collect(),
                swaps: flow.changes.iter().map(swap_mark).collect(),
                phases: phase_spans(phases.remove(&key).unwrap_or_default(), flow, widths.phase_us, &mut modes),
            }
        })
        .collect();
    Ok(Charts {
        sample_bucket_s: widths.sample_us as f64 / US_PER_S,
        rate_bucket_s: widths.rate_us as f64 / US_PER_S,
        phase_bucket_s: widths.phase_us as f64 / US_PER_S,
        modes,
        flows,
    })
}

fn drawn_flows(summary: &RecordingSummary) -> Vec<&FlowSummary> {
    let mut by_bytes: Vec<usize> = (0..summary.flows.len()).collect();
    by_bytes.sort_by_key(|&i| std::cmp::Reverse(summary.flows[i].measures.acked_bytes));
    by_bytes.truncate(MAX_FLOWS);
    by_bytes.sort_unstable();
    by_bytes.into_iter().map(|i| &summary.flows[i]).collect()
}

/// The free values mean something else with every algorithm: a flow that changed its own has only those that all name alike.
fn inner_labels(recording: &Recording, flow: &FlowSummary) -> [Option<ValueInfo>; 4] {
    let [bandwidth, min_rtt, v0, v1] = labels::inner_labels(recording.metadata(), &flow.kernel_name);
    let kept = flow.changes.is_empty();
    [bandwidth, min_rtt, v0.filter(|_| kept), v1.filter(|_| kept)]
}

fn swap_mark(change: &AlgorithmChange) -> SwapMark {
    SwapMark { at_s: change.at_s, to: change.to.clone(), color: change.color.clone() }
}

fn color(summary: &RecordingSummary, flow: &FlowSummary) -> String {
    let algorithm = summary.algorithms.iter().find(|a| a.kernel_name == flow.kernel_name);
    algorithm.map_or_else(|| "#777777".to_owned(), |a| a.color.clone())
}

struct Widths {
    sample_us: u64,
    rate_us: u64,
    phase_us: u64,
}

impl Widths {
    fn new(span_us: u64, flows: u64) -> Widths {
        let per_flow =
            (SAMPLE_BUCKETS / flows.max(1)).clamp(*SAMPLE_BUCKETS_PER_FLOW.start(), *SAMPLE_BUCKETS_PER_FLOW.end());
        let fits = |width: &&u64| span_us.div_ceil(**width) <= RATE_BUCKETS;
        let widest = RATE_WIDTHS_US[RATE_WIDTHS_US.len() - 1];
        let rate_us = RATE_WIDTHS_US.iter().find(fits).copied();
        Widths {
            sample_us: span_us.div_ceil(per_flow).max(1000),
            rate_us: rate_us.unwrap_or_else(|| span_us.div_ceil(RATE_BUCKETS).next_multiple_of(widest)),
            phase_us: span_us.div_ceil(PHASE_BUCKETS).max(1000),
        }
    }
}

/// Smallest and largest value per bucket, each packed with its time in the bucket so that one `min` finds both.
fn extremes(column: &'static str, width_us: u64) -> Fold {
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
type Buckets = BTreeMap<u64, [(u64, i64); 2]>;

fn read_extremes(fold: Fold, width_us: u64) -> PolarsResult<HashMap<FlowKey, Buckets>> {
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
fn chart_unit(name: &str) -> f64 {
    if matches!(name, "bw_bps" | "min_rtt_us") { 1e3 } else { 1.0 }
}

fn sample_series(buckets: Buckets, width_us: u64, unit: f64) -> Series {
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

fn rate_series(delivered: &PerInterval, key: FlowKey, flow: &FlowSummary, width_us: u64) -> Series {
    let bucket = |s: f64| (s * US_PER_S).round() as u64 / width_us;
    let packets = delivered.get(&key);
    let all_packets: f64 = packets.map_or(0.0, |p| p.values().sum());
    let bits_per_packet = flow.measures.acked_bytes as f64 * BITS_PER_BYTE / all_packets.max(1.0);
    let mut series = Series::default();
    // The last bucket is cut short by the end of the flow and would look like a loss of speed.
    for interval in bucket(flow.start_s)..bucket(flow.end_s) {
        let in_it = packets.and_then(|p| p.get(&interval)).copied().unwrap_or(0.0);
        series.t.push((interval * width_us + width_us / 2) as f64 / US_PER_S);
        // Bits per µs are Mbit/s.
        series.v.push(Some(round(in_it * bits_per_packet / width_us as f64)));
    }
    series
}

/// Three decimals are below a pixel and halve the size of the page.
fn round(value: f64) -> f64 {
    (value * 1e3).round() / 1e3
}

fn phase_fold(width_us: u64) -> Fold {
    let mut keys = steps::flow();
    keys.push(col("prev_t_us").floor_div(lit(width_us as i64)).alias("bucket"));
    keys.push(col("prev_trace_mode"));
    Fold::new(keys, vec![("time_us", Agg::Sum, col("dt_us"))]).filtered(col("prev_trace_mode").is_not_null())
}

/// The phase that lasted longest, per bucket in which a phase was seen.
fn read_phases(fold: Fold) -> PolarsResult<HashMap<FlowKey, BTreeMap<u64, String>>> {
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
fn phase_spans(
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_buckets_widen_with_the_recording() {
        let width = |seconds: u64| Widths::new(seconds * 1_000_000, 2).rate_us;
        assert_eq!(
            [width(10), width(60), width(61), width(150), width(600), width(3600)],
            [100_000, 100_000, 200_000, 500_000, 1_000_000, 6_000_000]
        );
    }

    #[test]
    fn a_long_silence_is_a_gap() {
        let one = |bucket: u64| (bucket, [(bucket * 1000, 5), (bucket * 1000 + 10, 9)]);
        let series = sample_series((0..20).chain(100..120).map(one).collect(), 1000, 1.0);
        let gaps: Vec<f64> = series.t.iter().zip(&series.v).filter(|(_, v)| v.is_none()).map(|(t, _)| *t).collect();
        assert_eq!(gaps, [0.1]);
        assert_eq!(series.v[..2], [Some(5.0), Some(9.0)]);
        assert_eq!(series.t[..2], [0.000_25, 0.000_75]);
    }

    #[test]
    fn samples_that_are_all_far_apart_are_one_line() {
        let one = |bucket: u64| (bucket, [(bucket * 1000, 5), (bucket * 1000, 5)]);
        let series = sample_series((0..20).map(|i| one(i * 100)).collect(), 1000, 1.0);
        assert_eq!(series.v, vec![Some(5.0); 20]);
    }
}
