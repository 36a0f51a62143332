//! What the BPF side counts: rows by event, rows lost by reason, sockets.

use aya::maps::{MapData, PerCpuArray};
use ccactl_abi::layout::{COUNT_DROPS, COUNT_FLOWS, DROP_NO_STORAGE, DROP_RING_FULL_EVENTS, DROP_RING_FULL_SAMPLES};
use ccactl_recording::DropReasons;

/// The counts of one recorder; they outlive its programs.
pub(crate) struct Counts(PerCpuArray<MapData, u64>);

impl Counts {
    pub(crate) fn new(map: PerCpuArray<MapData, u64>) -> Counts {
        Counts(map)
    }

    /// Rows lost so far.
    pub(crate) fn drops(&self) -> DropReasons {
        DropReasons {
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
