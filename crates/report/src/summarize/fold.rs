//! One pass over the rows of a recording: everything that its summary is made of.

use std::collections::{BTreeMap, HashMap};

use crate::columns::FlowKey;
use crate::measure::changes;
use crate::measure::inner::{self, InnerState};
use crate::measure::intervals::{Intervals, PerInterval};
use crate::measure::phases::{self, PhaseTimes};
use crate::measure::rtt;
use crate::measure::swaps::{Swap, Swaps};
use crate::measure::totals::{self, Totals};
use crate::recording::Recording;
use crate::stats::Histogram;
use crate::{Error, Options, steps};

/// Everything that one pass over the rows folds.
pub struct Folded {
    /// Whether the file ends early.
    pub truncated: bool,
    /// Rows in the window, of all flows.
    pub rows: u64,
    /// Flows that were seen, idle ones included.
    pub all_flows: usize,
    /// Flows that sent data, in the order of their first rows.
    pub flows: Vec<Flow>,
    /// Acknowledged bytes per flow and interval.
    pub intervals: PerInterval,
}

/// One flow that sent data, split by algorithm.
pub struct Flow {
    /// Its identity.
    pub key: FlowKey,
    /// In the order in which they ran first; never empty.
    pub parts: Vec<Part>,
    /// When it was given another algorithm, and what that did.
    pub swaps: Vec<Swap>,
}

/// What a flow did while it ran one algorithm.
pub struct Part {
    /// Counters, window and times.
    pub totals: Totals,
    /// RTT samples.
    pub rtt: Histogram,
    /// Time per phase.
    pub phases: PhaseTimes,
    /// Inner state.
    pub inner: InnerState,
}

impl Flow {
    /// First row.
    pub fn first_us(&self) -> u64 {
        self.parts.iter().map(|part| part.totals.first_us).min().unwrap_or(0)
    }

    /// Last row that shows progress.
    pub fn progress_us(&self) -> u64 {
        self.parts.iter().map(|part| part.totals.progress_us).max().unwrap_or(0)
    }

    /// A counter over all algorithms that the flow ran.
    pub fn sum(&self, value: impl Fn(&Totals) -> u64) -> u64 {
        self.parts.iter().map(|part| value(&part.totals)).sum()
    }

    /// Time from the first row to the last progress.
    pub fn active_us(&self) -> u64 {
        self.progress_us().saturating_sub(self.first_us())
    }

    /// An algorithm that was replaced before the first data ran nothing; its rows belong to the next one.
    fn without_idle_start(mut self) -> Flow {
        let idle =
            |part: &Part| part.totals.time_us == 0 && part.totals.sent_bytes == 0 && part.totals.acked_bytes == 0;
        while self.parts.len() > 1 && idle(&self.parts[0]) {
            let start = self.parts.remove(0).totals;
            let next = &mut self.parts[0].totals;
            next.first_us = next.first_us.min(start.first_us);
            next.rows += start.rows;
        }
        self
    }

    /// One row can show that a flow sent data, but not how fast.
    fn sent_data(&self) -> bool {
        let one_row = self.sum(|t| t.rows) == 1;
        self.sum(|t| t.sent_bytes) > 0 || (one_row && self.sum(|t| t.sent_so_far_bytes) > 0)
    }
}

/// Goes through the rows once, and once more when a flow has changed its algorithm: what happened in the second
/// before a change is looked at when it is known that there is one.
pub fn fold(recording: &Recording, window_us: (u64, u64), options: &Options) -> Result<Folded, Error> {
    let (mut totals, mut rtt, mut phases, mut inner) = (totals::fold(), rtt::fold(), phases::fold(), inner::fold());
    let mut intervals = Intervals::new("bytes_acked", options.interval_us());
    let mut changes = Vec::new();
    let truncated = steps::for_each_batch(recording, window_us, |steps| {
        totals.push(steps)?;
        rtt.push(steps)?;
        phases.push(steps)?;
        inner.push(steps)?;
        intervals.push(steps)?;
        changes.extend(changes::find(steps)?);
        Ok(())
    })?;
    let read = || {
        let totals = totals.finish()?.map(|frame| totals::read(&frame)).transpose()?.unwrap_or_default();
        let rtt = rtt.finish()?.map(|frame| rtt::read(&frame)).transpose()?.unwrap_or_default();
        let phases = phases.finish()?.map(|frame| phases::read(&frame)).transpose()?.unwrap_or_default();
        let inner = inner.finish()?.map(|frame| inner::read(&frame)).transpose()?.unwrap_or_default();
        Ok((totals, rtt, phases, inner, intervals.finish()?))
    };
    let (totals, rtt, phases, inner, intervals) = read().map_err(Error::rows(recording.path()))?;
    let rows = totals.iter().map(|t| t.rows).sum();
    let mut swaps = Swaps::new(changes);
    if !swaps.is_empty() {
        steps::for_each_batch(recording, window_us, |steps| swaps.push(steps))?;
    }
    let flows = join(totals, rtt, phases, inner, swaps.finish());
    let all_flows = flows.len();
    let mut flows: Vec<Flow> = flows.into_iter().filter(Flow::sent_data).collect();
    flows.sort_by_key(|flow| (flow.first_us(), flow.key));
    Ok(Folded { truncated, rows, all_flows, flows, intervals })
}

fn join(
    totals: Vec<Totals>,
    mut rtt: HashMap<(FlowKey, String), Histogram>,
    mut phases: HashMap<(FlowKey, String), PhaseTimes>,
    mut inner: HashMap<(FlowKey, String), InnerState>,
    mut swaps: HashMap<FlowKey, Vec<Swap>>,
) -> Vec<Flow> {
    let mut flows: BTreeMap<FlowKey, Flow> = BTreeMap::new();
    for totals in totals {
        let key = (totals.flow, totals.kernel_name.clone());
        let part = Part {
            rtt: rtt.remove(&key).unwrap_or_default(),
            phases: phases.remove(&key).unwrap_or_default(),
            inner: inner.remove(&key).unwrap_or_default(),
            totals,
        };
        let flow = flows.entry(key.0).or_insert_with(|| Flow {
            key: key.0,
            parts: Vec::new(),
            swaps: swaps.remove(&key.0).unwrap_or_default(),
        });
        flow.parts.push(part);
    }
    flows.into_values().map(Flow::without_idle_start).collect()
}
