//! The kernel's timer wheel (`kernel/time/timer.c`): when a timer that was set really fires.

use crate::Nanos;

/// Timers count jiffies, and the further away one is, the coarser: each level has steps eight times those of the one before
/// (`LVL_CLK_SHIFT` 3, `LVL_BITS` 6).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wheel {
    hz: u32,
}

const LEVEL_SLOTS: u64 = 64;
const LEVELS: u32 = 9;

impl Wheel {
    /// With `CONFIG_HZ`.
    pub fn new(hz: u32) -> Wheel {
        Wheel { hz }
    }

    /// `usecs_to_jiffies()`, which rounds up.
    pub fn jiffies(self, us: u64) -> u64 {
        (us * u64::from(self.hz)).div_ceil(1_000_000)
    }

    /// `jiffies_to_usecs()`
    pub fn us(self, jiffies: u64) -> u64 {
        jiffies * 1_000_000 / u64::from(self.hz)
    }

    /// The jiffy of a moment.
    pub fn now(self, now_ns: Nanos) -> u64 {
        (u128::from(now_ns) * u128::from(self.hz) / 1_000_000_000) as u64
    }

    /// When a timer fires that is set now for so many jiffies (`calc_wheel_index()`): at the start of the jiffy after the one
    /// that it was set for, of the steps of its level.
    pub fn fires_ns(self, now_ns: Nanos, jiffies: u64) -> Nanos {
        let now = self.now(now_ns);
        let expires = now + jiffies;
        let mut level = 0;
        while level + 1 < LEVELS && jiffies >= level_start(level + 1) {
            level += 1;
        }
        let shift = 3 * level;
        let fires = (expires + (1 << shift)) >> shift << shift;
        (u128::from(fires) * 1_000_000_000).div_ceil(u128::from(self.hz)) as u64
    }
}

/// `LVL_START`
fn level_start(level: u32) -> u64 {
    (LEVEL_SLOTS - 1) << (3 * (level - 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn near_timers_are_exact_to_a_jiffy_and_far_ones_to_eight_or_more() {
        let wheel = Wheel::new(1000);
        assert_eq!(wheel.fires_ns(10 * MS + 5, 3), 14 * MS);
        assert_eq!(wheel.fires_ns(10 * MS, 62), 73 * MS);
        // From 63 jiffies on in steps of 8: 10 + 200 = 210, and 216 is the next of them.
        assert_eq!(wheel.fires_ns(10 * MS, 200), 216 * MS);
        // From 504 on in steps of 64.
        assert_eq!(wheel.fires_ns(10 * MS, 1000), 1024 * MS);
    }

    #[test]
    fn microseconds_round_up() {
        let wheel = Wheel::new(250);
        assert_eq!((wheel.jiffies(1), wheel.jiffies(4000), wheel.jiffies(4001)), (1, 1, 2));
        assert_eq!(wheel.us(3), 12_000);
    }
}
