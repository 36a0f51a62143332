//! Time series for the page and the still figures: few enough points for a phone, with the extremes kept.
//!
//! RTT and window are reduced to the smallest and the largest value of each bucket of time, in the order in which
//! they occurred, so a spike of one row is still drawn. Goodput is averaged over wider buckets, because bytes per row
//! say nothing. A phase bucket shows the phase that lasted longest in it.
//!
//! Goodput over time is drawn from the packets *delivered*, each with the flow's mean payload. `bytes_acked` stands
//! still while a hole is repaired and then jumps: it would draw a stop and a burst faster than the link at each loss.

mod across;
mod distributions;
mod events;
mod extremes;
mod model;
mod phases;

use std::ops::RangeInclusive;

use polars::prelude::*;

use crate::columns::FlowKey;
use crate::measure::inner;
use crate::measure::intervals::{Intervals, PerInterval};
use crate::recording::{Recording, ValueInfo};
use crate::summary::{AlgorithmChange, FlowSummary, RecordingSummary};
use crate::{Error, Options, labels, steps};

pub use across::{Across, HeatCell, HeatMap, Sweep, SweepLine, SweepPoint, across, plain};
pub use model::{Bound, Charts, Ecdf, EventMark, FlowCharts, InnerChart, JainSeries, Series, SwapMark};

const US_PER_S: f64 = 1e6;
const BITS_PER_BYTE: f64 = 8.0;
/// Flows drawn at most: more cannot be told apart. The ones that moved most data are drawn.
pub const MAX_FLOWS: usize = 16;
/// Buckets of RTT and window, shared out among the flows of a recording …
const SAMPLE_BUCKETS: u64 = 6000;
const SAMPLE_BUCKETS_PER_FLOW: RangeInclusive<u64> = 150..=2500;
/// Buckets in which the longest phase is found, shared out in the same way.
const PHASE_BUCKETS: u64 = 12_000;
const PHASE_BUCKETS_PER_FLOW: RangeInclusive<u64> = 750..=6000;
/// … of which a page may hold so many before they get fewer each, so that the page stays small.
const FULL_RECORDINGS: u64 = 4;
/// Buckets in which losses and timeouts are one mark.
const EVENT_BUCKETS: u64 = 400;
/// Bounds that an algorithm may set to what is in flight: column, and name in the papers.
const BOUNDS: [(&str, &str); 2] = [("trace_inflight_hi_pkts", "inflight_hi"), ("trace_inflight_lo_pkts", "inflight_lo")];
/// Throughput has at most this many buckets …
const RATE_BUCKETS: u64 = 600;
/// … of one of these widths; longer recordings get multiples of the last.
const RATE_WIDTHS_US: [u64; 4] = [100_000, 200_000, 500_000, 1_000_000];

/// Reads the rows once more and reduces them, to what is one of `recordings` on a page.
pub fn charts(
    recording: &Recording,
    summary: &RecordingSummary,
    options: &Options,
    recordings: usize,
) -> Result<Charts, Error> {
    let drawn = drawn_flows(summary);
    let span_us = (((summary.to_s - summary.from_s) * US_PER_S) as u64).max(1);
    let widths = Widths::new(span_us, drawn.len() as u64, recordings as u64);
    let extremes_of = |column| extremes::fold(column, widths.sample_us);
    let mut samples = ["rtt_us", "cwnd_pkts"].map(extremes_of);
    let mut bounds = BOUNDS.map(|(column, _)| extremes_of(column));
    let mut inner = inner::COLUMNS.map(extremes_of);
    let mut delivered = Intervals::new("delivered_pkts", widths.rate_us);
    let mut sent = Intervals::new("bytes_sent", widths.rate_us);
    let mut phases = phases::fold(widths.phase_us);
    let mut events = events::fold(widths.event_us);
    steps::for_each_batch(recording, options.window_us()?, |steps| {
        for fold in samples.iter_mut().chain(&mut bounds).chain(&mut inner) {
            fold.push(steps)?;
        }
        delivered.push(steps)?;
        sent.push(steps)?;
        phases.push(steps)?;
        events.push(steps)
    })?;
    let read = || {
        let read = |fold| extremes::read(fold, widths.sample_us);
        let [rtt, cwnd] = samples.map(read);
        let bounds = bounds.into_iter().map(read).collect::<PolarsResult<Vec<_>>>()?;
        let inner = inner.into_iter().map(read).collect::<PolarsResult<Vec<_>>>()?;
        let events = events::read(events, widths.event_us)?;
        Ok((rtt?, cwnd?, bounds, inner, delivered.finish()?, sent.finish()?, phases::read(phases)?, events))
    };
    let (mut rtt, mut cwnd, mut bounds, mut inner, delivered, sent, mut phases, mut events) =
        read().map_err(Error::rows(recording.path()))?;
    let mut modes = Vec::new();
    let series = |buckets: Option<extremes::Buckets>, unit| {
        extremes::series(buckets.unwrap_or_default(), widths.sample_us, unit)
    };
    let flows = drawn
        .into_iter()
        .map(|flow| {
            let key = FlowKey { netns: flow.netns, flow_id: flow.flow_id };
            let payload_bits = flow.measures.acked_bytes as f64 * BITS_PER_BYTE / total(&delivered, key).max(1.0);
            FlowCharts {
                name: flow.name.clone(),
                algorithm: flow.algorithm.clone(),
                color: color(summary, flow),
                rate: rate_series(&delivered, key, flow, payload_bits, widths.rate_us),
                sent: rate_series(&sent, key, flow, BITS_PER_BYTE, widths.rate_us),
                rtt: series(rtt.remove(&key), 1e3),
                cwnd: series(cwnd.remove(&key), 1.0),
                bounds: BOUNDS
                    .iter()
                    .zip(&mut bounds)
                    .filter_map(|((_, name), values)| Some((name, values.remove(&key)?)))
                    .map(|(name, buckets)| Bound { name, series: series(Some(buckets), 1.0) })
                    .collect(),
                inner: inner_labels(recording, flow)
                    .into_iter()
                    .zip(&mut inner)
                    .filter_map(|(label, values)| Some((label?, values.remove(&key)?)))
                    .map(|(label, buckets)| InnerChart {
                        series: series(Some(buckets), extremes::chart_unit(&label.name)),
                        name: label.name,
                        doc: label.doc,
                    })
                    .collect(),
                phases: phases::spans(phases.remove(&key).unwrap_or_default(), flow, widths.phase_us, &mut modes),
                swaps: flow.changes.iter().map(swap_mark).collect(),
                events: events.remove(&key).unwrap_or_default(),
            }
        })
        .collect();
    Ok(Charts {
        sample_bucket_s: widths.sample_us as f64 / US_PER_S,
        rate_bucket_s: widths.rate_us as f64 / US_PER_S,
        phase_bucket_s: widths.phase_us as f64 / US_PER_S,
        event_bucket_s: widths.event_us as f64 / US_PER_S,
        modes,
        flows,
        rtt_ecdf: distributions::ecdfs(summary, |a| (&a.rtt_quantiles_us, a.measures.rtt_samples)),
        fct_ecdf: distributions::ecdfs(summary, |a| {
            (&a.completion_quantiles_us, a.connections.completion.map_or(0, |times| times.n))
        }),
        jain: summary.fairness.as_ref().and_then(distributions::jain),
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
    event_us: u64,
}

impl Widths {
    fn new(span_us: u64, flows: u64, recordings: u64) -> Widths {
        let share = |buckets: u64, per_flow: RangeInclusive<u64>| {
            let of_recording = buckets * FULL_RECORDINGS / recordings.max(FULL_RECORDINGS);
            (of_recording / flows.max(1)).clamp(*per_flow.start(), *per_flow.end())
        };
        let fits = |width: &&u64| span_us.div_ceil(**width) <= RATE_BUCKETS;
        let widest = RATE_WIDTHS_US[RATE_WIDTHS_US.len() - 1];
        let rate_us = RATE_WIDTHS_US.iter().find(fits).copied();
        Widths {
            sample_us: span_us.div_ceil(share(SAMPLE_BUCKETS, SAMPLE_BUCKETS_PER_FLOW)).max(1000),
            rate_us: rate_us.unwrap_or_else(|| span_us.div_ceil(RATE_BUCKETS).next_multiple_of(widest)),
            phase_us: span_us.div_ceil(share(PHASE_BUCKETS, PHASE_BUCKETS_PER_FLOW)).max(1000),
            event_us: span_us.div_ceil(EVENT_BUCKETS).max(1000),
        }
    }
}

/// Increase over the whole run.
fn total(increases: &PerInterval, key: FlowKey) -> f64 {
    increases.get(&key).map_or(0.0, |amounts| amounts.values().sum())
}

/// Mbit/s from a counter of which one is so many bits.
fn rate_series(increases: &PerInterval, key: FlowKey, flow: &FlowSummary, bits: f64, width_us: u64) -> Series {
    let bucket = |s: f64| (s * US_PER_S).round() as u64 / width_us;
    let increases = increases.get(&key);
    let mut series = Series::default();
    // The last bucket is cut short by the end of the flow and would look like a loss of speed.
    for interval in bucket(flow.start_s)..bucket(flow.end_s) {
        let in_it = increases.and_then(|p| p.get(&interval)).copied().unwrap_or(0.0);
        series.t.push((interval * width_us + width_us / 2) as f64 / US_PER_S);
        // Bits per µs are Mbit/s.
        series.v.push(Some(round(in_it * bits / width_us as f64)));
    }
    series
}

/// Three decimals are below a pixel and halve the size of the page.
fn round(value: f64) -> f64 {
    (value * 1e3).round() / 1e3
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_flows_or_recordings_get_coarser_buckets() {
        let widths = |flows, recordings| {
            let widths = Widths::new(60_000_000, flows, recordings);
            [widths.sample_us, widths.phase_us]
        };
        assert_eq!(widths(1, 1), [24_000, 10_000]);
        assert_eq!(widths(16, 4), [160_000, 80_000]);
        assert_eq!(widths(4, 8), [80_000, 40_000]);
        assert_eq!(widths(16, 100), [400_000, 80_000]);
    }

    #[test]
    fn the_rate_buckets_widen_with_the_recording() {
        let width = |seconds: u64| Widths::new(seconds * 1_000_000, 2, 1).rate_us;
        assert_eq!(
            [width(10), width(60), width(61), width(150), width(600), width(3600)],
            [100_000, 100_000, 200_000, 500_000, 1_000_000, 6_000_000]
        );
    }

}
