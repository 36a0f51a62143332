//! Rows that were decoded together, flow by flow.

use std::ops::Range;

use polars::prelude::*;

use super::columns::{Columns, Identity};
use super::{FlowKey, Names, Row, Run};

/// The rows of each flow in a batch.
pub struct Batch<'a> {
    columns: Columns<'a>,
    runs: &'a [Span],
    keys: &'a [FlowKey],
    last_rows: &'a [Option<Row>],
}

/// Consecutive rows of one flow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Span {
    /// Number of the flow.
    pub flow: usize,
    /// Its rows.
    pub rows: Range<usize>,
}

impl<'a> Batch<'a> {
    /// `runs` are those of a frame that [`Flows::arrange`] has arranged.
    pub fn new(
        frame: &'a DataFrame,
        runs: &'a [Span],
        keys: &'a [FlowKey],
        last_rows: &'a [Option<Row>],
        names: &mut Names,
    ) -> PolarsResult<Batch<'a>> {
        Ok(Batch { columns: Columns::of(frame, names)?, runs, keys, last_rows })
    }

    /// The rows of each flow, flows in the order of their first rows in the batch; a flow that is new in the recording has the
    /// next number.
    pub fn runs(&self) -> impl Iterator<Item = Run<'_>> {
        self.runs.iter().map(|span| Run {
            flow: span.flow,
            key: self.keys[span.flow],
            previous: self.last_rows.get(span.flow).copied().flatten(),
            columns: &self.columns,
            rows: span.rows.clone(),
        })
    }

    /// The columns of all rows.
    pub fn columns(&self) -> &Columns<'a> {
        &self.columns
    }
}

/// The flows seen so far, by number.
#[derive(Default)]
pub struct Flows {
    numbers: PlHashMap<FlowKey, usize>,
    /// Their identities.
    pub keys: Vec<FlowKey>,
}

impl Flows {
    /// Makes neighbours of the rows of each flow, where they are not. Each keeps its order. A recording has them so by row group; an
    /// older one and a stream are in the order of time.
    pub fn arrange(&mut self, frame: &mut DataFrame) -> PolarsResult<Vec<Span>> {
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
