//! Rows that were decoded together, and among them the consecutive ones of each flow.

use std::ops::Range;

use polars::prelude::*;

use super::columns::{Columns, Numbers};
use super::row::increase;
use super::{Closing, Counter, Endpoints, Event, FlowKey, Name, Names, Position, Row, Span, Step};
use crate::measure::{inner, offers};

/// The rows of each flow in a batch.
pub struct Batch<'a> {
    frame: &'a DataFrame,
    columns: Columns<'a>,
    runs: &'a [Span],
    keys: &'a [FlowKey],
    last_rows: &'a [Option<Row>],
}

impl<'a> Batch<'a> {
    /// `runs` are those of a frame that `Flows::arrange` has arranged.
    pub(super) fn new(
        frame: &'a DataFrame,
        runs: &'a [Span],
        keys: &'a [FlowKey],
        last_rows: &'a [Option<Row>],
        names: &mut Names,
    ) -> PolarsResult<Batch<'a>> {
        Ok(Batch { frame, columns: Columns::of(frame, names)?, runs, keys, last_rows })
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

    /// The rows as they were read.
    pub fn frame(&self) -> &'a DataFrame {
        self.frame
    }

    /// The columns of all rows.
    pub fn columns(&self) -> &Columns<'a> {
        &self.columns
    }
}

/// Rows of one flow, column by column or step by step.
#[derive(Clone)]
pub struct Run<'a> {
    /// Index into [`Walked::flows`](super::Walked::flows); a flow that is new has the next one.
    pub flow: usize,
    /// Identity of the flow.
    pub key: FlowKey,
    /// The row before; `None` when the run begins with the flow's first.
    pub previous: Option<Row>,
    columns: &'a Columns<'a>,
    /// Never empty.
    rows: Range<usize>,
}

impl<'a> Run<'a> {
    /// The step from the row before to a single row of `columns`.
    pub fn of_row(
        columns: &'a Columns<'a>,
        row: usize,
        (flow, key): (usize, FlowKey),
        previous: Option<Row>,
    ) -> Run<'a> {
        Run { flow, key, previous, columns, rows: row..row + 1 }
    }

    /// Its first row without the one before, where it is in the batch, and what comes after it.
    pub fn split_first(&self) -> (Run<'a>, usize, Option<Run<'a>>) {
        let start = self.rows.start;
        let first = Run { previous: None, rows: start..start + 1, ..self.clone() };
        let rest = Run { previous: Some(self.columns.row(start)), rows: start + 1..self.rows.end, ..self.clone() };
        (first, start, Some(rest).filter(|rest| !rest.rows.is_empty()))
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// The time of each row.
    pub fn times_us(&self) -> &'a [u64] {
        &self.columns.times_us[self.rows.clone()]
    }

    /// From when to when each step lasted. That to the flow's first row has no length.
    pub fn spans_us(&self) -> impl Iterator<Item = (u64, u64)> + 'a {
        let times_us = self.times_us();
        let mut before_us = self.previous.map_or(times_us[0], |previous| previous.t_us);
        times_us.iter().map(move |&t_us| (std::mem::replace(&mut before_us, t_us), t_us))
    }

    /// Calls `each` with the value of a counter in every row.
    pub fn values(&self, counter: Counter, each: impl FnMut(u64)) {
        self.columns.counter(counter).each(self.rows.clone(), each);
    }

    /// Calls `each` with what every step added to a counter; 0 for the flow's first row.
    pub fn increases(&self, counter: Counter, mut each: impl FnMut(u64)) {
        let mut before = self.previous.map(|previous| previous.counter(counter));
        self.values(counter, |now| {
            each(increase(before.unwrap_or(now), now));
            before = Some(now);
        });
    }

    /// Calls `each` with every step in which a counter grew: from when to when, and by how much.
    pub fn growth(&self, counter: Counter, mut each: impl FnMut((u64, u64), u64)) {
        let mut spans_us = self.spans_us();
        self.increases(counter, |by| {
            if let Some(span_us) = spans_us.next().filter(|_| by > 0) {
                each(span_us, by);
            }
        });
    }

    /// Calls `each` with the time and the value of every row that has one in this column.
    pub fn known(&self, column: impl for<'b> Fn(&'b Columns<'a>) -> &'b Numbers<'a>, mut each: impl FnMut(u64, i64)) {
        let column = column(self.columns);
        if column.are_none(self.rows.clone()) {
            return;
        }
        for (i, &t_us) in self.rows.clone().zip(self.times_us()) {
            if let Some(value) = column.signed(i) {
                each(t_us, value);
            }
        }
    }

    /// Calls `each` with every RTT sample: see [`Step::rtt_sample_us`].
    pub fn rtt_samples_us(&self, mut each: impl FnMut(u32)) {
        let mut rows = self.rows.clone();
        self.increases(Counter::DeliveredPkts, |delivered_pkts| {
            let i = rows.next().expect("a row for each step");
            if let Some(rtt_us) = self.columns.rtt_us.small(i).filter(|_| delivered_pkts > 0) {
                each(rtt_us);
            }
        });
    }

    /// Calls `each` with every window and for how long it held, which is until the flow's next row.
    pub fn windows(&self, mut each: impl FnMut(u32, u64)) {
        let before = self.previous.and_then(|previous| previous.cwnd_pkts);
        self.held(&self.columns.cwnd_pkts, before, |column, i| column.small(i), &mut each);
    }

    /// The same for a column of inner state, by its place in [`inner::COLUMNS`].
    pub fn inner_state(&self, column: usize, mut each: impl FnMut(i64, u64)) {
        debug_assert!(column < inner::COLUMNS.len());
        let before = self.previous.and_then(|previous| previous.inner[column]);
        self.held(&self.columns.inner[column], before, |column, i| column.signed(i), &mut each);
    }

    /// Calls `each` with every phase, `None` included, since when and for how long it held.
    pub fn modes(&self, mut each: impl FnMut(Option<Name>, u64, u64)) {
        let mut before = self.previous.map(|previous| previous.mode);
        for (i, (from_us, to_us)) in self.rows.clone().zip(self.spans_us()) {
            if let Some(mode) = before {
                each(mode, from_us, to_us.saturating_sub(from_us));
            }
            before = Some(self.columns.modes.get(i).copied().flatten());
        }
    }

    fn held<T: Copy>(
        &self,
        column: &Numbers<'_>,
        before: Option<T>,
        value: impl Fn(&Numbers<'_>, usize) -> Option<T>,
        each: &mut impl FnMut(T, u64),
    ) {
        let mut lengths_us = self.spans_us().map(|(from_us, to_us)| to_us.saturating_sub(from_us));
        if let Some((before, us)) = before.zip(lengths_us.next()) {
            each(before, us);
        }
        // What the last row shows holds in the next run.
        let rows = self.rows.start..self.rows.end - 1;
        if column.are_none(rows.clone()) {
            return;
        }
        for (i, us) in rows.zip(lengths_us) {
            if let Some(value) = value(column, i) {
                each(value, us);
            }
        }
    }

    /// Calls `each` with every row in which a receiving algorithm decides: its time, the columns of [`offers::COLUMNS`], and the payload
    /// received so far.
    pub fn offers(&self, mut each: impl FnMut(u64, [Option<i64>; offers::COLUMNS.len()], Option<u64>)) {
        let columns = self.columns;
        if columns.offers[offers::LIMIT].are_none(self.rows.clone()) {
            return;
        }
        for (i, &t_us) in self.rows.clone().zip(self.times_us()) {
            let values = std::array::from_fn(|k| columns.offers[k].signed(i));
            if values[offers::LIMIT].is_some() {
                each(t_us, values, columns.received_bytes.get(i));
            }
        }
    }

    /// Calls `each` with the time of every row and where in the stream it stands.
    pub fn positions(&self, mut each: impl FnMut(u64, Position)) {
        let columns = self.columns;
        let [acked, sent, retrans] =
            [Counter::BytesAcked, Counter::BytesSent, Counter::BytesRetrans].map(|counter| columns.counter(counter));
        for i in self.rows.clone() {
            let number = |column: &Numbers<'_>| column.get(i).unwrap_or(0);
            let position = Position {
                acked_bytes: number(acked),
                sent_bytes: number(sent).saturating_sub(number(retrans)),
                retrans_bytes: number(retrans),
                cwnd_bytes: number(&columns.cwnd_pkts) * number(&columns.mss_bytes),
                window_bytes: number(&columns.snd_wnd_bytes),
            };
            each(columns.times_us[i], position);
        }
    }

    /// Whether the opening of the connection is among the rows.
    pub fn has_opened(&self) -> bool {
        self.events().contains(&Event::Open)
    }

    /// What its closing says, if that is among the rows.
    pub fn closing(&self) -> Option<Closing> {
        let last = self.events().iter().rposition(|event| *event == Event::Close)?;
        Some(self.columns.closing(self.rows.start + last))
    }

    /// Addresses and cgroup of the flow.
    pub fn endpoints(&self) -> Endpoints {
        self.columns.endpoints(self.rows.start)
    }

    fn events(&self) -> &[Event] {
        self.columns.events.get(self.rows.clone()).unwrap_or_default()
    }

    /// Kernel name in the last row.
    pub fn last_algorithm(&self) -> Name {
        self.columns.algorithm(self.rows.end - 1)
    }

    /// Its rows, one by one, from either end.
    pub fn rows(&self) -> impl DoubleEndedIterator<Item = Row> + '_ {
        self.rows.clone().map(|i| self.columns.row(i))
    }

    /// The last row.
    pub fn last_row(&self) -> Row {
        self.columns.row(self.rows.end - 1)
    }

    /// Calls `each` with every step.
    pub fn steps(&self, mut each: impl FnMut(&Step<'_>)) {
        let mut previous = self.previous;
        for i in self.rows.clone() {
            let row = self.columns.row(i);
            each(&Step { previous: previous.as_ref(), row: &row });
            previous = Some(row);
        }
    }

    /// The same rows in pieces: in each the steps ran one algorithm, and none but the last shows another one after it.
    pub fn by_algorithm(&self) -> impl Iterator<Item = (Name, Run<'a>)> {
        let mut rest = self.rows.clone();
        let run = self.clone();
        std::iter::from_fn(move || {
            let start = rest.start;
            if rest.is_empty() {
                return None;
            }
            let previous = run.row_before(start);
            let running = previous.and_then(Row::running_after).unwrap_or_else(|| run.columns.algorithm(start));
            let end = run.end_of(running, start);
            rest.start = end;
            Some((running, Run { previous, rows: start..end, ..run }))
        })
    }

    /// First row after `start` of which the step ran something else, or comes after a change.
    fn end_of(&self, running: Name, start: usize) -> usize {
        let columns = self.columns;
        let mut end = start + 1;
        while end < self.rows.end && columns.algorithm(end - 1) == running {
            let has_sent = || columns.counter(Counter::BytesSent).get(end - 1).unwrap_or(0) > 0;
            if columns.algorithm(end) != running && !has_sent() {
                break;
            }
            end += 1;
        }
        end
    }

    fn row_before(&self, i: usize) -> Option<Row> {
        if i == self.rows.start { self.previous } else { Some(self.columns.row(i - 1)) }
    }
}
