//! One pass over the rows of a recording: everything that its summary is made of.

use crate::measure::changes::Change;
use crate::measure::drops::{Drops, Span};
use crate::measure::inner;
use crate::measure::offers::{self, Offers};
use crate::measure::swaps::{self, Swap, Swaps};
use crate::measure::totals::Totals;
use crate::summarize::pools::Pools;
use crate::walk::{Batch, COUNTERS, Closing, Counter, Endpoints, FlowKey, Name, Names, Walked, walk};
use crate::{Error, Options};
use ccactl_recording::Column;
use ccactl_recording::read::{Extent, Metadata, Recording};

use super::flow_fold::{FlowFold, Part};
use super::intervals::Intervals;

/// The columns that the figures are made of, beside counters, inner state and offers.
const COLUMNS: [Column; 19] = [
    Column::TUs,
    Column::Event,
    Column::Netns,
    Column::FlowId,
    Column::CgroupId,
    Column::Src,
    Column::Dst,
    Column::Sport,
    Column::Dport,
    Column::Algorithm,
    Column::TraceMode,
    Column::CwndPkts,
    Column::RttUs,
    Column::DurationUs,
    Column::CompletionUs,
    Column::RttMeanUs,
    Column::RttMinUs,
    Column::BytesReceived,
    Column::DroppedRows,
];

/// Everything that the passes over the rows fold.
pub struct Folded {
    /// Whether the file ends early.
    pub truncated: bool,
    /// Rows in the window, of all flows, and their time; `None` when there are none.
    pub extent: Option<Extent>,
    /// Flows that were seen, idle ones included.
    pub all_flows: usize,
    /// Flows that sent data, in the order of their first rows.
    pub flows: Vec<Flow>,
    /// Flows with a receiving algorithm, in the order of their first rows.
    pub receivers: Vec<(FlowKey, Endpoints, Offers)>,
    /// Names of algorithms and phases.
    pub names: Names,
    /// When the recorder lost rows.
    pub drop_spans: Vec<Span>,
    /// Flows that have ended and are not among these.
    pub pools: Option<Pools>,
}

impl Folded {
    /// Rows in the window, of all flows.
    pub fn rows(&self) -> u64 {
        self.extent.map_or(0, |extent| extent.rows)
    }
}

/// One flow that sent data, split by algorithm.
pub struct Flow {
    /// Its identity.
    pub key: FlowKey,
    /// Its addresses.
    pub endpoints: Endpoints,
    /// In the order in which they ran first; never empty.
    pub parts: Vec<Part>,
    /// When it was given another algorithm, and what that did.
    pub swaps: Vec<Swap>,
    /// Acknowledged bytes per interval, ascending.
    pub acked: Vec<(u64, u64)>,
    /// Whether its opening was recorded.
    pub opened: bool,
    /// What its end said.
    pub closing: Option<Closing>,
}

impl Flow {
    /// What was folded of it, from its first row on.
    pub fn of(key: FlowKey, endpoints: Endpoints, fold: FlowFold, swaps: Vec<Swap>) -> Flow {
        let FlowFold { parts, acked, opened, closing, .. } = fold;
        Flow { key, endpoints, parts, swaps, acked: acked.into_sorted(), opened, closing }
    }

    /// First row.
    pub fn first_us(&self) -> u64 {
        self.parts.iter().map(|part| part.totals.first_us).min().unwrap_or(0)
    }

    /// A figure over all algorithms that the flow ran.
    pub fn sum(&self, value: impl Fn(&Totals) -> u64) -> u64 {
        self.parts.iter().fold(0, |sum, part| sum.saturating_add(value(&part.totals)))
    }

    /// Increase of a counter over all algorithms that the flow ran.
    pub fn grown(&self, counter: Counter) -> u64 {
        self.sum(|totals| totals.grown(counter))
    }

    /// From its opening to its close, where they are among the rows; else to the ends of the rows of all flows.
    pub fn open_us(&self, extent: Extent) -> (u64, u64) {
        let from_us = if self.opened { self.first_us() } else { extent.first_us };
        (from_us, self.closing.map_or(extent.last_us, |closing| closing.t_us))
    }

    /// The algorithm with which it ended.
    pub fn last_algorithm(&self) -> Name {
        self.swaps.last().map_or(self.parts[self.parts.len() - 1].algorithm, |swap| swap.change.to)
    }

    /// An algorithm that was replaced before the first data ran nothing; its rows belong to the next one.
    fn without_idle_start(mut self) -> Flow {
        let idle = |part: &Part| {
            let totals = &part.totals;
            totals.time_us == 0 && totals.grown(Counter::BytesSent) == 0 && totals.grown(Counter::BytesAcked) == 0
        };
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
        self.grown(Counter::BytesSent) > 0 || (one_row && self.sum(|t| t.sent_so_far_bytes) > 0)
    }
}

/// The columns that the figures are made of.
pub fn columns() -> Vec<Column> {
    [&COLUMNS[..], &COUNTERS, &inner::COLUMNS, &offers::COLUMNS].concat()
}

/// Goes through the rows once, and once more when a flow has changed its algorithm: what happened in the second
/// before a change is looked at when it is known that there is one.
pub fn fold(recording: &Recording, window_us: (u64, u64), options: &Options) -> Result<Folded, Error> {
    let width_us = options.interval_us();
    let mut flows: Vec<FlowFold> = Vec::new();
    let mut drops = Drops::default();
    let mut intervals = Intervals::new(width_us);
    let walked = walk(recording, window_us, &columns(), |batch| {
        for run in batch.runs() {
            if !intervals.have_room(&run) {
                return;
            }
            if flows.len() <= run.flow {
                flows.push(FlowFold::default());
            }
            flows[run.flow].add(&run, width_us);
        }
        add_drops(&mut drops, batch, width_us);
    })?;
    intervals.check(recording.path())?;
    let Walked { flows: keys, names, extent, truncated } = walked;
    let swaps = find_swaps(recording, window_us, flows.iter().map(|flow| flow.changes.as_slice()))?;
    let flows = flows.into_iter().zip(keys).zip(swaps);
    let flows = flows.map(|((fold, (key, endpoints)), swaps)| (key, endpoints, fold, swaps));
    let drop_spans = drops.finish(width_us);
    Ok(Folded::of(recording.metadata(), flows, names, Extents { extent, truncated }, drop_spans))
}

/// What the rows covered.
pub struct Extents {
    /// `None` when there are none.
    pub extent: Option<Extent>,
    /// Whether the file ends early.
    pub truncated: bool,
}

impl Folded {
    /// Of all flows, each folded from its first row on.
    pub fn of(
        metadata: &Metadata,
        flows: impl Iterator<Item = (FlowKey, Endpoints, FlowFold, Vec<Swap>)>,
        names: Names,
        Extents { extent, truncated }: Extents,
        drop_spans: Vec<Span>,
    ) -> Folded {
        let mut all_flows = 0;
        let mut senders: Vec<Flow> = Vec::new();
        let mut receivers = Vec::new();
        for (key, endpoints, fold, swaps) in flows {
            all_flows += 1;
            if fold.offers.rows > 0 {
                receivers.push((fold.first_us(), key, endpoints.clone(), fold.offers.clone()));
            }
            senders.push(Flow::of(key, endpoints, fold, swaps).without_idle_start());
        }
        senders.retain(Flow::sent_data);
        // As the metadata name them, whoever came first: runs of one scenario have the same order then.
        let named = metadata.flows.as_deref().unwrap_or_default();
        let place = |flow: &Flow| named.iter().position(|info| info.cgroup_id == flow.endpoints.cgroup_id);
        senders.sort_by_cached_key(|flow| (place(flow).unwrap_or(usize::MAX), flow.first_us(), flow.key));
        receivers.sort_by_key(|&(first_us, key, ..)| (first_us, key));
        let receivers = receivers.into_iter().map(|(_, key, endpoints, offers)| (key, endpoints, offers)).collect();
        Folded { truncated, extent, all_flows, flows: senders, receivers, names, drop_spans, pools: None }
    }
}

/// Takes in what the rows of a batch know of lost ones.
pub fn add_drops(drops: &mut Drops, batch: &Batch<'_>, apart_us: u64) {
    let columns = batch.columns();
    let rows = 0..columns.times_us.len();
    drops.add(columns.times_us, |each| columns.dropped_rows.each(rows.clone(), each), apart_us);
}

/// The changes of each flow. The second walk meets the flows in the order of the first.
pub fn find_swaps<'a>(
    recording: &Recording,
    window_us: (u64, u64),
    changes: impl Iterator<Item = &'a [Change]>,
) -> Result<Vec<Vec<Swap>>, Error> {
    let mut swaps = Swaps::new(changes);
    if !swaps.is_empty() {
        walk(recording, window_us, &swaps::COLUMNS, |batch| batch.runs().for_each(|run| swaps.add(&run)))?;
    }
    Ok(swaps.finish())
}
