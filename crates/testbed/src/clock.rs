//! `CLOCK_MONOTONIC` in nanoseconds: the same for every process of a bench.

use ccactl_link::Nanos;
use nix::time::{ClockId, clock_gettime};

/// Now.
#[must_use]
pub fn now() -> Nanos {
    let time = clock_gettime(ClockId::CLOCK_MONOTONIC).expect("every Linux has a monotonic clock");
    time.tv_sec().cast_unsigned() * 1_000_000_000 + time.tv_nsec().cast_unsigned()
}
