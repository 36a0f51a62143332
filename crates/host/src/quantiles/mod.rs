//! How often values occur, for percentiles by nearest rank.
//!
//! [`Histogram`] is exact, and what figures are made of. Its memory grows with the number of distinct values. Where memory
//! must not depend on the values, [`Classes`] says which values are counted together.
//!
//! The exporter's buckets are neither: Prometheus adds them up over hosts and time, so bounds must be few, and the same
//! everywhere (`ccactl_observe::metrics`).

mod classes;
mod exact;

pub use classes::Classes;
pub use exact::Histogram;

/// Nearest rank: how many of `count` values a quantile (0 … 1) does not exceed, one at least.
#[must_use]
pub fn rank(quantile: f64, count: u64) -> u64 {
    ((quantile * count as f64).ceil() as u64).max(1)
}
