//! One flow row by row, for other tools and for a time-sequence plot.
//!
//! Positions are counted from the beginning of the connection, as the kernel's counters are. A recording has no sequence numbers: what
//! was sent once is `bytes_sent - bytes_retrans`, and a retransmission is put where the acknowledged data ends, which is where the first
//! one of a recovery is.

mod qlog;
mod xplot;

use polars::prelude::*;

use ccactl_recording::Column;
use ccactl_recording::read::{self, Recording};

use crate::summary::FlowSummary;
use crate::{Error, Options};

pub use qlog::qlog;
pub use xplot::xplot;

/// More are more than any of the tools shows.
pub const MAX_MOMENTS: usize = 2_000_000;

const NUMBERS: [Column; 16] = [
    Column::TUs,
    Column::Netns,
    Column::FlowId,
    Column::BytesAcked,
    Column::BytesSent,
    Column::BytesRetrans,
    Column::LostPkts,
    Column::SndWndBytes,
    Column::CwndPkts,
    Column::SsthreshPkts,
    Column::InflightPkts,
    Column::MssBytes,
    Column::SrttUs,
    Column::RttUs,
    Column::MinRttUs,
    Column::PacingRateBps,
];
const TEXTS: [Column; 4] = [Column::Event, Column::CaState, Column::Previous, Column::Algorithm];

/// What one row says of the flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Moment {
    /// µs since the start of the recording.
    pub t_us: u64,
    /// Position up to which everything is acknowledged.
    pub acked_bytes: u64,
    /// Position up to which everything was sent once.
    pub sent_bytes: u64,
    /// Payload sent again so far.
    pub retrans_bytes: u64,
    /// Packets marked lost so far.
    pub lost_pkts: u64,
    /// Window that the receiver offers, from `acked_bytes` on.
    pub window_bytes: u64,
    /// Congestion window.
    pub cwnd_pkts: u64,
    /// Slow-start threshold; `None` is infinite.
    pub ssthresh_pkts: Option<u64>,
    /// Packets in flight.
    pub inflight_pkts: u64,
    /// Payload of a full segment.
    pub mss_bytes: u64,
    /// Smoothed RTT.
    pub srtt_us: Option<u64>,
    /// Latest sample.
    pub rtt_us: Option<u64>,
    /// Windowed minimum.
    pub min_rtt_us: Option<u64>,
    /// `None` is unlimited.
    pub pacing_rate_bps: Option<u64>,
}

/// What happened at a moment beside its figures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// µs since the start of the recording.
    pub t_us: u64,
    /// What changed.
    pub what: Changed,
    /// Before.
    pub from: Option<String>,
    /// From then on.
    pub to: String,
}

/// What a [`Change`] is one of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Changed {
    /// The congestion state of the kernel.
    State,
    /// The algorithm, by its kernel name.
    Algorithm,
}

/// A flow in the order of time.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Trail {
    /// As in the summary.
    pub name: String,
    /// Kernel name of its first algorithm.
    pub algorithm: String,
    /// When the recording began, RFC 3339.
    pub started: String,
    /// Rows.
    pub moments: Vec<Moment>,
    /// Changes of state and algorithm.
    pub changes: Vec<Change>,
}

/// The flow of that name; without a name the one that moved most data.
///
/// # Errors
/// [`Error::UnknownFlow`] with the names that there are.
pub fn flow_named<'a>(flows: &'a [FlowSummary], name: Option<&str>) -> Result<&'a FlowSummary, Error> {
    let found = match name {
        Some(name) => flows.iter().find(|flow| flow.name == name),
        None => flows.iter().max_by_key(|flow| flow.measures.acked_bytes),
    };
    let names = || flows.iter().map(|flow| flow.name.as_str()).take(20).collect::<Vec<_>>().join(", ");
    found.ok_or_else(|| Error::UnknownFlow { asked: name.unwrap_or("the largest").to_owned(), found: names() })
}

impl Trail {
    /// Reads a flow of a recording.
    ///
    /// # Errors
    /// When the rows cannot be read, and [`Error::TooManyRows`] beyond [`MAX_MOMENTS`].
    pub fn read(recording: &Recording, flow: &FlowSummary, options: &Options) -> Result<Trail, Error> {
        let mut trail = Trail {
            name: flow.name.clone(),
            algorithm: flow.kernel_name.clone(),
            started: recording.metadata().started.clone().unwrap_or_default(),
            ..Trail::default()
        };
        for frame in recording.columns([&NUMBERS[..], &TEXTS[..]].concat(), options.window_us()?) {
            trail.add(&frame?, (flow.netns, flow.flow_id)).map_err(read::Error::rows(recording.path()))?;
            if trail.moments.len() > MAX_MOMENTS {
                return Err(Error::TooManyRows { flow: trail.name, most: MAX_MOMENTS });
            }
        }
        // Rows of several CPUs may have changed places.
        trail.moments.sort_by_key(|moment| moment.t_us);
        trail.changes.sort_by_key(|change| change.t_us);
        Ok(trail)
    }

    fn add(&mut self, frame: &DataFrame, (netns, flow_id): (u64, u64)) -> PolarsResult<()> {
        let number = |column: Column| -> PolarsResult<Option<UInt64Chunked>> {
            let Ok(found) = frame.column(column.name()) else { return Ok(None) };
            Ok(Some(found.cast(&DataType::UInt64)?.u64()?.clone()))
        };
        let text = |column: Column| frame.column(column.name()).ok().map(|column| column.str()).transpose();
        let numbers = NUMBERS.map(number).into_iter().collect::<PolarsResult<Vec<_>>>()?;
        let [event, state, previous, algorithm] = TEXTS.map(text);
        let (event, state, previous, algorithm) = (event?, state?, previous?, algorithm?);
        for i in 0..frame.height() {
            let value = |column: Column| {
                let at = NUMBERS.iter().position(|known| *known == column)?;
                numbers[at].as_ref()?.get(i)
            };
            let number = |column| value(column).unwrap_or(0);
            if (number(Column::Netns), number(Column::FlowId)) != (netns, flow_id) {
                continue;
            }
            let t_us = number(Column::TUs);
            let retrans_bytes = number(Column::BytesRetrans);
            self.moments.push(Moment {
                t_us,
                acked_bytes: number(Column::BytesAcked),
                sent_bytes: number(Column::BytesSent).saturating_sub(retrans_bytes),
                retrans_bytes,
                lost_pkts: number(Column::LostPkts),
                window_bytes: number(Column::SndWndBytes),
                cwnd_pkts: number(Column::CwndPkts),
                ssthresh_pkts: value(Column::SsthreshPkts),
                inflight_pkts: number(Column::InflightPkts),
                mss_bytes: number(Column::MssBytes),
                srtt_us: value(Column::SrttUs),
                rtt_us: value(Column::RttUs),
                min_rtt_us: value(Column::MinRttUs),
                pacing_rate_bps: value(Column::PacingRateBps),
            });
            let (what, to) = match event.and_then(|column| column.get(i)) {
                Some("ca_state") => (Changed::State, state),
                Some("algorithm") => (Changed::Algorithm, algorithm),
                _ => continue,
            };
            let (from, to) = (previous.and_then(|column| column.get(i)), to.and_then(|column| column.get(i)));
            let from = from.map(str::to_owned);
            self.changes.push(Change { t_us, what, from, to: to.unwrap_or_default().to_owned() });
        }
        Ok(())
    }
}
