//! How a bench is carried out.

use super::network::Backend;
use super::validity::Limits;
use ccactl_link::Nanos;
use std::path::PathBuf;

/// How a bench is carried out; what it measures is in the scenario.
#[derive(Debug, Clone)]
pub struct Options {
    /// The `ccactl` binary, which is also the built-in traffic.
    pub program: PathBuf,
    /// What a valid run must keep to.
    pub limits: Limits,
    /// How often a run is tried until it is valid; see [`ATTEMPTS`](super::ATTEMPTS).
    pub attempts: u32,
    /// Who carries the packets.
    pub backend: Backend,
    /// Start each run so long after a full second of the monotonic clock; at any time when absent.
    pub phase_ns: Option<Nanos>,
}
