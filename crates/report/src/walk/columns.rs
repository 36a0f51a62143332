//! The columns of a batch as slices of their types.

use polars::prelude::*;
use polars_arrow::array::{Array, Utf8ViewArray};
use polars_arrow::bitmap::Bitmap;

use super::row::{BOUNDS, COUNTERS};
use super::{Closing, Endpoints, Event, FlowKey, Name, Names, Row};
use crate::measure::inner;
use crate::recording::Extent;

/// Numbers, some of which may not be known.
struct Numbers<'a, T> {
    /// Empty when the column was not asked for.
    values: &'a [T],
    known: Option<&'a Bitmap>,
}

impl<'a, T: NumericNative> Numbers<'a, T> {
    fn of<P: PolarsNumericType<Native = T>>(frame: &'a DataFrame, name: &str) -> PolarsResult<Numbers<'a, T>>
    where
        ChunkedArray<P>: 'static,
    {
        let Ok(column) = frame.column(name) else { return Ok(Numbers { values: &[], known: None }) };
        let column: &ChunkedArray<P> = column.as_materialized_series().unpack()?;
        let Some(chunk) = column.downcast_iter().next() else { return Ok(Numbers { values: &[], known: None }) };
        let known = chunk.validity().filter(|known| known.unset_bits() > 0);
        Ok(Numbers { values: chunk.values().as_slice(), known })
    }

    fn get(&self, i: usize) -> Option<T> {
        let value = *self.values.get(i)?;
        match self.known {
            Some(known) if !known.get_bit(i) => None,
            _ => Some(value),
        }
    }
}

impl Numbers<'_, i64> {
    fn count(&self, i: usize) -> Option<u64> {
        self.get(i).and_then(|value| u64::try_from(value).ok())
    }

    fn small(&self, i: usize) -> Option<u32> {
        self.get(i).and_then(|value| u32::try_from(value).ok())
    }
}

/// Texts that are few and repeat, each as a value of `T`.
struct Texts<'a, T> {
    array: Option<&'a Utf8ViewArray>,
    /// The texts of this batch so far: the view (which is the text itself up to 12 bytes, else where it lies) and what it
    /// means. Equal texts may have several views.
    seen: Vec<(u128, T)>,
}

/// More views than this are texts that do not share their bytes: looking through them would take longer than reading.
const MAX_SEEN: usize = 32;

impl<'a, T: Copy> Texts<'a, T> {
    fn of(frame: &'a DataFrame, name: &str) -> PolarsResult<Texts<'a, T>> {
        let array = match frame.column(name) {
            Ok(column) => column.as_materialized_series().str()?.downcast_iter().next(),
            Err(_) => None,
        };
        Ok(Texts { array, seen: Vec::new() })
    }

    fn get(&mut self, i: usize, meaning: impl FnOnce(&str) -> T) -> Option<T> {
        let array = self.array?;
        if array.validity().is_some_and(|known| !known.get_bit(i)) {
            return None;
        }
        let view = array.views()[i].as_u128();
        if let Some((_, meaning)) = self.seen.iter().find(|(seen, _)| *seen == view) {
            return Some(*meaning);
        }
        let meaning = meaning(array.value(i));
        if self.seen.len() < MAX_SEEN {
            self.seen.push((view, meaning));
        }
        Some(meaning)
    }
}

/// The columns that a walk looks at.
pub struct Columns<'a> {
    t_us: Numbers<'a, i64>,
    netns: Numbers<'a, u32>,
    flow_id: Numbers<'a, u64>,
    event: Texts<'a, Event>,
    algorithm: Texts<'a, Name>,
    mode: Texts<'a, Name>,
    cwnd_pkts: Numbers<'a, i64>,
    ssthresh_pkts: Numbers<'a, i64>,
    rtt_us: Numbers<'a, i64>,
    pacing_rate_bps: Numbers<'a, i64>,
    dropped_rows: Numbers<'a, i64>,
    inner: [Numbers<'a, i64>; inner::COLUMNS.len()],
    bounds: [Numbers<'a, i64>; BOUNDS.len()],
    counters: [Numbers<'a, i64>; COUNTERS.len()],
    closing: [Numbers<'a, i64>; 4],
    endpoints: EndpointColumns<'a>,
}

struct EndpointColumns<'a> {
    src: Option<&'a StringChunked>,
    dst: Option<&'a StringChunked>,
    sport: Numbers<'a, u32>,
    dport: Numbers<'a, u32>,
    cgroup_id: Numbers<'a, u64>,
}

impl<'a> Columns<'a> {
    /// The columns of a frame in one piece.
    pub fn of(frame: &'a DataFrame) -> PolarsResult<Columns<'a>> {
        let integers = |name: &str| Numbers::of::<Int64Type>(frame, name);
        let text = |name: &str| frame.column(name).ok().map(|column| column.str()).transpose();
        Ok(Columns {
            t_us: integers("t_us")?,
            netns: Numbers::of::<UInt32Type>(frame, "netns")?,
            flow_id: Numbers::of::<UInt64Type>(frame, "flow_id")?,
            event: Texts::of(frame, "event")?,
            algorithm: Texts::of(frame, "algorithm")?,
            mode: Texts::of(frame, "trace_mode")?,
            cwnd_pkts: integers("cwnd_pkts")?,
            ssthresh_pkts: integers("ssthresh_pkts")?,
            rtt_us: integers("rtt_us")?,
            pacing_rate_bps: integers("pacing_rate_bps")?,
            dropped_rows: integers("dropped_rows")?,
            inner: array(inner::COLUMNS.map(integers))?,
            bounds: array(BOUNDS.map(integers))?,
            counters: array(COUNTERS.map(integers))?,
            closing: array(["duration_us", "completion_us", "rtt_mean_us", "rtt_min_us"].map(integers))?,
            endpoints: EndpointColumns {
                src: text("src")?,
                dst: text("dst")?,
                sport: Numbers::of::<UInt32Type>(frame, "sport")?,
                dport: Numbers::of::<UInt32Type>(frame, "dport")?,
                cgroup_id: Numbers::of::<UInt64Type>(frame, "cgroup_id")?,
            },
        })
    }

    /// The flow of a row.
    pub fn key(&self, i: usize) -> FlowKey {
        FlowKey { netns: self.netns.get(i).unwrap_or(0).into(), flow_id: self.flow_id.get(i).unwrap_or(0) }
    }

    /// A row.
    pub fn row(&mut self, i: usize, names: &mut Names) -> Row {
        let mut name = |text: &str| names.number(text);
        Row {
            t_us: self.t_us.count(i).unwrap_or(0),
            event: self.event.get(i, Event::of).unwrap_or_default(),
            algorithm: self.algorithm.get(i, &mut name).unwrap_or_else(|| name("")),
            mode: self.mode.get(i, &mut name),
            cwnd_pkts: self.cwnd_pkts.small(i),
            ssthresh_pkts: self.ssthresh_pkts.small(i),
            rtt_us: self.rtt_us.small(i),
            pacing_rate_bps: self.pacing_rate_bps.count(i),
            dropped_rows: self.dropped_rows.count(i).unwrap_or(0),
            inner: std::array::from_fn(|k| self.inner[k].get(i)),
            bounds: std::array::from_fn(|k| self.bounds[k].small(i)),
            counters: std::array::from_fn(|k| self.counters[k].count(i).unwrap_or(0)),
        }
    }

    /// The columns that only a `close` fills.
    pub fn closing(&self, i: usize) -> Closing {
        let [duration_us, completion_us, rtt_mean_us, rtt_min_us] = std::array::from_fn(|k| self.closing[k].count(i));
        Closing { duration_us, completion_us, rtt_mean_us, rtt_min_us }
    }

    /// Addresses and cgroup of a row's flow.
    pub fn endpoints(&self, i: usize) -> Endpoints {
        let text = |column: Option<&StringChunked>| column.and_then(|c| c.get(i)).unwrap_or_default().to_owned();
        let columns = &self.endpoints;
        Endpoints {
            src: text(columns.src),
            dst: text(columns.dst),
            sport: columns.sport.get(i).unwrap_or(0).into(),
            dport: columns.dport.get(i).unwrap_or(0).into(),
            cgroup_id: columns.cgroup_id.get(i).unwrap_or(0),
        }
    }

    /// Rows and span of time.
    pub fn extent(&self) -> Option<Extent> {
        let count = |t_us: &i64| u64::try_from(*t_us).unwrap_or(0);
        Some(Extent {
            rows: self.t_us.values.len() as u64,
            first_us: self.t_us.values.iter().min().map(count)?,
            last_us: self.t_us.values.iter().max().map(count)?,
            truncated: false,
        })
    }
}

fn array<T, const N: usize>(columns: [PolarsResult<T>; N]) -> PolarsResult<[T; N]> {
    let columns: Vec<T> = columns.into_iter().collect::<PolarsResult<_>>()?;
    Ok(columns.try_into().unwrap_or_else(|_| unreachable!("as many as there were")))
}
