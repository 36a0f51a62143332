//! A table in a paper's own layout, each figure measured and printed.

use super::{Compared, Mark, Printed};
use crate::results::{CellResults, Metric, Results};
use serde::Serialize;

/// A table.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Table {
    /// What it shows.
    pub title: String,
    /// Where it is printed, such as "table 1"; empty when the paper has no such table.
    pub source: String,
    /// Headings of the names of a row.
    pub names: Vec<String>,
    /// Headings of the entries.
    pub columns: Vec<String>,
    /// The rows.
    pub rows: Vec<Row>,
}

/// A row.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    /// Its names.
    pub names: Vec<String>,
    /// One entry per column.
    pub entries: Vec<Entry>,
}

/// The figures of one place in the table: one, or one per flow. Empty where the experiment has none.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Entry(pub Vec<Compared>);

impl Table {
    /// Whether anything in it was measured.
    #[must_use]
    pub fn is_measured(&self) -> bool {
        let mut all = self.rows.iter().flat_map(|row| &row.entries).flat_map(|entry| &entry.0);
        all.any(|compared| compared.measured.is_some())
    }

    /// All figures with a mark, with their row and the heading of their column.
    pub fn marked(&self, mark: Mark) -> impl Iterator<Item = (&Row, &str, &Compared)> {
        self.rows
            .iter()
            .flat_map(|row| row.entries.iter().zip(&self.columns).map(move |(entry, column)| (row, column, entry)))
            .flat_map(|(row, column, entry)| entry.0.iter().map(move |compared| (row, column.as_str(), compared)))
            .filter(move |(.., compared)| compared.mark() == Some(mark))
    }
}

/// A table with a row per cell and a column per metric.
pub struct Listed<'a> {
    /// See [`Table::title`].
    pub title: &'a str,
    /// See [`Table::source`].
    pub source: &'a str,
    /// The axes whose values name a row, and how each is headed.
    pub axes: &'a [(&'a str, &'a str)],
    /// What is shown of which flow.
    pub metrics: &'a [(Metric, usize)],
    /// What the paper prints.
    pub printed: &'a dyn Fn(&CellResults, Metric, usize) -> Option<Printed>,
}

impl Listed<'_> {
    /// The table over all cells.
    #[must_use]
    pub fn table(&self, results: &Results) -> Table {
        let rows = results.cells.iter().map(|cell| self.row(cell)).collect();
        let several = |flow: usize| flow > 0 || self.metrics.iter().any(|(_, other)| *other > 0);
        let column = |&(metric, flow): &(Metric, usize)| match several(flow) && metric.is_of_a_flow() {
            true => format!("{} of flow {}", metric.label(), flow + 1),
            false => metric.label(),
        };
        Table {
            title: self.title.to_owned(),
            source: self.source.to_owned(),
            names: self.axes.iter().map(|(_, heading)| (*heading).to_owned()).collect(),
            columns: self.metrics.iter().map(column).collect(),
            rows,
        }
    }

    fn row(&self, cell: &CellResults) -> Row {
        let entry = |&(metric, flow): &(Metric, usize)| {
            let measured = cell.estimate(metric, flow);
            Entry(vec![Compared { metric, measured, printed: (self.printed)(cell, metric, flow) }])
        };
        Row {
            names: self.axes.iter().map(|(axis, _)| cell.label(axis).unwrap_or("–").to_owned()).collect(),
            entries: self.metrics.iter().map(entry).collect(),
        }
    }
}
