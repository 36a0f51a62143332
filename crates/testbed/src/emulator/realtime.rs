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

/// Reservations are renewed so often: who has used one up waits for less than this.
const PERIOD_NS: u64 = 10_000_000;

/// What a path needs of a CPU, with room: an emulator used 3 % of one for 1.5 Mbit/s, 26 % for 100 Mbit/s and 85 % for 600 Mbit/s of
/// 1500-byte packets on the host of docs/performance.md. Two at 100 Mbit/s must fit into what the kernel lets be reserved of two CPUs
/// (95 % each), and one thread cannot have more than one CPU.
fn reservation(calibrated_bps: u64) -> Reservation {
    let percent = (10 + calibrated_bps * 60 / 100_000_000).min(85);
    Reservation { runtime_ns: PERIOD_NS / 100 * percent, period_ns: PERIOD_NS }
}

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

/// A reservation of CPU time for the calling thread, else a fixed priority, and the finest timer. The rate is
/// [`Topology::calibrated_bps`](super::topology::Topology::calibrated_bps).
pub fn raise_thread(calibrated_bps: u64) -> Standing {
    // The slack is only for the case that both are refused: such threads have none.
    let _ = nix::sys::prctl::set_timerslack(1);
    let reserved = reservation(calibrated_bps).take();
    match reserved.is_err().then(|| priority::EMULATOR.take()) {
        None => Standing::Reserved,
        Some(Ok(())) => Standing::Priority,
        Some(Err(_)) => Standing::Ordinary,
    }
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

    #[test]
    fn a_reservation_grows_with_the_rate_and_leaves_room_for_a_second_one() {
        let percent = |bps| reservation(bps).runtime_ns * 100 / reservation(bps).period_ns;
        assert_eq!([1_500_000, 20_000_000, 100_000_000, 600_000_000].map(percent), [10, 22, 70, 85]);
    }
}
