//! The cells of a small table, line by line.

use polars::prelude::*;

/// A line of a table.
#[derive(Clone, Copy)]
pub struct Line<'a> {
    table: &'a DataFrame,
    number: usize,
}

/// The lines of a table.
pub fn lines(table: &DataFrame) -> impl Iterator<Item = Line<'_>> {
    (0..table.height()).map(move |number| Line { table, number })
}

impl<'a> Line<'a> {
    /// A whole number; `None` is "not known".
    pub fn whole(self, column: &str) -> Option<u64> {
        self.cell(column).extract()
    }

    /// A whole number that may be below 0.
    pub fn signed(self, column: &str) -> Option<i64> {
        self.cell(column).extract()
    }

    /// Any number.
    pub fn real(self, column: &str) -> Option<f64> {
        self.cell(column).extract()
    }

    /// A number that every line has.
    pub fn count(self, column: &str) -> u64 {
        self.whole(column).unwrap_or(0)
    }

    /// A text; empty when there is none.
    pub fn text(self, column: &str) -> String {
        self.cell(column).get_str().unwrap_or_default().to_owned()
    }

    /// Whether it is so.
    pub fn is(self, column: &str) -> bool {
        matches!(self.cell(column), AnyValue::Boolean(true))
    }

    fn cell(self, column: &str) -> AnyValue<'a> {
        let column = self.table.column(column).expect("stage two made this column");
        column.get(self.number).expect("the line is in the table")
    }
}
