//! What the BPF side counts: rows by event, rows lost by reason, sockets.

use aya::maps::{MapData, PerCpuArray};
use ccactl_abi::layout::{COUNT_DROPS, COUNT_FLOWS, DROP_NO_STORAGE, DROP_RING_FULL_EVENTS, DROP_RING_FULL_SAMPLES};
use serde::Serialize;

/// Rows that are missing, by reason.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Drops {
    /// Samples that found the ring buffer filled beyond the part that they may use: user space did not keep up.
    pub ring_full_samples: u64,
    /// Events that found the ring buffer full.
    pub ring_full_events: u64,
    /// The kernel had no memory for what the recorder remembers of a socket.
    pub no_storage: u64,
}

impl Drops {
    /// All of them.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.ring_full_samples + self.ring_full_events + self.no_storage
    }
}

/// The counts of one recorder; they outlive its programs.
pub(crate) struct Counts(PerCpuArray<MapData, u64>);

impl Counts {
    pub(crate) fn new(map: PerCpuArray<MapData, u64>) -> Counts {
        Counts(map)
    }

    /// Rows lost so far.
    pub(crate) fn drops(&self) -> Drops {
        Drops {
            ring_full_samples: self.sum(COUNT_DROPS + DROP_RING_FULL_SAMPLES),
            ring_full_events: self.sum(COUNT_DROPS + DROP_RING_FULL_EVENTS),
            no_storage: self.sum(COUNT_DROPS + DROP_NO_STORAGE),
        }
    }

    /// Sockets of which there is a row.
    pub(crate) fn flows(&self) -> u64 {
        self.sum(COUNT_FLOWS)
    }

    /// Over all CPUs.
    fn sum(&self, index: usize) -> u64 {
        self.0.get(&(index as u32), 0).map_or(0, |counts| counts.iter().sum())
    }
}
