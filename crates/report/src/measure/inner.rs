//! The inner state that algorithms publish: mean over time, smallest and largest value.

use std::collections::HashMap;

use polars::prelude::*;

use crate::columns::{FlowKey, f64s, flow_keys, i64s, texts};
use crate::fold::{Agg, Fold};
use crate::steps;

/// A column of inner state and the names under which it is folded.
struct State {
    prev: &'static str,
    sum: &'static str,
    time: &'static str,
    least: &'static str,
    most: &'static str,
}

/// Columns of inner state, in the order of [`InnerState`].
pub const COLUMNS: [&str; 4] = ["trace_bw_bps", "trace_min_rtt_us", "trace_v0", "trace_v1"];

macro_rules! state {
    ($column:literal) => {
        State {
            prev: concat!("prev_", $column),
            sum: concat!($column, "_sum"),
            time: concat!($column, "_time"),
            least: concat!($column, "_least"),
            most: concat!($column, "_most"),
        }
    };
}

const STATES: [State; 4] = [state!("trace_bw_bps"), state!("trace_min_rtt_us"), state!("trace_v0"), state!("trace_v1")];

/// What one column held over the time for which it was known.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Held {
    /// Value × µs.
    pub value_us: f64,
    /// µs.
    pub time_us: f64,
    /// Smallest and largest value.
    pub range: Option<(i64, i64)>,
}

impl Held {
    /// Both together.
    pub fn merge(&mut self, other: &Held) {
        self.value_us += other.value_us;
        self.time_us += other.time_us;
        self.range = match (self.range, other.range) {
            (Some((a, b)), Some((c, d))) => Some((a.min(c), b.max(d))),
            (one, other) => one.or(other),
        };
    }

    /// Mean over time, or `None` when it was never known.
    pub fn mean(&self) -> Option<f64> {
        (self.time_us > 0.0).then(|| self.value_us / self.time_us)
    }
}

/// One entry per element of [`COLUMNS`].
pub type InnerState = [Held; 4];

/// Mean and range per flow and algorithm. A value holds from the row that shows it to the flow's next row.
pub fn fold() -> Fold {
    let mut keys = steps::flow();
    keys.push(col("running"));
    let mut columns = Vec::new();
    for state in &STATES {
        let value = || col(state.prev);
        columns.push((state.sum, Agg::Sum, value().cast(DataType::Float64) * col("dt_us").cast(DataType::Float64)));
        columns.push((state.time, Agg::Sum, when(value().is_not_null()).then(col("dt_us")).otherwise(lit(0))));
        columns.push((state.least, Agg::Min, value()));
        columns.push((state.most, Agg::Max, value()));
    }
    Fold::new(keys, columns)
}

/// The result of [`fold`], by flow and kernel name.
pub fn read(frame: &DataFrame) -> PolarsResult<HashMap<(FlowKey, String), InnerState>> {
    let keys: Vec<_> = flow_keys(frame)?.into_iter().zip(texts(frame, "running")?).collect();
    let mut all: Vec<InnerState> = vec![InnerState::default(); keys.len()];
    for (index, state) in STATES.iter().enumerate() {
        let sums = f64s(frame, state.sum)?.into_iter().zip(f64s(frame, state.time)?);
        let ranges = i64s(frame, state.least)?.into_iter().zip(i64s(frame, state.most)?);
        for (of_key, ((value_us, time_us), (least, most))) in all.iter_mut().zip(sums.zip(ranges)) {
            of_key[index] = Held { value_us, time_us, range: least.zip(most) };
        }
    }
    Ok(keys.into_iter().zip(all).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn merging_adds_the_times_and_widens_the_range() {
        let mut one = Held { value_us: 20.0, time_us: 10.0, range: Some((1, 3)) };
        one.merge(&Held { value_us: 40.0, time_us: 10.0, range: Some((-2, 2)) });
        assert_eq!((one.mean(), one.range), (Some(3.0), Some((-2, 3))));
        one.merge(&Held::default());
        assert_eq!((one.mean(), one.range), (Some(3.0), Some((-2, 3))));
        assert_eq!(Held::default().mean(), None);
    }
}
