//! What the charts of one flow are made of, column by column.

use super::events::{self, Happened};
use super::series::{Buckets, Extremes};
use super::{Widths, phases, sequence};
use crate::measure::amounts::Amounts;
use crate::measure::inner;
use crate::measure::phases::Phases;
use crate::walk::{BOUNDS, Counter, Run};
use ccactl_recording::Column;

/// The columns that are drawn, beside those of inner state and bounds, and those that say which row it is.
const COLUMNS: [Column; 9] = [
    Column::TUs,
    Column::Netns,
    Column::FlowId,
    Column::Algorithm,
    Column::TraceMode,
    Column::CwndPkts,
    Column::RttUs,
    Column::MssBytes,
    Column::SndWndBytes,
];

/// The counters that are drawn, or of which the increase is.
const COUNTERS: [Counter; 6] = [
    Counter::BytesSent,
    Counter::BytesAcked,
    Counter::BytesRetrans,
    Counter::DeliveredPkts,
    Counter::LostPkts,
    Counter::RtoCount,
];

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
    pub delivered: Amounts<f64>,
    /// Bytes.
    pub sent: Amounts<f64>,
    pub phases: Buckets<Phases>,
    pub events: Buckets<Happened>,
    pub places: Buckets<sequence::Place>,
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
            places: Buckets::new(widths.place_us),
        }
    }

    /// Takes rows in.
    pub fn add(&mut self, run: &Run<'_>, widths: &Widths) {
        run.known(|columns| &columns.rtt_us, |t_us, value| self.rtt.at(t_us).add(t_us, value));
        run.known(|columns| &columns.cwnd_pkts, |t_us, value| self.cwnd.at(t_us).add(t_us, value));
        for (k, buckets) in self.bounds.iter_mut().enumerate() {
            run.known(|columns| &columns.bounds[k], |t_us, value| buckets.at(t_us).add(t_us, value));
        }
        for (k, buckets) in self.inner.iter_mut().enumerate() {
            run.known(|columns| &columns.inner[k], |t_us, value| buckets.at(t_us).add(t_us, value));
        }
        run.growth(Counter::DeliveredPkts, |span_us, pkts| self.delivered.add(span_us, widths.rate_us, pkts as f64));
        run.growth(Counter::BytesSent, |span_us, bytes| self.sent.add(span_us, widths.rate_us, bytes as f64));
        phases::add(&mut self.phases, run);
        events::add(&mut self.events, run);
        sequence::add(&mut self.places, run);
    }
}
