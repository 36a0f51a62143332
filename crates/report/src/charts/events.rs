//! Losses and timeouts as marks, few enough to be told apart.

use super::{Buckets, EventMark, US_PER_S};
use crate::walk::{Counter, Step};

/// What happened in one bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Happened {
    lost_pkts: u64,
    rtos: u64,
}

/// Takes a step in.
pub fn add(buckets: &mut Buckets<Happened>, step: &Step<'_>) {
    let (lost_pkts, rtos) = (step.increase(Counter::LostPkts), step.increase(Counter::RtoCount));
    if lost_pkts > 0 || rtos > 0 {
        let happened = buckets.at(step.row.t_us);
        happened.lost_pkts = happened.lost_pkts.saturating_add(lost_pkts);
        happened.rtos = happened.rtos.saturating_add(rtos);
    }
}

/// The marks in the order of time.
pub fn marks(buckets: Buckets<Happened>, width_us: u64) -> Vec<EventMark> {
    let mark = |(bucket, Happened { lost_pkts, rtos })| {
        let at_s = (bucket * width_us + width_us / 2) as f64 / US_PER_S;
        EventMark { at_s, lost_pkts, rtos }
    };
    buckets.finish().into_iter().map(mark).collect()
}
