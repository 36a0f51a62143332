//! One pass over the rows of a recording: everything that its summary is made of.

use crate::measure::amounts::Amounts;
use crate::measure::changes::Change;
use crate::measure::drops::Drops;
use crate::measure::inner::{self, InnerState};
use crate::measure::phases::Phases;
use crate::measure::samples::Samples;
use crate::measure::swaps::{self, Swap, Swaps};
use crate::measure::totals::Totals;
use crate::recording::{Extent, Recording};
use crate::stats::Histogram;
use crate::summary::DropSpan;
use crate::walk::{COUNTERS, Closing, Counter, Endpoints, Event, FlowKey, Name, Names, Step, Walked, walk};
use crate::{Error, Options};

use super::intervals::Intervals;

/// The columns that the figures are made of, beside counters and inner state.
const COLUMNS: [&str; 18] = [
    "t_us",
    "event",
    "netns",
    "flow_id",
    "cgroup_id",
    "src",
    "dst",
    "sport",
    "dport",
    "algorithm",
    "trace_mode",
    "cwnd_pkts",
    "rtt_us",
    "duration_us",
    "completion_us",
    "rtt_mean_us",
    "rtt_min_us",
    "dropped_rows",
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
    /// Names of algorithms and phases.
    pub names: Names,
    /// When the recorder lost rows.
    pub drop_spans: Vec<DropSpan>,
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
    /// RTT samples on their way there.
    samples: Samples,
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

    /// Last row that shows progress.
    pub fn progress_us(&self) -> u64 {
        self.parts.iter().map(|part| part.totals.progress_or_first_us()).max().unwrap_or(0)
    }

    /// A figure over all algorithms that the flow ran.
    pub fn sum(&self, value: impl Fn(&Totals) -> u64) -> u64 {
        self.parts.iter().fold(0, |sum, part| sum.saturating_add(value(&part.totals)))
    }

    /// Increase of a counter over all algorithms that the flow ran.
    pub fn grown(&self, counter: Counter) -> u64 {
        self.sum(|totals| totals.grown(counter))
    }

    /// The algorithm with which it ended.
    pub fn last_algorithm(&self) -> Name {
        self.swaps.last().map_or(self.parts[self.parts.len() - 1].algorithm, |swap| swap.change.to)
    }

    /// Time from the first row to the last progress.
    pub fn active_us(&self) -> u64 {
        self.progress_us().saturating_sub(self.first_us())
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
    let walked = walk(recording, window_us, &[&COLUMNS[..], &COUNTERS, &inner::COLUMNS].concat(), |step| {
        if !intervals.have_room(step) {
            return;
        }
        if flows.len() <= step.flow {
            flows.push(Running::default());
        }
        flows[step.flow].add(step, width_us);
        drops.add(step.row.t_us, step.row.dropped_rows, width_us);
    })?;
    intervals.check(recording.path())?;
    let Walked { flows: keys, names, extent, truncated } = walked;
    let swaps = find_swaps(recording, window_us, &flows)?;
    let all_flows = flows.len();
    let joined = flows.into_iter().zip(keys).zip(swaps);
    let mut flows: Vec<Flow> = joined.map(|((running, (key, ends)), swaps)| running.finish(key, ends, swaps)).collect();
    flows.retain(Flow::sent_data);
    flows.sort_by_key(|flow| (flow.first_us(), flow.key));
    Ok(Folded { truncated, extent, all_flows, flows, names, drop_spans: drops.spans() })
}

/// The changes of each flow. The second walk meets the flows in the order of the first.
fn find_swaps(recording: &Recording, window_us: (u64, u64), flows: &[Running]) -> Result<Vec<Vec<Swap>>, Error> {
    let mut swaps = Swaps::new(flows.iter().map(|flow| flow.changes.as_slice()));
    if !swaps.is_empty() {
        walk(recording, window_us, &swaps::COLUMNS, |step| swaps.add(step))?;
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
}

impl Running {
    fn add(&mut self, step: &Step<'_>, width_us: u64) {
        let running = step.running();
        let phase = step.previous.map(|previous| (running, previous.mode));
        let entered = phase != self.phase_before;
        self.phase_before = phase;
        let part = self.part(running);
        part.totals.add(step);
        if let Some(rtt_us) = step.rtt_sample_us() {
            part.samples.add(rtt_us, &mut part.rtt);
        }
        if let Some(previous) = step.previous {
            let dt_us = step.dt_us();
            for (held, value) in part.inner.iter_mut().zip(previous.inner) {
                if let Some(value) = value {
                    held.add(value, dt_us);
                }
            }
            part.phases.add(step, entered);
            let acked = step.increase(Counter::BytesAcked);
            if acked > 0 {
                self.acked.add((previous.t_us, step.row.t_us), width_us, acked as f64);
            }
        }
        if let Some(from) = step.changed_from() {
            self.changes.push(Change { at_us: step.row.t_us, from, to: step.row.algorithm });
        }
        self.opened |= step.row.event == Event::Open;
        self.closing = step.closing.or(self.closing);
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
        let Running { mut parts, acked, opened, closing, .. } = self;
        parts.iter_mut().for_each(|part| part.samples.flush(&mut part.rtt));
        Flow { key, endpoints, parts, swaps, acked: acked.into_sorted(), opened, closing }.without_idle_start()
    }
}

impl Part {
    fn of(algorithm: Name) -> Part {
        Part {
            algorithm,
            totals: Totals::default(),
            rtt: Histogram::default(),
            samples: Samples::default(),
            phases: Phases::default(),
            inner: InnerState::default(),
        }
    }
}
