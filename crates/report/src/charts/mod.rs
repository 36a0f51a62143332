//! Time series for the page and the still figures: few enough points for a phone, with the extremes kept.
//!
//! RTT and window are reduced to the smallest and the largest value of each bucket of time, in the order in which
//! they occurred, so a spike of one row is still drawn. Goodput is averaged over wider buckets, because bytes per row
//! say nothing. A phase bucket shows the phase that lasted longest in it.
//!
//! Goodput over time is drawn from the packets *delivered*, each with the flow's mean payload. `bytes_acked` stands
//! still while a hole is repaired and then jumps: it would draw a stop and a burst faster than the link at each loss.

mod across;
mod different;
mod distributions;
mod events;
mod groups;
mod lines;
mod model;
mod phases;
mod sequence;
mod series;
mod widths;

use std::collections::{BTreeMap, HashMap};

use crate::measure::amounts::Amounts;
use crate::summary::{AlgorithmChange, FlowSummary, RecordingSummary, Side, Summary};
use crate::walk::{BOUNDS, FlowKey, Names, walk};
use crate::{Error, Options, labels};
use ccactl_recording::read::{Recording, ValueInfo};

pub use across::{Across, HeatCell, HeatMap, Sweep, SweepLine, SweepPoint, across, plain};
pub use different::flows as different;
use groups::Member;
pub use groups::{FEW, group_of};
use lines::Lines;
pub use model::{Band, Bound, Charts, Ecdf, EventMark, FlowCharts, GroupCharts, InnerChart, JainSeries, SwapMark};
pub use sequence::Sequence;
pub use series::Series;
use widths::{Widths, round};

use crate::scale::{BITS_PER_BYTE, BITS_PER_MBIT, US_PER_MS, US_PER_S};
/// Names in the papers of [`BOUNDS`].
const BOUND_NAMES: [&str; BOUNDS.len()] = ["inflight_hi", "inflight_lo"];
/// Flows drawn at most: more cannot be told apart. Those are drawn that differ most from their group, and that moved most data.
pub const MAX_FLOWS: usize = 16;
/// What the page and the still figures draw of each recording. The rows are read for it once more; whoever makes a page and
/// figures hands them the same charts.
///
/// # Errors
/// When a recording cannot be read.
pub fn charts(recordings: &[Recording], summary: &Summary, options: &Options) -> Result<Vec<Charts>, Error> {
    let of_each = recordings.iter().zip(&summary.recordings);
    of_each.map(|(recording, of_it)| of_recording(recording, of_it, options, recordings.len())).collect()
}

/// The charts of one of `recordings` that share a page.
fn of_recording(
    recording: &Recording,
    summary: &RecordingSummary,
    options: &Options,
    recordings: usize,
) -> Result<Charts, Error> {
    let drawn = drawn_flows(summary);
    let span_us = (((summary.to_s - summary.from_s) * US_PER_S) as u64).max(1);
    let widths = Widths::new(span_us, drawn.len() as u64, recordings as u64);
    let mut lines: Vec<Lines> = drawn.iter().map(|_| Lines::new(&widths)).collect();
    let is_drawn: HashMap<FlowKey, usize> = drawn.iter().enumerate().map(|(i, flow)| (key_of(flow), i)).collect();
    let group_us = groups::width_us(span_us, summary.flows.len() as u64, summary.rows);
    let is_grouped = summary.flows.len() > FEW;
    let mut members: Vec<Member> = Vec::new();
    if is_grouped {
        members.resize_with(summary.flows.len(), Member::default);
    }
    let member_of_key: HashMap<FlowKey, usize> = if is_grouped {
        summary.flows.iter().enumerate().map(|(i, flow)| (key_of(flow), i)).collect()
    } else {
        HashMap::new()
    };
    // By number of the flow in the walk.
    let mut line_of: Vec<Option<usize>> = Vec::new();
    let mut member_of: Vec<Option<usize>> = Vec::new();
    let walked = walk(recording, options.window_us()?, &lines::columns(), |batch| {
        for run in batch.runs() {
            if run.flow == line_of.len() {
                line_of.push(is_drawn.get(&run.key).copied());
                member_of.push(member_of_key.get(&run.key).copied());
            }
            if let Some(member) = member_of[run.flow] {
                members[member].add(&run, group_us);
            }
            if let Some(line) = line_of[run.flow] {
                lines[line].add(&run, &widths);
            }
        }
    })?;
    let mut modes = Vec::new();
    let context = Context { recording, summary, widths: &widths, names: &walked.names };
    let flows =
        drawn.into_iter().zip(lines).map(|(flow, lines)| context.flow_charts(flow, lines, &mut modes)).collect();
    Ok(Charts {
        sample_bucket_s: widths.sample_us as f64 / US_PER_S,
        rate_bucket_s: widths.rate_us as f64 / US_PER_S,
        phase_bucket_s: widths.phase_us as f64 / US_PER_S,
        event_bucket_s: widths.event_us as f64 / US_PER_S,
        place_bucket_s: widths.place_us as f64 / US_PER_S,
        modes,
        flows,
        groups: if is_grouped { groups::charts(summary, members, group_us) } else { Vec::new() },
        group_bucket_s: if is_grouped { group_us as f64 / US_PER_S } else { 0.0 },
        rtt_ecdf: distributions::ecdfs(summary, |a| (&a.rtt_quantiles_us, a.measures.rtt_samples)),
        fct_ecdf: distributions::ecdfs(summary, |a| {
            (&a.completion_quantiles_us, a.connections.completion.map_or(0, |times| times.n))
        }),
        jain: summary.fairness.as_ref().and_then(distributions::jain),
    })
}

/// What the charts of all flows of a recording have in common.
struct Context<'a> {
    recording: &'a Recording,
    summary: &'a RecordingSummary,
    widths: &'a Widths,
    names: &'a Names,
}

impl Context<'_> {
    fn flow_charts(&self, flow: &FlowSummary, lines: Lines, modes: &mut Vec<String>) -> FlowCharts {
        let widths = self.widths;
        let series = |buckets, unit| series::line(buckets, widths.sample_us, unit);
        let delivered = by_interval(lines.delivered);
        let delivered_pkts: f64 = delivered.values().sum();
        let payload_bits = flow.measures.acked_bytes as f64 * BITS_PER_BYTE / delivered_pkts.max(1.0);
        let bounds = BOUND_NAMES.into_iter().zip(lines.bounds);
        let inner = inner_labels(self.recording, flow).into_iter().zip(lines.inner);
        FlowCharts {
            name: flow.name.clone(),
            algorithm: flow.algorithm.clone(),
            color: self.summary.color_of(flow).unwrap_or("#777777").to_owned(),
            rate: rate_series(&delivered, flow, payload_bits, widths.rate_us),
            sent: rate_series(&by_interval(lines.sent), flow, BITS_PER_BYTE, widths.rate_us),
            rtt: series(lines.rtt, US_PER_MS),
            cwnd: series(lines.cwnd, 1.0),
            bounds: bounds
                .map(|(name, buckets)| Bound { name, series: series(buckets, 1.0) })
                .filter(|bound| !bound.series.t.is_empty())
                .collect(),
            inner: inner
                .filter_map(|(label, buckets)| label.map(|label| (label, buckets)))
                .map(|(label, buckets)| InnerChart {
                    series: series(buckets, inner_unit(&label.name)),
                    name: label.name,
                    doc: label.doc,
                })
                .filter(|chart| !chart.series.t.is_empty())
                .collect(),
            phases: phases::spans(lines.phases, flow, widths.phase_us, self.names, modes),
            swaps: flow.changes.iter().map(swap_mark).collect(),
            events: events::marks(lines.events, widths.event_us),
            sequence: sequence::positions(lines.places),
        }
    }
}

fn key_of(flow: &FlowSummary) -> FlowKey {
    FlowKey { netns: flow.netns, flow_id: flow.flow_id }
}

/// How many of an inner value make one of the chart's: what has a name of its own is drawn as it is published.
fn inner_unit(name: &str) -> f64 {
    match name {
        "bw_bps" => BITS_PER_MBIT,
        "min_rtt_us" => US_PER_MS,
        _ => 1.0,
    }
}

fn drawn_flows(summary: &RecordingSummary) -> Vec<&FlowSummary> {
    let mut by_bytes: Vec<usize> = (0..summary.flows.len()).collect();
    by_bytes.sort_by_key(|&i| std::cmp::Reverse(summary.flows[i].measures.acked_bytes));
    // Of a roll-out both sides are drawn, whichever moved more.
    let side = |side: Side| by_bytes.iter().filter(move |&&i| summary.flows[i].side == Some(side)).take(MAX_FLOWS / 2);
    let different = if summary.flows.len() > FEW { different(summary) } else { Vec::new() };
    let of_sides: Vec<usize> = Side::ALL.into_iter().flat_map(side).copied().collect();
    let mut drawn: Vec<usize> = Vec::new();
    for i in different.into_iter().map(|(i, _)| i).chain(of_sides).chain(by_bytes.iter().copied()) {
        if drawn.len() < MAX_FLOWS && !drawn.contains(&i) {
            drawn.push(i);
        }
    }
    drawn.sort_unstable();
    drawn.into_iter().map(|i| &summary.flows[i]).collect()
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

fn by_interval(amounts: Amounts<f64>) -> BTreeMap<u64, f64> {
    amounts.into_sorted().into_iter().collect()
}

/// Mbit/s from the increase of a counter of which one is so many bits.
fn rate_series(increases: &BTreeMap<u64, f64>, flow: &FlowSummary, bits: f64, width_us: u64) -> Series {
    let bucket = |s: f64| (s * US_PER_S).round() as u64 / width_us;
    let mut series = Series::default();
    // The last bucket is cut short by the end of the flow and would look like a loss of speed.
    for interval in bucket(flow.start_s)..bucket(flow.end_s) {
        let in_it = increases.get(&interval).copied().unwrap_or(0.0);
        series.t.push((interval * width_us + width_us / 2) as f64 / US_PER_S);
        // Bits per µs are Mbit/s.
        series.v.push(Some(round(in_it * bits / width_us as f64)));
    }
    series
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
