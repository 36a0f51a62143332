//! The columns of a batch.

use polars::prelude::*;

use super::numbers::Numbers;
use super::row::{BOUNDS, COUNTERS};
use super::texts::meanings;
use super::{Closing, Counter, Endpoints, Event, FlowKey, Name, Names, Row};
use crate::measure::inner;
use ccactl_recording::Column;
use ccactl_recording::read::Extent;

/// The columns that only a `close` fills, in the order of [`Closing`].
const CLOSING: [Column; 4] = [Column::DurationUs, Column::CompletionUs, Column::RttMeanUs, Column::RttMinUs];

/// The columns that a walk looks at.
pub struct Columns<'a> {
    /// Of every row, µs since the start of the recording.
    pub times_us: &'a [u64],
    /// Why there is a row; empty when the column was not asked for.
    pub events: Vec<Event>,
    /// Kernel names; empty when the column was not asked for.
    pub algorithms: Vec<Name>,
    /// Phases; empty when the column was not asked for.
    pub modes: Vec<Option<Name>>,
    /// Congestion window.
    pub cwnd_pkts: Numbers<'a>,
    /// Latest RTT sample.
    pub rtt_us: Numbers<'a>,
    /// Rows that the recorder had lost so far.
    pub dropped_rows: Numbers<'a>,
    /// In the order of [`inner::COLUMNS`].
    pub inner: [Numbers<'a>; inner::COLUMNS.len()],
    no_name: Name,
    ssthresh_pkts: Numbers<'a>,
    pacing_rate_bps: Numbers<'a>,
    bounds: [Numbers<'a>; BOUNDS.len()],
    counters: [Numbers<'a>; COUNTERS.len()],
    closing: [Numbers<'a>; CLOSING.len()],
    endpoints: EndpointColumns<'a>,
}

struct EndpointColumns<'a> {
    src: Option<&'a StringChunked>,
    dst: Option<&'a StringChunked>,
    sport: Numbers<'a>,
    dport: Numbers<'a>,
    cgroup_id: Numbers<'a>,
}

/// The columns that say of which flow a row is.
pub struct Identity<'a> {
    netns: Numbers<'a>,
    flow_id: Numbers<'a>,
}

impl<'a> Identity<'a> {
    /// Of a frame in one piece.
    pub fn of(frame: &'a DataFrame) -> PolarsResult<Identity<'a>> {
        Ok(Identity { netns: Numbers::of(frame, Column::Netns)?, flow_id: Numbers::of(frame, Column::FlowId)? })
    }

    /// The flow of a row.
    pub fn key(&self, i: usize) -> FlowKey {
        FlowKey { netns: self.netns.get(i).unwrap_or(0), flow_id: self.flow_id.get(i).unwrap_or(0) }
    }
}

impl<'a> Columns<'a> {
    /// The columns of a frame in one piece, as [`Batches`](ccactl_recording::read::Batches) gives them.
    pub fn of(frame: &'a DataFrame, names: &mut Names) -> PolarsResult<Columns<'a>> {
        let numbers = |column: Column| Numbers::of(frame, column);
        let text = |of: Column| frame.column(of.name()).ok().map(|column| column.str()).transpose();
        let no_times = || PolarsError::SchemaMismatch("t_us has rows without a number".into());
        let no_name = names.number("");
        Ok(Columns {
            times_us: numbers(Column::TUs)?.slice().ok_or_else(no_times)?,
            events: meanings(frame, Column::Event, Event::default(), Event::of)?,
            algorithms: meanings(frame, Column::Algorithm, no_name, |text| names.number(text))?,
            modes: meanings(frame, Column::TraceMode, None, |text| Some(names.number(text)))?,
            cwnd_pkts: numbers(Column::CwndPkts)?,
            rtt_us: numbers(Column::RttUs)?,
            dropped_rows: numbers(Column::DroppedRows)?,
            inner: array(inner::COLUMNS.map(numbers))?,
            no_name,
            ssthresh_pkts: numbers(Column::SsthreshPkts)?,
            pacing_rate_bps: numbers(Column::PacingRateBps)?,
            bounds: array(BOUNDS.map(numbers))?,
            counters: array(COUNTERS.map(numbers))?,
            closing: array(CLOSING.map(numbers))?,
            endpoints: EndpointColumns {
                src: text(Column::Src)?,
                dst: text(Column::Dst)?,
                sport: numbers(Column::Sport)?,
                dport: numbers(Column::Dport)?,
                cgroup_id: numbers(Column::CgroupId)?,
            },
        })
    }

    /// A cumulative column.
    pub fn counter(&self, counter: Counter) -> &Numbers<'a> {
        &self.counters[counter as usize]
    }

    /// Kernel name of the algorithm in a row.
    pub fn algorithm(&self, i: usize) -> Name {
        self.algorithms.get(i).copied().unwrap_or(self.no_name)
    }

    /// A row.
    pub fn row(&self, i: usize) -> Row {
        Row {
            t_us: self.times_us[i],
            algorithm: self.algorithm(i),
            mode: self.modes.get(i).copied().flatten(),
            cwnd_pkts: self.cwnd_pkts.small(i),
            ssthresh_pkts: self.ssthresh_pkts.small(i),
            rtt_us: self.rtt_us.small(i),
            pacing_rate_bps: self.pacing_rate_bps.get(i),
            inner: std::array::from_fn(|k| self.inner[k].signed(i)),
            bounds: std::array::from_fn(|k| self.bounds[k].small(i)),
            counters: std::array::from_fn(|k| self.counters[k].get(i).unwrap_or(0)),
        }
    }

    /// The columns that only a `close` fills.
    pub fn closing(&self, i: usize) -> Closing {
        let [duration_us, completion_us, rtt_mean_us, rtt_min_us] = std::array::from_fn(|k| self.closing[k].get(i));
        Closing { duration_us, completion_us, rtt_mean_us, rtt_min_us }
    }

    /// Addresses and cgroup of a row's flow.
    pub fn endpoints(&self, i: usize) -> Endpoints {
        let text = |column: Option<&StringChunked>| column.and_then(|c| c.get(i)).unwrap_or_default().to_owned();
        let columns = &self.endpoints;
        Endpoints {
            src: text(columns.src),
            dst: text(columns.dst),
            sport: columns.sport.get(i).unwrap_or(0),
            dport: columns.dport.get(i).unwrap_or(0),
            cgroup_id: columns.cgroup_id.get(i).unwrap_or(0),
        }
    }

    /// Rows and span of time; `None` without rows.
    pub fn extent(&self) -> Option<Extent> {
        Some(Extent {
            rows: self.times_us.len() as u64,
            first_us: self.times_us.iter().copied().min()?,
            last_us: self.times_us.iter().copied().max()?,
            truncated: false,
        })
    }
}

fn array<T, const N: usize>(columns: [PolarsResult<T>; N]) -> PolarsResult<[T; N]> {
    let columns: Vec<T> = columns.into_iter().collect::<PolarsResult<_>>()?;
    Ok(columns.try_into().unwrap_or_else(|_| unreachable!("as many as there were")))
}
