//! Which links and delays a packet passes between two hosts.

use crate::Nanos;

/// Which way a packet goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Way {
    /// From the flow's host to the server.
    Up,
    /// From the server to the flow's host.
    Down,
}

/// One way between a host and the server.
#[derive(Debug, Clone, PartialEq)]
pub struct Route {
    /// In the order in which a packet passes them; the last one ends at the device.
    pub stages: Vec<Stage>,
}

/// Part of a route.
#[derive(Debug, Clone, PartialEq)]
pub enum Stage {
    /// A transmitter with its queue and wire, by its index in the network.
    Transmitter(usize),
    /// The Snoop agent ahead of the transmitter with that index, which sees here what comes back from its hop.
    Snoop(usize),
    /// Propagation alone: no queue, no rate.
    Delay(Delay),
}

/// A propagation delay that may change in steps, and hands over at even times only where somebody gathers packets. Order is kept: a
/// shorter delay lets no packet overtake.
#[derive(Debug, Clone, PartialEq)]
pub struct Delay {
    /// Times after the origin and delays from then on; the first at 0.
    steps: Vec<(Nanos, Nanos)>,
    /// From one handing over to the next; 0 where packets come out by themselves.
    batch: Nanos,
    /// Of the ACKs of a connection in a batch only the latest comes out.
    filters: bool,
    last_due: Nanos,
}

impl Delay {
    /// `steps` are times after the beginning of the run, ascending from 0, and delays.
    #[must_use]
    pub fn new(steps: Vec<(Nanos, Nanos)>) -> Self {
        assert!(steps.first().is_some_and(|first| first.0 == 0), "a delay has a value from the beginning on");
        Delay { steps, batch: 0, filters: false, last_due: 0 }
    }

    /// Hands over what has come at multiples of this time after the origin.
    #[must_use]
    pub fn in_batches(self, batch: Nanos) -> Self {
        Delay { batch, ..self }
    }

    /// Of the ACKs of a connection that are handed over together only the latest is.
    #[must_use]
    pub fn filtering(self) -> Self {
        Delay { filters: true, ..self }
    }

    /// Whether ACKs are left out.
    #[must_use]
    pub fn filters(&self) -> bool {
        self.filters
    }

    /// When a packet that enters at `at` comes out.
    pub fn pass(&mut self, at: Nanos, origin: Nanos) -> Nanos {
        let since = at.saturating_sub(origin);
        let delay = self.steps[self.steps.partition_point(|step| step.0 <= since) - 1].1;
        let due = at + delay;
        let due = if self.batch == 0 { due } else { origin + due.saturating_sub(origin).next_multiple_of(self.batch) };
        self.last_due = self.last_due.max(due);
        self.last_due
    }

    /// The smallest of its values.
    #[must_use]
    pub fn min(&self) -> Nanos {
        self.steps.iter().map(|step| step.1).min().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delay_changes_at_its_steps_and_keeps_the_order() {
        const MS: Nanos = 1_000_000;
        let mut delay = Delay::new(vec![(0, 20 * MS), (10 * MS, 5 * MS), (30 * MS, 40 * MS)]);
        let origin = 100 * MS;
        // Before the beginning of the run the first value holds.
        assert_eq!(delay.pass(50 * MS, origin), 70 * MS);
        assert_eq!(delay.pass(109 * MS, origin), 129 * MS);
        assert_eq!(delay.pass(110 * MS, origin), 129 * MS, "not before the packet ahead");
        assert_eq!(delay.pass(125 * MS, origin), 130 * MS);
        assert_eq!(delay.pass(130 * MS, origin), 170 * MS);
        assert_eq!(delay.min(), 5 * MS);
    }

    #[test]
    fn what_is_gathered_comes_out_together() {
        const MS: Nanos = 1_000_000;
        let mut delay = Delay::new(vec![(0, 5 * MS)]).in_batches(20 * MS);
        let origin = 7 * MS;
        let out: Vec<Nanos> =
            [0, 10, 15, 16, 35].iter().map(|at| delay.pass(origin + at * MS, origin) - origin).collect();
        assert_eq!(out, [20, 20, 20, 40, 40].map(|ms| ms * MS));
        assert_eq!(delay.min(), 5 * MS);
    }
}
