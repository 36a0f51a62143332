//! Whether packets really came out of the bottleneck at its rate: what its plan gave them, in virtual time, and how much of that
//! time really passed.

use ccactl_link::Nanos;

/// Shortest backlog that says anything about the rate. The first packet after an idle time is late, because a thread had to wake up for
/// it, and those behind it are not. Over a backlog of a millisecond that looks like a link faster by per cents. Over this one, a
/// lateness that is within its own limit stays within 1 %.
const SHORTEST_NS: Nanos = 100_000_000;

/// Scheduled against actual time between packets that left the bottleneck back to back.
#[derive(Debug, Clone, Copy, Default)]
pub struct Pace {
    /// Scheduled and actual time of the last packet.
    last: Option<(Nanos, Nanos)>,
    /// Of the backlog that goes on.
    current: Elapsed,
    /// Of those that ended.
    before: Elapsed,
}

/// Time by the schedule and by the clock.
#[derive(Debug, Clone, Copy, Default)]
struct Elapsed {
    scheduled_ns: i128,
    actual_ns: Nanos,
}

impl Elapsed {
    fn and(self, other: Elapsed) -> Elapsed {
        Elapsed { scheduled_ns: self.scheduled_ns + other.scheduled_ns, actual_ns: self.actual_ns + other.actual_ns }
    }

    /// Nothing of a backlog that was too short.
    fn if_long(self) -> Elapsed {
        if self.actual_ns < SHORTEST_NS { Elapsed::default() } else { self }
    }
}

impl Pace {
    /// Adds a packet that was due at `due` and given out at `at`.
    pub fn add(&mut self, due: Nanos, at: Nanos, back_to_back: bool) {
        if !back_to_back {
            self.before = self.long();
            self.current = Elapsed::default();
        } else if let Some((last_due, last_at)) = self.last {
            // Jitter may reorder: a packet may be due before the one given out before it.
            let scheduled_ns = i128::from(due) - i128::from(last_due);
            self.current = self.current.and(Elapsed { scheduled_ns, actual_ns: at.saturating_sub(last_at) });
        }
        self.last = Some((due, at));
    }

    /// Length of all backlogs that were long enough, in s.
    #[must_use]
    pub fn secs(&self) -> f64 {
        self.long().actual_ns as f64 / 1e9
    }

    /// How much faster than planned packets came in them, as a share; `None` without any.
    #[must_use]
    pub fn error(&self) -> Option<f64> {
        let long = self.long();
        (long.actual_ns > 0).then(|| long.scheduled_ns as f64 / long.actual_ns as f64 - 1.0)
    }

    fn long(&self) -> Elapsed {
        self.before.and(self.current.if_long())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Nanos = 1_000_000;

    #[test]
    fn only_time_with_a_backlog_counts() {
        let mut pace = Pace::default();
        assert_eq!(pace.error(), None);
        for (at, back_to_back) in [(0, false), (200 * MS, true), (900 * MS, false), (1000 * MS, true)] {
            pace.add(at, at, back_to_back);
        }
        assert_eq!((pace.error(), pace.secs()), (Some(0.0), 0.3));
    }

    #[test]
    fn a_late_first_packet_of_a_short_backlog_is_lateness_and_no_rate() {
        let mut pace = Pace::default();
        // Every 10 ms two packets 1 ms apart, the first of which is 0.2 ms late.
        for start in (0..1000).map(|i| i * 10 * MS) {
            pace.add(start, start + MS / 5, false);
            pace.add(start + MS, start + MS, true);
        }
        assert_eq!((pace.error(), pace.secs()), (None, 0.0));
    }

    #[test]
    fn the_error_is_that_against_the_schedule_even_when_the_rate_changes() {
        let mut pace = Pace::default();
        for at in [0, 100 * MS, 500 * MS] {
            pace.add(at, at, at > 0);
        }
        assert_eq!(pace.error(), Some(0.0));
        // 100 ms late at the end of 900 ms.
        pace.add(900 * MS, 1000 * MS, true);
        assert!((pace.error().unwrap() + 0.1).abs() < 1e-12);
    }
}
