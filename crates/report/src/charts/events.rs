//! Losses and timeouts as marks, few enough to be told apart.

use super::series::Buckets;
use super::{EventMark, US_PER_S};
use crate::walk::{Counter, Run};

/// What happened in one bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Happened {
    lost_pkts: u64,
    rtos: u64,
}

/// Takes rows in.
pub fn add(buckets: &mut Buckets<Happened>, run: &Run<'_>) {
    run.growth(Counter::LostPkts, |(_, t_us), lost_pkts| {
        let happened = buckets.at(t_us);
        happened.lost_pkts = happened.lost_pkts.saturating_add(lost_pkts);
    });
    run.growth(Counter::RtoCount, |(_, t_us), rtos| {
        let happened = buckets.at(t_us);
        happened.rtos = happened.rtos.saturating_add(rtos);
    });
}

/// The marks in the order of time.
pub fn marks(buckets: Buckets<Happened>, width_us: u64) -> Vec<EventMark> {
    let mark = |(bucket, Happened { lost_pkts, rtos })| {
        let at_s = (bucket * width_us + width_us / 2) as f64 / US_PER_S;
        EventMark { at_s, lost_pkts, rtos }
    };
    buckets.finish().into_iter().map(mark).collect()
}
