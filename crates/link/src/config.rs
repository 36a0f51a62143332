//! Parameters of a link.

use crate::Nanos;
use crate::buffer::Capacity;
use crate::queue::Discipline;
use crate::trace::Trace;
use crate::wire::WireConfig;
use std::sync::Arc;

/// How fast packets leave, over time. Times count from [`Link::set_origin`](crate::Link::set_origin).
#[derive(Debug, Clone, PartialEq)]
pub enum RatePlan {
    /// Rates in bit/s, each from its time on: the first at 0, times ascending. A rate of 0 is an outage; the last one is
    /// not 0. A packet that is leaving at a step leaves at the old rate before and at the new one after it.
    Steps(Vec<(Nanos, u64)>),
    /// Opportunities of delivery.
    Trace(Arc<Trace>),
}

impl RatePlan {
    /// One rate for ever, in bit/s.
    #[must_use]
    pub fn constant(rate_bps: u64) -> Self {
        RatePlan::Steps(vec![(0, rate_bps)])
    }

    /// The highest rate in bit/s; of a trace over one millisecond, its unit.
    #[must_use]
    pub fn highest_rate_bps(&self) -> u64 {
        match self {
            RatePlan::Steps(steps) => steps.iter().map(|step| step.1).max().unwrap_or(0),
            RatePlan::Trace(trace) => trace.highest_rate_bps(),
        }
    }
}

/// Parameters of a link.
#[derive(Debug, Clone, PartialEq)]
pub struct LinkConfig {
    /// Rate on the wire.
    pub rate: RatePlan,
    /// Size of the buffer, whatever the discipline.
    pub capacity: Capacity,
    /// Who waits, who leaves next, who is dropped.
    pub queue: Discipline,
    /// An ECN-capable packet that finds more than this in the buffer is marked (RFC 8257 section 3.1, a step at one
    /// threshold), in addition to what the discipline marks.
    pub mark_above: Option<Capacity>,
    /// What happens between the transmitter and the far end.
    pub wire: WireConfig,
    /// Seed of all random decisions.
    pub seed: u64,
}

impl LinkConfig {
    /// A drop-tail queue before a perfect wire without delay.
    #[must_use]
    pub fn drop_tail(rate_bps: u64, capacity: Capacity) -> Self {
        LinkConfig {
            rate: RatePlan::constant(rate_bps),
            capacity,
            queue: Discipline::DropTail,
            mark_above: None,
            wire: WireConfig::default(),
            seed: 0,
        }
    }
}
