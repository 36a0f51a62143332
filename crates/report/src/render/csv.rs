//! One line per flow, per algorithm and per swap, for spreadsheets and scripts.

use polars::prelude::*;

use super::frame::frame;
use crate::summary::Summary;

/// The summary as CSV (RFC 4180): a header, then one line per flow, one per algorithm and one per swap of each
/// recording.
///
/// Columns are named like the JSON keys; an empty field is a figure that is not known.
///
/// # Panics
/// Never: the columns have equal lengths and the text goes to memory.
#[must_use]
pub fn csv(summary: &Summary) -> String {
    of_frame(frame(summary))
}

/// Any frame as CSV.
pub(super) fn of_frame(mut frame: DataFrame) -> String {
    let mut out = Vec::new();
    CsvWriter::new(&mut out).finish(&mut frame).expect("memory can be written to");
    String::from_utf8(out).expect("CSV of text is text")
}
