//! The table of receiving flows: its columns, for the terminal and for the page.

use super::UNKNOWN;
use super::format::{mbit_per_s, millis, significant};
use crate::summary::ReceiverSummary;

/// Heading and unit of each figure, in the order of [`cells`].
pub(crate) const FIGURES: [(&str, &str); 6] = [
    ("goodput", "Mbit/s"),
    ("offered", "KB"),
    ("limit mean", "KB"),
    ("limit min–max", "KB"),
    ("RTT mean", "ms"),
    ("RTT min", "ms"),
];

/// The figures of one receiving flow.
pub(crate) fn cells(of: &ReceiverSummary) -> [String; 6] {
    let range = of.limit_min_bytes.zip(of.limit_max_bytes);
    [
        mbit_per_s(of.goodput_bps),
        kilobytes(of.offered_mean_bytes),
        kilobytes(of.limit_mean_bytes),
        range.map_or(UNKNOWN.to_owned(), |(least, most)| {
            format!("{}–{}", kilobytes(Some(least as f64)), kilobytes(Some(most as f64)))
        }),
        millis(of.rtt_mean_us),
        millis(of.rtt_min_us.map(|us| us as f64)),
    ]
}

fn kilobytes(bytes: Option<f64>) -> String {
    bytes.map_or(UNKNOWN.to_owned(), |bytes| significant(bytes / 1e3))
}
