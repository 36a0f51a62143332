//! Summaries as text: a table for the terminal, CSV, JSON.

mod csv;
mod format;
pub(crate) mod swaps;
pub(crate) mod table;

pub use csv::csv;
pub use format::{mbit_per_s, millis, percent, significant};
pub use table::table as terminal;

use crate::Summary;

/// The summary as indented JSON with a newline at its end. Its keys are documented in `docs/metrics.md`.
///
/// # Panics
/// Never: a summary has text keys and finite numbers only.
#[must_use]
pub fn json(summary: &Summary) -> String {
    let mut text = serde_json::to_string_pretty(summary).expect("a summary is always JSON");
    text.push('\n');
    text
}
