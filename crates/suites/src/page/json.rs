//! The report as JSON; the drawings are in files of their own.

use super::Report;

/// Indented, with a newline at its end.
pub fn text(report: &Report) -> String {
    ccactl_report::render::json(report)
}
