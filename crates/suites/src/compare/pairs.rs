//! A matrix of algorithms, as in the appendix of a paper on pairs. The entry of a row and a column has the figures of both
//! flows. The first one belongs to the algorithm that comes first in the order of the matrix, also below the diagonal.

use super::{Compared, Entry, Printed, Row, Table};
use crate::results::{CellResults, Metric, Results};

/// What a matrix shows.
pub struct Pairs<'a> {
    /// See [`Table::source`].
    pub source: &'a str,
    /// Labels that all cells of the matrix have in common.
    pub common: &'a [(&'a str, &'a str)],
    /// Axis of the pairs; its values are `reno+cubic`.
    pub axis: &'a str,
    /// Value on the axis and name in the paper, in the order of the matrix.
    pub algorithms: &'a [(&'a str, &'a str)],
    /// What the paper prints of a pair, by its names.
    pub printed: &'a dyn Fn(&str, &str, Metric, usize) -> Option<Printed>,
}

impl Pairs<'_> {
    /// The matrix of one metric.
    #[must_use]
    pub fn table(&self, title: &str, metric: Metric, results: &Results) -> Table {
        let row = |row: usize| Row {
            names: vec![self.algorithms[row].1.to_owned()],
            entries: (0..self.algorithms.len()).map(|column| self.entry(results, metric, row, column)).collect(),
        };
        Table {
            title: title.to_owned(),
            source: self.source.to_owned(),
            names: vec![metric.label()],
            columns: self.algorithms.iter().map(|(_, name)| (*name).to_owned()).collect(),
            rows: (0..self.algorithms.len()).map(row).collect(),
        }
    }

    /// The cell of two algorithms, by their places in the order.
    #[must_use]
    pub fn cell<'r>(&self, results: &'r Results, one: usize, other: usize) -> Option<&'r CellResults> {
        let (first, second) = (self.algorithms[one.min(other)].0, self.algorithms[one.max(other)].0);
        let pair = format!("{first}+{second}");
        let labels: Vec<(&str, &str)> = self.common.iter().copied().chain([(self.axis, pair.as_str())]).collect();
        results.cell(&labels)
    }

    fn entry(&self, results: &Results, metric: Metric, row: usize, column: usize) -> Entry {
        let Some(cell) = self.cell(results, row, column) else { return Entry::default() };
        let (first, second) = (self.algorithms[row.min(column)].1, self.algorithms[row.max(column)].1);
        let compared = |flow: usize| Compared {
            metric,
            measured: cell.estimate(metric, flow),
            printed: (self.printed)(first, second, metric, flow),
        };
        Entry((0..if metric.is_of_a_flow() { 2 } else { 1 }).map(compared).collect())
    }
}
