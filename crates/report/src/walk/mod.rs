//! The rows of a recording, flow by flow and step by step, in one pass.
//!
//! A *step* is what happened to one flow between two of its rows. Counters are cumulative, so a step carries their
//! increase; state such as the window or the phase held from the previous row to this one. The first row of a flow is a
//! step without a previous row.
//!
//! Rows come in batches, and in each batch the rows of a flow as one *run*, whatever their order in the file is. A figure goes over a
//! run column by column where it can: a flow is looked up once, and its state stays in the cache.
//!
//! One thread decodes while another walks, and nothing is kept of a batch but the last row of each flow.

mod batch;
mod columns;
mod flow;
mod names;
mod row;
mod texts;

use std::ops::Range;
use std::sync::mpsc;

use polars::prelude::*;

use ccactl_recording::Column;
use ccactl_recording::read::{self, Extent, Recording};

use crate::Error;
pub use batch::{Batch, Run};
pub use columns::{Columns, Identity};
pub use flow::{Endpoints, FlowKey};
pub use names::{Name, Names};
pub use row::{BOUNDS, COUNTERS, Closing, Counter, Event, Position, Row, Step};

/// Decoded batches that wait for the walker.
const BATCHES_AHEAD: usize = 1;

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

/// As [`walk_on`], with names of its own.
pub fn walk(
    recording: &Recording,
    window_us: (u64, u64),
    columns: &[Column],
    each: impl FnMut(&Batch<'_>),
) -> Result<Walked, Error> {
    walk_on(Names::default(), recording, window_us, columns, each)
}

/// Calls `each` with every batch of rows. Names that are known keep their numbers. Columns that are not among `columns` are none or zero in every row.
pub fn walk_on(
    names: Names,
    recording: &Recording,
    window_us: (u64, u64),
    columns: &[Column],
    mut each: impl FnMut(&Batch<'_>),
) -> Result<Walked, Error> {
    let batches = recording.columns(columns.to_vec(), window_us);
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
        let mut walker = Walker { walked: Walked { names, ..Walked::default() }, ..Walker::default() };
        for batch in receiver {
            walker.batch(batch?, &mut each).map_err(read::Error::rows(recording.path()))?;
        }
        Ok(walker.finish(recording.truncated()))
    })
}

#[derive(Default)]
struct Walker {
    flows: Flows,
    last_rows: Vec<Option<Row>>,
    walked: Walked,
}

impl Walker {
    /// `frame` is in one piece.
    fn batch(&mut self, mut frame: DataFrame, each: &mut impl FnMut(&Batch<'_>)) -> PolarsResult<()> {
        let Walker { flows, last_rows, walked } = self;
        let spans = flows.arrange(&mut frame)?;
        let batch = Batch::new(&frame, &spans, &flows.keys, last_rows, &mut walked.names)?;
        for run in batch.runs() {
            if run.flow == walked.flows.len() {
                walked.flows.push((run.key, run.endpoints()));
            }
        }
        each(&batch);
        walked.extent = walked.extent.into_iter().chain(batch.columns().extent()).reduce(Extent::and);
        let last: Vec<(usize, Row)> = batch.runs().map(|run| (run.flow, run.last_row())).collect();
        last_rows.resize(flows.keys.len(), None);
        last.into_iter().for_each(|(flow, row)| last_rows[flow] = Some(row));
        Ok(())
    }

    fn finish(self, truncated: bool) -> Walked {
        let extent = self.walked.extent.map(|extent| Extent { truncated, ..extent });
        Walked { truncated, extent, ..self.walked }
    }
}

/// Consecutive rows of one flow.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Span {
    /// Number of the flow.
    flow: usize,
    /// Its rows.
    rows: Range<usize>,
}

/// The flows seen so far, by number.
#[derive(Default)]
struct Flows {
    numbers: PlHashMap<FlowKey, usize>,
    /// Their identities.
    keys: Vec<FlowKey>,
}

impl Flows {
    /// Makes neighbours of the rows of each flow, where they are not. Each keeps its order. A recording has them so by row group; an
    /// older one and a stream are in the order of time.
    fn arrange(&mut self, frame: &mut DataFrame) -> PolarsResult<Vec<Span>> {
        let spans = self.spans(frame)?;
        // By number of the flow since the first that this batch has.
        let mut places: PlHashMap<usize, usize> = PlHashMap::new();
        let mut arranged: Vec<Vec<Range<usize>>> = Vec::new();
        for Span { flow, rows } in &spans {
            let place = *places.entry(*flow).or_insert(arranged.len());
            if place == arranged.len() {
                arranged.push(Vec::new());
            }
            arranged[place].push(rows.clone());
        }
        if arranged.len() == spans.len() {
            return Ok(spans);
        }
        let order = arranged.iter().flatten().cloned().flatten();
        let order: IdxCa = IdxCa::from_vec(PlSmallStr::EMPTY, order.map(|row| row as IdxSize).collect());
        *frame = frame.take(&order)?;
        self.spans(frame)
    }

    fn spans(&mut self, frame: &DataFrame) -> PolarsResult<Vec<Span>> {
        let columns = Identity::of(frame)?;
        let mut spans: Vec<Span> = Vec::new();
        let mut current = None;
        for i in 0..frame.height() {
            let key = columns.key(i);
            if current == Some(key) {
                continue;
            }
            current = Some(key);
            if let Some(span) = spans.last_mut() {
                span.rows.end = i;
            }
            spans.push(Span { flow: self.number(key), rows: i..frame.height() });
        }
        Ok(spans)
    }

    fn number(&mut self, key: FlowKey) -> usize {
        *self.numbers.entry(key).or_insert_with(|| {
            self.keys.push(key);
            self.keys.len() - 1
        })
    }
}
