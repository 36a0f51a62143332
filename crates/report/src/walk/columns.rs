//! The columns of a batch, as slices of their types.

use std::ops::Range;

use polars::prelude::*;
use polars_arrow::bitmap::Bitmap;

use super::row::{BOUNDS, COUNTERS};
use super::texts::meanings;
use super::{Closing, Counter, Endpoints, Event, FlowKey, Name, Names, Row};
use crate::measure::{inner, offers};
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
    /// In the order of [`offers::COLUMNS`].
    pub offers: [Numbers<'a>; offers::COLUMNS.len()],
    /// Payload received so far.
    pub received_bytes: Numbers<'a>,
    /// Window that the receiver offers.
    pub snd_wnd_bytes: Numbers<'a>,
    /// Payload of a full segment.
    pub mss_bytes: Numbers<'a>,
    no_name: Name,
    ssthresh_pkts: Numbers<'a>,
    pacing_rate_bps: Numbers<'a>,
    /// In the order of [`BOUNDS`].
    pub bounds: [Numbers<'a>; BOUNDS.len()],
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
            times_us: numbers(Column::TUs)?.slice().or((frame.height() == 0).then_some(&[])).ok_or_else(no_times)?,
            events: meanings(frame, Column::Event, Event::default(), Event::of)?,
            algorithms: meanings(frame, Column::Algorithm, no_name, |text| names.number(text))?,
            modes: meanings(frame, Column::TraceMode, None, |text| Some(names.number(text)))?,
            cwnd_pkts: numbers(Column::CwndPkts)?,
            rtt_us: numbers(Column::RttUs)?,
            dropped_rows: numbers(Column::DroppedRows)?,
            inner: array(inner::COLUMNS.map(numbers))?,
            offers: array(offers::COLUMNS.map(numbers))?,
            received_bytes: numbers(Column::BytesReceived)?,
            snd_wnd_bytes: numbers(Column::SndWndBytes)?,
            mss_bytes: numbers(Column::MssBytes)?,
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
            counters: std::array::from_fn(|k| self.counters[k].get(i).unwrap_or(0)),
        }
    }

    /// The columns that only a `close` fills.
    pub fn closing(&self, i: usize) -> Closing {
        let [duration_us, completion_us, rtt_mean_us, rtt_min_us] = std::array::from_fn(|k| self.closing[k].get(i));
        Closing { t_us: self.times_us[i], duration_us, completion_us, rtt_mean_us, rtt_min_us }
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

/// Numbers, some of which may not be known.
pub struct Numbers<'a> {
    values: Values<'a>,
    known: Option<&'a Bitmap>,
}

/// As wide as the file has them: to widen them all would touch twice the memory.
enum Values<'a> {
    /// The column was not asked for, or an older recording lacks it.
    Absent,
    U16(&'a [u16]),
    U32(&'a [u32]),
    U64(&'a [u64]),
    I64(&'a [i64]),
}

fn chunk<T: PolarsNumericType>(column: &ChunkedArray<T>) -> (&[T::Native], Option<&Bitmap>) {
    let Some(chunk) = column.downcast_iter().next() else { return (&[], None) };
    (chunk.values().as_slice(), chunk.validity().filter(|known| known.unset_bits() > 0))
}

impl<'a> Numbers<'a> {
    /// A column of a frame in one piece.
    pub fn of(frame: &'a DataFrame, of: Column) -> PolarsResult<Numbers<'a>> {
        let Ok(column) = frame.column(of.name()) else { return Ok(Numbers { values: Values::Absent, known: None }) };
        let series = column.as_materialized_series();
        let (values, known) = match series.dtype() {
            DataType::UInt16 => {
                let (values, known) = chunk(series.u16()?);
                (Values::U16(values), known)
            }
            DataType::UInt32 => {
                let (values, known) = chunk(series.u32()?);
                (Values::U32(values), known)
            }
            DataType::UInt64 => {
                let (values, known) = chunk(series.u64()?);
                (Values::U64(values), known)
            }
            _ => {
                let (values, known) = chunk(series.i64()?);
                (Values::I64(values), known)
            }
        };
        Ok(Numbers { values, known })
    }

    /// The value of a row.
    pub fn get(&self, i: usize) -> Option<u64> {
        if !self.is_known(i) {
            return None;
        }
        match self.values {
            Values::Absent => None,
            Values::U16(values) => values.get(i).copied().map(u64::from),
            Values::U32(values) => values.get(i).copied().map(u64::from),
            Values::U64(values) => values.get(i).copied(),
            Values::I64(values) => values.get(i).copied().and_then(|value| u64::try_from(value).ok()),
        }
    }

    /// The same of what fits.
    pub fn small(&self, i: usize) -> Option<u32> {
        self.get(i).and_then(|value| u32::try_from(value).ok())
    }

    /// The same of what may be negative.
    pub fn signed(&self, i: usize) -> Option<i64> {
        match self.values {
            Values::I64(values) if self.is_known(i) => values.get(i).copied(),
            _ => self.get(i).and_then(|value| i64::try_from(value).ok()),
        }
    }

    /// Calls `each` with the values of these rows, 0 for those that are not known.
    pub fn each(&self, rows: Range<usize>, mut each: impl FnMut(u64)) {
        match (&self.values, self.known) {
            (Values::U64(values), None) => values[rows].iter().for_each(|&value| each(value)),
            (Values::U32(values), None) => values[rows].iter().for_each(|&value| each(value.into())),
            _ => rows.for_each(|i| each(self.get(i).unwrap_or(0))),
        }
    }

    /// Whether none of these rows has a value.
    pub fn are_none(&self, rows: Range<usize>) -> bool {
        match (&self.values, self.known) {
            (Values::Absent, _) => true,
            (_, Some(known)) => known.null_count_range(rows.start, rows.len()) == rows.len(),
            (_, None) => false,
        }
    }

    /// All values when they are known and of 64 bits without a sign.
    pub fn slice(&self) -> Option<&'a [u64]> {
        match self.values {
            Values::U64(values) if self.known.is_none() => Some(values),
            _ => None,
        }
    }

    fn is_known(&self, i: usize) -> bool {
        self.known.is_none_or(|known| known.get_bit(i))
    }
}
