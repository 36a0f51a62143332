//! Summaries as text: tables for the terminal, Markdown, CSV, JSON; and as Parquet.

mod comparison;
mod csv;
mod document;
mod facts;
mod frame;
mod markdown;
mod parquet;
pub(crate) mod receivers;
mod report;
pub(crate) mod swaps;
pub(crate) mod table;
mod terminal;

pub(crate) use ccactl_host::units::UNKNOWN;
use ccactl_host::units::printed as format;
pub use ccactl_host::units::printed::{mbit_per_s, millis, percent, significant};
pub use comparison::csv as comparison_csv;
pub use csv::csv;
pub use parquet::write as write_parquet;
pub use terminal::DEFAULT_WIDTH;

use serde::Serialize;

use crate::{Comparison, Summary};

/// The summary as tables for a terminal of [`DEFAULT_WIDTH`].
#[must_use]
pub fn terminal(summary: &Summary) -> String {
    terminal_of_width(summary, DEFAULT_WIDTH)
}

/// The summary as tables for a terminal of `width` columns.
#[must_use]
pub fn terminal_of_width(summary: &Summary, width: usize) -> String {
    terminal::text(&report::document(summary), width)
}

/// The summary as Markdown.
#[must_use]
pub fn markdown(summary: &Summary) -> String {
    markdown::text(&report::document(summary))
}

/// The comparison as tables for a terminal of `width` columns.
#[must_use]
pub fn comparison_terminal(comparison: &Comparison, width: usize) -> String {
    terminal::text(&comparison::document(comparison), width)
}

/// The comparison as Markdown.
#[must_use]
pub fn comparison_markdown(comparison: &Comparison) -> String {
    markdown::text(&comparison::document(comparison))
}

/// The summary or the comparison as indented JSON with a newline at its end. Its keys are documented in
/// `docs/metrics.md`.
///
/// # Panics
/// Never: both have text keys and finite numbers only.
#[must_use]
pub fn json(of: &impl Serialize) -> String {
    let mut text = serde_json::to_string_pretty(of).expect("a summary is always JSON");
    text.push('\n');
    text
}
