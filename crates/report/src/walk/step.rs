//! What happened to one flow between two of its rows.

use super::row::increase;
use super::{Counter, Name, Row};

/// From one row of a flow to the next.
#[derive(Debug, Clone, Copy)]
pub struct Step<'a> {
    /// The row before; `None` for the flow's first.
    pub previous: Option<&'a Row>,
    /// The row after.
    pub row: &'a Row,
}

impl Step<'_> {
    /// Its length; 0 where two rows changed places in time.
    pub fn dt_us(&self) -> u64 {
        self.previous.map_or(0, |previous| self.row.t_us.saturating_sub(previous.t_us))
    }

    /// By how much a counter grew.
    pub fn increase(&self, counter: Counter) -> u64 {
        let Some(previous) = self.previous else { return 0 };
        increase(previous.counter(counter), self.row.counter(counter))
    }

    /// The RTT sample that the row brings. `rtt_us` is the *latest* sample, which a row after a duplicate ACK repeats, so it
    /// is a new one only when packets were delivered since the row before.
    pub fn rtt_sample_us(&self) -> Option<u32> {
        self.row.rtt_us.filter(|_| self.increase(Counter::DeliveredPkts) > 0)
    }

    /// The algorithm before, where the row after shows another one.
    pub fn changed_from(&self) -> Option<Name> {
        self.previous.copied().and_then(Row::running_after).filter(|before| *before != self.row.algorithm)
    }
}
