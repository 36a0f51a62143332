//! One pass over the rows of a recording: everything that its summary is made of.

use crate::measure::amounts::Amounts;
use crate::measure::changes::Change;
use crate::measure::drops::{Drops, Span};
use crate::measure::inner::{self, InnerState};
use crate::measure::offers::{self, Offers};
use crate::measure::phases::Phases;
use crate::measure::swaps::{self, Swap, Swaps};
use crate::measure::totals::Totals;
use crate::stats::Histogram;
use crate::walk::{Batch, COUNTERS, Closing, Counter, Endpoints, FlowKey, Name, Names, Run, Walked, walk};
use crate::{Error, Options};
use ccactl_recording::Column;
use ccactl_recording::read::{Extent, Recording};

use super::intervals::Intervals;

/// The columns that the figures are made of, beside counters and inner state.
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
    pub acked: Vec<(u64, f64)>,
    /// Whether its opening was recorded.
    pub opened: bool,
    /// What its end said.
    pub closing: Option<Closing>,
}

/// What a flow did while it ran one algorithm.
pub struct Part {
    /// The algorithm.
    pub algorithm: Name,
    /// Counters, window and times.
    pub totals: Totals,
    /// RTT samples.
    pub rtt: Histogram,
    /// Time per phase.
    pub phases: Phases,
    /// Inner state.
    pub inner: InnerState,
}

impl Flow {
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

/// Goes through the rows once, and once more when a flow has changed its algorithm: what happened in the second
/// before a change is looked at when it is known that there is one.
pub fn fold(recording: &Recording, window_us: (u64, u64), options: &Options) -> Result<Folded, Error> {
    let width_us = options.interval_us();
    let mut flows: Vec<Running> = Vec::new();
    let mut drops = Drops::default();
    let mut intervals = Intervals::new(width_us);
    let walked =
        walk(recording, window_us, &[&COLUMNS[..], &COUNTERS, &inner::COLUMNS, &offers::COLUMNS].concat(), |batch| {
            for run in batch.runs() {
                if !intervals.have_room(&run) {
                    return;
                }
                if flows.len() <= run.flow {
                    flows.push(Running::default());
                }
                flows[run.flow].add(&run, width_us);
            }
            add_drops(&mut drops, batch, width_us);
        })?;
    intervals.check(recording.path())?;
    let Walked { flows: keys, names, extent, truncated } = walked;
    let swaps = find_swaps(recording, window_us, &flows)?;
    let all_flows = flows.len();
    let receives = flows.iter().zip(&keys).filter(|(flow, _)| flow.offers.rows > 0);
    let receivers = receives.map(|(flow, (key, ends))| (*key, ends.clone(), flow.offers.clone())).collect();
    let joined = flows.into_iter().zip(keys).zip(swaps);
    let mut flows: Vec<Flow> = joined.map(|((running, (key, ends)), swaps)| running.finish(key, ends, swaps)).collect();
    flows.retain(Flow::sent_data);
    // As the metadata name them, whoever came first: runs of one scenario have the same order then.
    let named = recording.metadata().flows.as_deref().unwrap_or_default();
    let place = |flow: &Flow| named.iter().position(|info| info.cgroup_id == flow.endpoints.cgroup_id);
    flows.sort_by_cached_key(|flow| (place(flow).unwrap_or(usize::MAX), flow.first_us(), flow.key));
    Ok(Folded { truncated, extent, all_flows, flows, receivers, names, drop_spans: drops.finish() })
}

fn add_drops(drops: &mut Drops, batch: &Batch<'_>, apart_us: u64) {
    let columns = batch.columns();
    let rows = 0..columns.times_us.len();
    drops.add(columns.times_us, |each| columns.dropped_rows.each(rows.clone(), each), apart_us);
}

/// The changes of each flow. The second walk meets the flows in the order of the first.
fn find_swaps(recording: &Recording, window_us: (u64, u64), flows: &[Running]) -> Result<Vec<Vec<Swap>>, Error> {
    let mut swaps = Swaps::new(flows.iter().map(|flow| flow.changes.as_slice()));
    if !swaps.is_empty() {
        walk(recording, window_us, &swaps::COLUMNS, |batch| batch.runs().for_each(|run| swaps.add(&run)))?;
    }
    Ok(swaps.finish())
}

/// One flow on its way through the rows.
#[derive(Default)]
struct Running {
    parts: Vec<Part>,
    /// Index of the part of the step before.
    current: usize,
    /// Algorithm and phase of the step before.
    phase_before: Option<(Name, Option<Name>)>,
    changes: Vec<Change>,
    acked: Amounts,
    opened: bool,
    closing: Option<Closing>,
    offers: Offers,
}

impl Running {
    fn add(&mut self, run: &Run<'_>, width_us: u64) {
        for (running, run) in run.by_algorithm() {
            let mut phase_before = self.phase_before;
            let part = self.part(running);
            part.add(&run);
            run.modes(|mode, _, us| {
                let phase = Some((running, mode));
                if let Some(mode) = mode {
                    part.phases.add(mode, us, phase != phase_before);
                }
                phase_before = phase;
            });
            self.phase_before = phase_before;
            if run.last_algorithm() != running {
                let at_us = run.last_row().t_us;
                self.changes.push(Change { at_us, from: running, to: run.last_algorithm() });
            }
        }
        run.growth(Counter::BytesAcked, |span_us, bytes| self.acked.add(span_us, width_us, bytes as f64));
        self.offers.add(run);
        self.opened |= run.has_opened();
        self.closing = run.closing().or(self.closing);
    }

    fn part(&mut self, algorithm: Name) -> &mut Part {
        if self.parts.get(self.current).is_none_or(|part| part.algorithm != algorithm) {
            let known = self.parts.iter().position(|part| part.algorithm == algorithm);
            self.current = known.unwrap_or(self.parts.len());
            if known.is_none() {
                self.parts.push(Part::of(algorithm));
            }
        }
        &mut self.parts[self.current]
    }

    fn finish(self, key: FlowKey, endpoints: Endpoints, swaps: Vec<Swap>) -> Flow {
        let Running { parts, acked, opened, closing, .. } = self;
        Flow { key, endpoints, parts, swaps, acked: acked.into_sorted(), opened, closing }.without_idle_start()
    }
}

impl Part {
    fn of(algorithm: Name) -> Part {
        Part {
            algorithm,
            totals: Totals::default(),
            rtt: Histogram::default(),
            phases: Phases::default(),
            inner: InnerState::default(),
        }
    }

    fn add(&mut self, run: &Run<'_>) {
        self.totals.add(run);
        run.rtt_samples_us(|rtt_us| self.rtt.add(rtt_us.into(), 1));
        for (column, held) in self.inner.iter_mut().enumerate() {
            run.inner_state(column, |value, us| held.add(value, us));
        }
    }
}
