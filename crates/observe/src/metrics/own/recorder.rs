//! The recorder behind the metrics: rows, losses, version.

use crate::metrics::page::{Page, pair};
use ccactl_collector::Progress;
use std::fs;

/// Puts what the recorder has counted onto the page.
pub(crate) fn show(page: &mut Page, progress: &Progress) {
    page.counter("ccactl_recorder_rows_total", "Rows taken from the kernel.", [(vec![], progress.rows as f64)]);
    let drops = &progress.drops;
    let by_reason = [
        ("ring_full_samples", drops.ring_full_samples),
        ("ring_full_events", drops.ring_full_events),
        ("no_storage", drops.no_storage),
    ];
    page.counter(
        "ccactl_recorder_dropped_rows_total",
        "Rows that were lost. Sums stay right while events are not among them: the next row of the socket makes up for samples.",
        by_reason.map(|(reason, count)| (vec![pair("reason", reason)], count as f64)),
    );
}

/// Puts what is running here onto the page.
pub(crate) fn show_build(page: &mut Page) {
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let labels = vec![pair("version", env!("CARGO_PKG_VERSION")), pair("kernel", kernel.trim())];
    page.gauge("ccactl_build_info", "1, with the versions of ccactl and of the kernel.", [(labels, 1.0)]);
}
