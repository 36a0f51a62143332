//! When a transmission may begin and when it ends, by the rate plan.

use crate::Nanos;
use crate::config::RatePlan;
use crate::trace::{OPPORTUNITY_BYTES, Trace};
use std::sync::Arc;

/// A rate in bit/s times nanoseconds gives units of which a byte has this many.
pub(crate) const UNITS_PER_BYTE: u128 = 8 * 1_000_000_000;

/// A rate plan in time.
pub(crate) enum Schedule {
    Steps(Steps),
    Trace(Opportunities),
}

impl Schedule {
    pub fn new(plan: RatePlan) -> Self {
        match plan {
            RatePlan::Steps(steps) => Schedule::Steps(Steps::new(steps)),
            RatePlan::Trace(trace) => Schedule::Trace(Opportunities::new(trace)),
        }
    }

    pub fn set_origin(&mut self, origin: Nanos) {
        match self {
            Schedule::Steps(steps) => steps.origin = origin,
            Schedule::Trace(opportunities) => opportunities.origin = origin,
        }
    }

    /// Rate at `now` in bit/s, during an outage the one before or after it; a trace's mean rate. Never 0.
    pub fn rate_bps(&self, now: Nanos) -> u64 {
        match self {
            Schedule::Steps(steps) => steps.latest_rate(now),
            Schedule::Trace(opportunities) => opportunities.mean_rate_bps,
        }
    }

    /// When the next transmission may begin, `now` or later. `idle`: nothing has waited right before `now`.
    pub fn earliest_start(&mut self, now: Nanos, idle: bool) -> Nanos {
        match self {
            Schedule::Steps(_) => now,
            Schedule::Trace(opportunities) => opportunities.earliest_start(now, idle),
        }
    }

    /// When `bytes` that begin to leave at `start` have left. Transmissions follow one another.
    pub fn finish(&mut self, start: Nanos, bytes: u32) -> Nanos {
        match self {
            Schedule::Steps(steps) => steps.finish(start, bytes),
            Schedule::Trace(opportunities) => opportunities.finish(start, bytes),
        }
    }
}

/// Rates by time.
pub(crate) struct Steps {
    steps: Vec<(Nanos, u64)>,
    origin: Nanos,
}

impl Steps {
    fn new(steps: Vec<(Nanos, u64)>) -> Self {
        assert_eq!(steps.first().map(|step| step.0), Some(0), "a link has a rate from its beginning on");
        assert!(steps.is_sorted_by(|a, b| a.0 < b.0), "steps of a rate ascend in time");
        assert!(steps.last().is_some_and(|step| step.1 > 0), "the last rate of a link is not 0");
        Steps { steps, origin: 0 }
    }

    /// Number of the next step and the rate before it.
    fn in_force(&self, time: Nanos) -> (usize, u64) {
        let time = time.saturating_sub(self.origin);
        let next = self.steps.partition_point(|step| step.0 <= time);
        (next, self.steps[next - 1].1)
    }

    fn latest_rate(&self, time: Nanos) -> u64 {
        let (before, after) = self.steps.split_at(self.in_force(time).0);
        let mut rates = before.iter().rev().chain(after).map(|step| step.1);
        rates.find(|rate| *rate > 0).expect("the last rate is not 0")
    }

    /// Rounded up, so that the rate is never exceeded.
    fn finish(&self, start: Nanos, bytes: u32) -> Nanos {
        let mut units = u128::from(bytes) * UNITS_PER_BYTE;
        let mut time = start;
        let (mut next, mut rate) = self.in_force(start);
        while let Some((at, next_rate)) = self.steps.get(next) {
            let until_step = u128::from(at + self.origin - time) * u128::from(rate);
            if until_step >= units {
                break;
            }
            units -= until_step;
            (time, rate, next) = (at + self.origin, *next_rate, next + 1);
        }
        let took = units.div_ceil(u128::from(rate));
        time + u64::try_from(took).expect("one packet takes less than centuries")
    }
}

/// Opportunities of a trace, used up one after the other.
pub(crate) struct Opportunities {
    trace: Arc<Trace>,
    mean_rate_bps: u64,
    origin: Nanos,
    /// Number of the first opportunity that has not begun.
    next: u64,
    /// The one that has begun: its time, and bytes that may still leave.
    begun: Option<(Nanos, u32)>,
}

impl Opportunities {
    fn new(trace: Arc<Trace>) -> Self {
        Opportunities { mean_rate_bps: trace.mean_rate_bps().max(1), trace, origin: 0, next: 0, begun: None }
    }

    /// Time of the next one at which bytes may leave.
    fn time(&self) -> Nanos {
        self.begun.map_or_else(|| self.origin + self.trace.time_of(self.next), |begun| begun.0)
    }

    fn earliest_start(&mut self, now: Nanos, idle: bool) -> Nanos {
        // An opportunity at the very time at which a packet comes to an idle link was before the packet.
        self.forget_before(if idle { now + 1 } else { now });
        self.time()
    }

    /// What had its time while nothing left is gone.
    fn forget_before(&mut self, time: Nanos) {
        self.begun = self.begun.filter(|begun| begun.0 >= time);
        if let Some(last_gone) = time.checked_sub(self.origin + 1) {
            self.next = self.next.max(self.trace.first_after(last_gone));
        }
    }

    fn finish(&mut self, start: Nanos, bytes: u32) -> Nanos {
        self.forget_before(start);
        let mut missing = bytes;
        loop {
            let time = self.time();
            let left = self.begun.map_or(OPPORTUNITY_BYTES, |begun| begun.1);
            self.next += u64::from(self.begun.is_none());
            let used = missing.min(left);
            missing -= used;
            self.begun = (left > used).then_some((time, left - used));
            if missing == 0 {
                return time;
            }
        }
    }
}
