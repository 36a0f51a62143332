//! `CLOCK_MONOTONIC` in nanoseconds: the same for every process of a bench; and the CPU time of a thread.

use ccactl_link::Nanos;
use nix::time::{ClockId, clock_gettime};

/// Now.
#[must_use]
pub fn now() -> Nanos {
    let time = clock_gettime(ClockId::CLOCK_MONOTONIC).expect("every Linux has a monotonic clock");
    time.tv_sec().cast_unsigned() * 1_000_000_000 + time.tv_nsec().cast_unsigned()
}

/// The first moment at or after `earliest` that lies `phase` after a full second of this clock. The kernel's timer interrupt (HZ) counts
/// from full seconds, so runs of one phase meet it alike.
#[must_use]
pub fn at_phase(earliest: Nanos, phase: Nanos) -> Nanos {
    const SECOND: Nanos = 1_000_000_000;
    let phase = phase % SECOND;
    earliest + (phase + SECOND - earliest % SECOND) % SECOND
}

/// CPU time of the calling thread, in s.
#[must_use]
pub fn thread_cpu_s() -> f64 {
    let time = clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).expect("every Linux has a clock per thread");
    time.tv_sec() as f64 + time.tv_nsec() as f64 / 1e9
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_phase_is_met_at_the_next_chance() {
        const MS: Nanos = 1_000_000;
        assert_eq!(at_phase(5_000 * MS, 0), 5_000 * MS);
        assert_eq!(at_phase(5_001 * MS, 0), 6_000 * MS);
        assert_eq!(at_phase(5_001 * MS, 3 * MS), 5_003 * MS);
        assert_eq!(at_phase(5_004 * MS, 1_003 * MS), 6_003 * MS);
    }
}
