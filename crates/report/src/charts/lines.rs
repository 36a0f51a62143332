//! What the charts of one flow are made of, on the way through its rows.

use super::events::{self, Happened};
use super::extremes::Extremes;
use super::{Buckets, Widths, phases};
use crate::measure::amounts::Amounts;
use crate::measure::inner;
use crate::measure::phases::Phases;
use crate::walk::{BOUNDS, Counter, Step};
use ccactl_recording::Column;

/// The columns that are drawn, beside those of inner state and bounds, and those that say which row it is.
const COLUMNS: [Column; 7] =
    [Column::TUs, Column::Netns, Column::FlowId, Column::Algorithm, Column::TraceMode, Column::CwndPkts, Column::RttUs];

/// The counters of which the increase is drawn.
const COUNTERS: [Counter; 4] = [Counter::BytesSent, Counter::DeliveredPkts, Counter::LostPkts, Counter::RtoCount];

/// Every column that [`Lines::add`] looks at.
pub fn columns() -> Vec<Column> {
    [&COLUMNS[..], &COUNTERS.map(Counter::column), &inner::COLUMNS, &BOUNDS].concat()
}

/// One flow.
pub struct Lines {
    pub rtt: Buckets<Extremes>,
    pub cwnd: Buckets<Extremes>,
    /// In the order of [`BOUNDS`].
    pub bounds: [Buckets<Extremes>; BOUNDS.len()],
    /// In the order of [`inner::COLUMNS`].
    pub inner: [Buckets<Extremes>; inner::COLUMNS.len()],
    /// Packets.
    pub delivered: Amounts,
    /// Bytes.
    pub sent: Amounts,
    pub phases: Buckets<Phases>,
    pub events: Buckets<Happened>,
}

impl Lines {
    /// Nothing yet.
    pub fn new(widths: &Widths) -> Lines {
        let samples = || Buckets::new(widths.sample_us);
        Lines {
            rtt: samples(),
            cwnd: samples(),
            bounds: std::array::from_fn(|_| samples()),
            inner: std::array::from_fn(|_| samples()),
            delivered: Amounts::default(),
            sent: Amounts::default(),
            phases: Buckets::new(widths.phase_us),
            events: Buckets::new(widths.event_us),
        }
    }

    /// Takes a step in.
    pub fn add(&mut self, step: &Step<'_>, widths: &Widths) {
        let row = step.row;
        let sample = |buckets: &mut Buckets<Extremes>, value: Option<i64>| {
            if let Some(value) = value {
                buckets.at(row.t_us).add(row.t_us, value);
            }
        };
        sample(&mut self.rtt, row.rtt_us.map(i64::from));
        sample(&mut self.cwnd, row.cwnd_pkts.map(i64::from));
        for (buckets, value) in self.bounds.iter_mut().zip(row.bounds) {
            sample(buckets, value.map(i64::from));
        }
        for (buckets, value) in self.inner.iter_mut().zip(row.inner) {
            sample(buckets, value);
        }
        if let Some(previous) = step.previous {
            let span_us = (previous.t_us, row.t_us);
            for (amounts, counter) in
                [(&mut self.delivered, Counter::DeliveredPkts), (&mut self.sent, Counter::BytesSent)]
            {
                let increase = step.increase(counter);
                if increase > 0 {
                    amounts.add(span_us, widths.rate_us, increase as f64);
                }
            }
        }
        phases::add(&mut self.phases, step);
        events::add(&mut self.events, step);
    }
}
