//! `CLOCK_MONOTONIC` in nanoseconds: the same for every process of a bench; and the CPU time of a thread.

use ccactl_link::Nanos;
use nix::time::{ClockId, clock_gettime};

/// Now.
#[must_use]
pub fn now() -> Nanos {
    let time = clock_gettime(ClockId::CLOCK_MONOTONIC).expect("every Linux has a monotonic clock");
    time.tv_sec().cast_unsigned() * 1_000_000_000 + time.tv_nsec().cast_unsigned()
}

/// CPU time of the calling thread, in s.
#[must_use]
pub fn thread_cpu_s() -> f64 {
    let time = clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).expect("every Linux has a clock per thread");
    time.tv_sec() as f64 + time.tv_nsec() as f64 / 1e9
}
