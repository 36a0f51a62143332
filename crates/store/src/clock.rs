//! Time for the uploader, which a test lets go faster.

use std::time::{Duration, Instant};

/// A clock that may go faster than that of the host: then waits are as much shorter.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    began: Instant,
    speed: f64,
}

impl Clock {
    /// The time of the host.
    #[must_use]
    pub fn of_host() -> Clock {
        Clock::fast(1.0)
    }

    /// One that goes `speed` times as fast.
    #[must_use]
    pub fn fast(speed: f64) -> Clock {
        Clock { began: Instant::now(), speed }
    }

    /// Since it was made.
    pub(crate) fn now(&self) -> Duration {
        self.began.elapsed().mul_f64(self.speed)
    }

    /// Waits until it shows `until`.
    pub(crate) async fn wait_until(&self, until: Duration) {
        tokio::time::sleep(until.saturating_sub(self.now()).div_f64(self.speed)).await;
    }
}

/// How long to wait after a failure: twice as long after each, up to a ceiling, and a part of it by chance, so that a fleet
/// does not come back all at once.
#[derive(Debug, Clone)]
pub(crate) struct Backoff {
    first: Duration,
    ceiling: Duration,
    next: Duration,
    chance: u64,
}

impl Backoff {
    pub(crate) fn new(first: Duration, ceiling: Duration) -> Backoff {
        // Any number but 0; hosts differ in it, and that is all.
        let chance = u64::from(std::process::id()) << 32
            | u64::from(std::time::UNIX_EPOCH.elapsed().map_or(1, |t| t.subsec_nanos()) | 1);
        Backoff { first, ceiling, next: first, chance }
    }

    /// The next wait: between a half and the whole of what it is by the rule.
    pub(crate) fn next(&mut self) -> Duration {
        let whole = self.next;
        self.next = (whole * 2).min(self.ceiling);
        // Marsaglia's xorshift64.
        self.chance ^= self.chance << 13;
        self.chance ^= self.chance >> 7;
        self.chance ^= self.chance << 17;
        whole / 2 + (whole / 2).mul_f64((self.chance >> 11) as f64 / (1_u64 << 53) as f64)
    }

    pub(crate) fn reset(&mut self) {
        self.next = self.first;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_the_ceiling_and_begin_anew() {
        let (first, ceiling) = (Duration::from_secs(1), Duration::from_secs(60));
        let mut backoff = Backoff::new(first, ceiling);
        for whole in [1, 2, 4, 8, 16, 32, 60, 60] {
            let (wait, whole) = (backoff.next(), Duration::from_secs(whole));
            assert!((whole / 2..=whole).contains(&wait), "{wait:?} of {whole:?}");
        }
        backoff.reset();
        assert!(backoff.next() <= first);
    }

    #[test]
    fn a_fast_clock_has_short_waits() {
        let clock = Clock::fast(1000.0);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let began = Instant::now();
        runtime.block_on(clock.wait_until(clock.now() + Duration::from_secs(10)));
        assert!(began.elapsed() >= Duration::from_millis(9), "{:?}", began.elapsed());
        assert!(clock.now() >= Duration::from_secs(10));
    }
}
