//! What a run gave before it was evaluated.

use crate::bench::children::Reports;
use crate::bench::network::Carried;
use crate::bench::swaps::SwapResult;
use crate::host::cpu::CpuUse;
use ccactl_collector::Summary;
use ccactl_link::Nanos;

/// What a run gave before it was evaluated.
pub(crate) struct Measured {
    /// When the run began (`CLOCK_MONOTONIC`).
    pub t0: Nanos,
    pub carried: Carried,
    pub cpu: CpuUse,
    pub recorded: Summary,
    pub reports: Reports,
    pub cgroup_ids: Vec<u64>,
    pub kernel_names: Vec<String>,
    pub swaps: Vec<SwapResult>,
}
