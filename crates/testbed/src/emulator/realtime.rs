//! Makes the calling thread punctual.

use nix::sys::mman::{MlockAllFlags, mlockall, munlockall};
use std::io;

/// Above ordinary processes, below the kernel's own threads of priority 50 and more.
const PRIORITY: libc::c_int = 40;

/// Locked memory of the process, until dropped. Pages are locked once they are touched, so the large parts of
/// the process that the emulator never uses cost nothing.
pub struct LockedMemory(());

impl LockedMemory {
    /// Locks what is there and what will come.
    pub fn lock() -> nix::Result<Self> {
        let on_fault = MlockAllFlags::from_bits_retain(libc::MCL_ONFAULT);
        mlockall(MlockAllFlags::MCL_CURRENT | MlockAllFlags::MCL_FUTURE | on_fault).map(LockedMemory)
    }
}

impl Drop for LockedMemory {
    fn drop(&mut self) {
        let _ = munlockall();
    }
}

/// SCHED_FIFO and the finest timer for the calling thread.
pub fn raise_thread() -> io::Result<()> {
    // The slack is only for the case that the priority is refused: FIFO threads have none.
    let _ = nix::sys::prctl::set_timerslack(1);
    let parameters = libc::sched_param { sched_priority: PRIORITY };
    // SAFETY: the call reads one sched_param, which outlives it; 0 is the calling thread.
    let result = unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const parameters) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
