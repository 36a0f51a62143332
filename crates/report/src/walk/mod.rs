//! The rows of a recording, flow by flow and step by step, in one pass.
//!
//! A *step* is what happened to one flow between two of its rows. Counters are cumulative, so a step carries their
//! increase; state such as the window or the phase held from the previous row to this one. The first row of a flow is a
//! step without a previous row.
//!
//! One thread decodes while another walks, and nothing is kept of a batch but the last row of each flow.

mod columns;
mod flow;
mod names;
mod row;

use std::sync::mpsc;

use polars::prelude::*;

use crate::Error;
use crate::recording::{Extent, Recording};
use columns::Columns;
pub use flow::{Endpoints, FlowKey};
pub use names::{Name, Names};
pub use row::{BOUNDS, COUNTERS, Closing, Counter, Event, Row};

/// Decoded batches that wait for the walker.
const BATCHES_AHEAD: usize = 1;

/// From one row of a flow to the next.
#[derive(Debug, Clone, Copy)]
pub struct Step<'a> {
    /// Index into [`Walked::flows`]; a flow that is new has the next one.
    pub flow: usize,
    /// Identity of the flow.
    pub key: FlowKey,
    /// The row before; `None` for the flow's first.
    pub previous: Option<&'a Row>,
    /// The row after.
    pub row: &'a Row,
    /// What only a `close` row says.
    pub closing: Option<Closing>,
}

impl Step<'_> {
    /// Its length; 0 where two rows changed places in time.
    pub fn dt_us(&self) -> u64 {
        self.previous.map_or(0, |previous| self.row.t_us.saturating_sub(previous.t_us))
    }

    /// By how much a counter grew. One that went down was reset (the socket was connected anew): it has counted from
    /// zero since.
    pub fn increase(&self, counter: Counter) -> u64 {
        let Some(previous) = self.previous else { return 0 };
        let (before, now) = (previous.counter(counter), self.row.counter(counter));
        if now < before { now } else { now - before }
    }

    /// The RTT sample that the row brings. `rtt_us` is the *latest* sample, which a row after a duplicate ACK repeats, so it
    /// is a new one only when packets were delivered since the row before.
    pub fn rtt_sample_us(&self) -> Option<u32> {
        self.row.rtt_us.filter(|_| self.increase(Counter::DeliveredPkts) > 0)
    }

    /// The algorithm that ran. What was set before the first data (the host's default, say) sent nothing and so ran
    /// nothing.
    pub fn running(&self) -> Name {
        self.ran_before().unwrap_or(self.row.algorithm)
    }

    /// The algorithm before, where the row after shows another one.
    pub fn changed_from(&self) -> Option<Name> {
        self.ran_before().filter(|before| *before != self.row.algorithm)
    }

    fn ran_before(&self) -> Option<Name> {
        let previous = self.previous?;
        (previous.counter(Counter::BytesSent) > 0).then_some(previous.algorithm)
    }
}

/// What a walk knows at its end.
#[derive(Debug, Default)]
pub struct Walked {
    /// Identity and addresses of each flow, in the order of their first rows.
    pub flows: Vec<(FlowKey, Endpoints)>,
    /// Names of algorithms and phases.
    pub names: Names,
    /// What was walked over; `None` when there was no row in the window.
    pub extent: Option<Extent>,
    /// Whether the end of the file is missing.
    pub truncated: bool,
}

/// Calls `each` with the steps of all flows, in the order of the rows. Columns that are not among `columns` are none or
/// zero in every row.
pub fn walk(
    recording: &Recording,
    window_us: (u64, u64),
    columns: &[&'static str],
    mut each: impl FnMut(&Step<'_>),
) -> Result<Walked, Error> {
    let batches = recording.columns(columns.to_vec(), window_us.0, window_us.1);
    std::thread::scope(|scope| {
        let (sender, receiver) = mpsc::sync_channel(BATCHES_AHEAD);
        scope.spawn(move || {
            for batch in batches {
                // The walker has given up.
                if sender.send(batch).is_err() {
                    break;
                }
            }
        });
        let mut walker = Walker::default();
        for batch in receiver {
            walker.batch(&batch?, &mut each).map_err(Error::rows(recording.path()))?;
        }
        Ok(walker.finish(recording.truncated()))
    })
}

#[derive(Default)]
struct Walker {
    indices: PlHashMap<FlowKey, usize>,
    last_rows: Vec<Row>,
    walked: Walked,
}

impl Walker {
    /// `frame` is in one piece.
    fn batch(&mut self, frame: &DataFrame, each: &mut impl FnMut(&Step<'_>)) -> PolarsResult<()> {
        let mut columns = Columns::of(frame)?;
        for i in 0..frame.height() {
            let key = columns.key(i);
            let row = columns.row(i, &mut self.walked.names);
            let closing = (row.event == Event::Close).then(|| columns.closing(i));
            let known = self.indices.get(&key).copied();
            let flow = known.unwrap_or_else(|| self.new_flow(key, columns.endpoints(i), row));
            let previous = known.map(|flow| &self.last_rows[flow]);
            each(&Step { flow, key, previous, row: &row, closing });
            self.last_rows[flow] = row;
        }
        let extents = self.walked.extent.into_iter().chain(columns.extent());
        self.walked.extent = extents.reduce(Extent::and);
        Ok(())
    }

    fn new_flow(&mut self, key: FlowKey, endpoints: Endpoints, row: Row) -> usize {
        let flow = self.walked.flows.len();
        self.indices.insert(key, flow);
        self.walked.flows.push((key, endpoints));
        self.last_rows.push(row);
        flow
    }

    fn finish(self, truncated: bool) -> Walked {
        let extent = self.walked.extent.map(|extent| Extent { truncated, ..extent });
        Walked { truncated, extent, ..self.walked }
    }
}
