//! Makes the calling thread punctual.

use crate::host::priority::{self, Reservation};
use nix::sys::mman::{MlockAllFlags, mlockall, munlockall};
use std::io;
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

/// Most of a CPU; what is used beyond is made up for within the period, so that a pause is shorter than a millisecond.
const MOST_OF_A_CPU: Reservation = Reservation { runtime_ns: 8_500_000, period_ns: 10_000_000 };

/// A reservation of CPU time for the calling thread, or SCHED_FIFO where that is refused, and the finest timer.
pub fn raise_thread() -> io::Result<()> {
    // The slack is only for the case that both are refused: such threads have none.
    let _ = nix::sys::prctl::set_timerslack(1);
    MOST_OF_A_CPU.take().or_else(|_| priority::EMULATOR.take())
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
