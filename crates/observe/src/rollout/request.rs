//! What a guarded roll-out is asked to do.

use crate::rollout::guard::Guard;
use crate::rollout::share::Share;
use ccactl_loader::SwapRequest;
use std::path::PathBuf;
use std::time::Duration;

/// One guarded roll-out.
#[derive(Debug, Clone)]
pub struct CanaryRequest {
    /// Algorithm and cgroup. Scope and dry run are ignored: a canary is for live and new sockets, and does move them.
    pub swap: SwapRequest,
    /// Share of the sockets that move first.
    pub share: Share,
    /// How long to watch them; at least 5 s.
    pub watch: Duration,
    /// How long to look for guards that hold while both groups have the same algorithm, before anything moves.
    pub same: Option<Duration>,
    /// Conditions on which they are taken back; at least one.
    pub guards: Vec<Guard>,
    /// Live sockets that each group must have at the start, and active flows at the end.
    pub min_flows: u64,
    /// Folder for the decision and its recording.
    pub evidence: PathBuf,
    /// Should this process die, new connections get the baseline again after this time.
    pub lease: Duration,
}

impl CanaryRequest {
    /// `--min-flows` unless the user says otherwise: with fewer, one odd connection is the whole figure.
    pub const DEFAULT_MIN_FLOWS: u64 = 5;
    /// `--lease` unless the user says otherwise: long enough for a host that swaps, short beside a watch.
    pub const DEFAULT_LEASE: Duration = Duration::from_secs(10);
    /// Shorter, a busy host would lose its canaries; longer, it is no lease.
    pub const LEASES: std::ops::RangeInclusive<Duration> = Duration::from_secs(1)..=Duration::from_secs(3600);
}
