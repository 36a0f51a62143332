//! Which links and delays a packet passes between two hosts.

use ccactl_link::Nanos;

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

/// A propagation delay that may change in steps. Order is kept: a shorter delay lets no packet overtake.
#[derive(Debug, Clone, PartialEq)]
pub struct Delay {
    /// Times after the origin and delays from then on; the first at 0.
    steps: Vec<(Nanos, Nanos)>,
    last_due: Nanos,
}

impl Delay {
    /// `steps` are times after the beginning of the run, ascending from 0, and delays.
    #[must_use]
    pub fn new(steps: Vec<(Nanos, Nanos)>) -> Self {
        assert!(steps.first().is_some_and(|first| first.0 == 0), "a delay has a value from the beginning on");
        Delay { steps, last_due: 0 }
    }

    /// When a packet that enters at `at` comes out.
    pub fn pass(&mut self, at: Nanos, origin: Nanos) -> Nanos {
        let since = at.saturating_sub(origin);
        let delay = self.steps[self.steps.partition_point(|step| step.0 <= since) - 1].1;
        self.last_due = self.last_due.max(at + delay);
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
}
