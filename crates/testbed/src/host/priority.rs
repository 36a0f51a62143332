//! Real-time priorities, so that a bench keeps time on a host that does other work as well.
//!
//! The kernel's TCP runs in the emulator's thread, but not while a process at one end holds its socket: then what arrives waits until
//! that process has let go of it. Where another program's time slice lies in between, an RTT of 10 ms gets milliseconds longer, and
//! an algorithm that goes by delay sends less (`docs/performance.md`, "Load beside a bench").

use std::io;

/// Policy and priority of a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Priority {
    policy: libc::c_int,
    priority: libc::c_int,
}

/// The emulator's thread where no CPU time is reserved: above everything else of a bench, below the kernel's own threads of priority
/// 50 and more.
pub const EMULATOR: Priority = Priority { policy: libc::SCHED_FIFO, priority: 40 };
/// Processes at the ends of flows: above ordinary ones, in turn among each other.
pub const ENDS: Priority = Priority { policy: libc::SCHED_RR, priority: 20 };

/// CPU time that the kernel promises a thread (`SCHED_DEADLINE`), before threads with a fixed priority. Ordinary processes that starve,
/// which since Linux 6.12 have 50 ms of a second before those (the fair server), are one reservation among others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reservation {
    /// CPU time per period, in ns. Beyond it the thread has what nobody else has reserved.
    pub runtime_ns: u64,
    /// In ns.
    pub period_ns: u64,
}

impl Reservation {
    /// Gives it to the calling thread; what that starts is ordinary.
    ///
    /// # Errors
    /// Without `CAP_SYS_NICE`; when so much is not left beside the reservations of others (`EBUSY`); where the thread may not run on every
    /// CPU (`EPERM`).
    pub fn take(self) -> io::Result<()> {
        // SAFETY: an all-zero sched_attr is one.
        let mut attributes: libc::sched_attr = unsafe { std::mem::zeroed() };
        attributes.size = size_of::<libc::sched_attr>() as u32;
        attributes.sched_policy = libc::SCHED_DEADLINE as u32;
        attributes.sched_flags = (libc::SCHED_FLAG_RECLAIM | libc::SCHED_FLAG_RESET_ON_FORK) as u64;
        attributes.sched_runtime = self.runtime_ns;
        attributes.sched_deadline = self.period_ns;
        attributes.sched_period = self.period_ns;
        // SAFETY: the call reads one sched_attr of that size, which outlives it; 0 is the calling thread.
        let result = unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attributes, 0) };
        if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }
}

impl Priority {
    /// Gives it to the calling thread; threads and processes that it starts have it too.
    ///
    /// # Errors
    /// Without `CAP_SYS_NICE`, or in a cgroup without real-time time of its own (`CONFIG_RT_GROUP_SCHED`).
    pub fn take(self) -> io::Result<()> {
        let parameters = libc::sched_param { sched_priority: self.priority };
        // SAFETY: the call reads one sched_param, which outlives it; 0 is the calling thread.
        let result = unsafe { libc::sched_setscheduler(0, self.policy, &raw const parameters) };
        if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    /// Whether the main thread of a process has it.
    #[must_use]
    pub fn is_of(self, pid: u32) -> bool {
        let mut parameters = libc::sched_param { sched_priority: 0 };
        // SAFETY: the second call writes one sched_param, which outlives it.
        let (policy, read) = unsafe {
            let pid = pid.cast_signed();
            (libc::sched_getscheduler(pid), libc::sched_getparam(pid, &raw mut parameters))
        };
        read == 0 && policy == self.policy && parameters.sched_priority == self.priority
    }
}
