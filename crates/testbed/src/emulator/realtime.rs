//! Makes the calling thread punctual.

use crate::host::priority::{self, Reservation};
use nix::sys::mman::{MlockAllFlags, mlockall, munlockall};
use std::sync::Mutex;

/// How many emulators of this process want its memory locked.
static HOLDERS: Mutex<usize> = Mutex::new(0);

/// Locked memory of the process, until the last of these is dropped: locking belongs to the process, and its emulators may run side
/// by side. Pages are locked once they are touched, so the large parts of the process that the emulator never uses cost nothing.
pub struct LockedMemory(());

impl LockedMemory {
    /// Locks what is there and what will come.
    pub fn lock() -> nix::Result<Self> {
        let mut holders = HOLDERS.lock().expect("no holder panics");
        if *holders == 0 {
            let on_fault = MlockAllFlags::from_bits_retain(libc::MCL_ONFAULT);
            mlockall(MlockAllFlags::MCL_CURRENT | MlockAllFlags::MCL_FUTURE | on_fault)?;
        }
        *holders += 1;
        Ok(LockedMemory(()))
    }
}

impl Drop for LockedMemory {
    fn drop(&mut self) {
        let mut holders = HOLDERS.lock().expect("no holder panics");
        *holders -= 1;
        if *holders == 0 {
            let _ = munlockall();
        }
    }
}

/// An emulator that needs less than half of a core has a fixed priority instead: at most so fast, in bit/s of 1500-byte packets. What a
/// hypervisor takes while the thread runs is charged to its reservation, and the thread waits until as many periods have renewed it. That
/// is ten times as long with a tenth of a CPU, and a fifth longer with 85 %. With a tenth, packets of 1.5 Mbit/s were up to 650 ms late on the host
/// of docs/performance.md; with a fixed priority, up to 304 ms.
const PRIORITY_SUFFICES_BPS: u64 = 200_000_000;

/// What an emulator of a fast link needs of a CPU: it used 85 % of one for 600 Mbit/s of 1500-byte packets on the host of
/// docs/performance.md. Two fit into what the kernel lets be reserved of two CPUs, 95 % each. Who has used his up waits for the rest of
/// the period.
const MOST_OF_A_CPU: Reservation = Reservation { runtime_ns: 8_500_000, period_ns: 10_000_000 };

/// How a thread comes to its CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// Reserved CPU time (`SCHED_DEADLINE`).
    Reserved,
    /// A fixed priority (`SCHED_FIFO`).
    Priority,
    /// As every process.
    Ordinary,
}

/// A reservation of CPU time for the calling thread where it needs that and gets it, else a fixed priority, and the finest timer. The rate is
/// [`Topology::calibrated_bps`](super::topology::Topology::calibrated_bps).
pub fn raise_thread(calibrated_bps: u64) -> Standing {
    // The slack is only for the case that both are refused: such threads have none.
    let _ = nix::sys::prctl::set_timerslack(1);
    if calibrated_bps > PRIORITY_SUFFICES_BPS {
        match MOST_OF_A_CPU.take() {
            Ok(()) => return Standing::Reserved,
            Err(error) => tracing::warn!("emulator: no CPU time reserved ({error}); other load may make packets late"),
        }
    }
    if priority::EMULATOR.take().is_ok() { Standing::Priority } else { Standing::Ordinary }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Size of the locked memory of this process (`VmLck` of `/proc/self/status`); with `MCL_ONFAULT` the kernel counts mappings.
    fn locked_kib() -> u64 {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmLck:")).unwrap();
        line.trim().trim_end_matches(" kB").parse().unwrap()
    }

    #[test]
    fn memory_stays_locked_until_the_last_holder_is_gone() {
        // Without the right to lock there is nothing to test; in CI there is root.
        let Ok(first) = LockedMemory::lock() else {
            assert_ne!(std::env::var("CI").as_deref(), Ok("true"), "CI runs as root");
            eprintln!("not run: needs the right to lock memory");
            return;
        };
        let second = LockedMemory::lock().unwrap();
        drop(first);
        assert!(locked_kib() > 0, "the second holder still needs it");
        drop(second);
        assert_eq!(locked_kib(), 0);
    }
}
