//! Increase of a counter per flow and interval of fixed width.
//!
//! A step may reach over the edge of an interval; its increase is then split in proportion to time, as if the counter
//! had grown at a steady rate between the two rows.

use std::collections::HashMap;

use polars::prelude::*;

use crate::columns::{FlowKey, counts, f64s, flow_keys};
use crate::fold::{Agg, Fold};
use crate::steps;

/// Increase per flow and interval number; interval `k` is `[k·width, (k+1)·width)` since the start of the recording.
pub type PerInterval = HashMap<FlowKey, HashMap<u64, f64>>;

/// Collects the increase of one counter in intervals of one width.
pub struct Intervals {
    increase: String,
    width_us: u64,
    inside: Fold,
    split: PerInterval,
}

impl Intervals {
    /// Increase of the column `counter` in intervals of `width_us` > 0.
    pub fn new(counter: &str, width_us: u64) -> Intervals {
        let increase = format!("d_{counter}");
        let mut keys = steps::flow();
        keys.push(number(col("t_us"), width_us).alias("interval"));
        let inside = Fold::new(keys, vec![("amount", Agg::Sum, col(&increase).cast(DataType::Float64))])
            .filtered(grew(&increase).and(crosses(width_us).not()));
        Intervals { increase, width_us, inside, split: HashMap::new() }
    }

    /// Takes a batch of steps in.
    pub fn push(&mut self, steps: &DataFrame) -> PolarsResult<()> {
        self.inside.push(steps)?;
        let wanted = ["netns", "flow_id", "prev_t_us", "t_us", &self.increase].map(col);
        let crossing =
            steps.clone().lazy().filter(grew(&self.increase).and(crosses(self.width_us))).select(wanted).collect()?;
        let spans = counts(&crossing, "prev_t_us")?.into_iter().zip(counts(&crossing, "t_us")?);
        let amounts = f64s(&crossing, &self.increase)?;
        for ((flow, (from_us, to_us)), amount) in flow_keys(&crossing)?.into_iter().zip(spans).zip(amounts) {
            let amounts = self.split.entry(flow).or_default();
            for (interval, share) in split(from_us, to_us, self.width_us) {
                *amounts.entry(interval).or_default() += amount * share;
            }
        }
        Ok(())
    }

    /// The result.
    pub fn finish(self) -> PolarsResult<PerInterval> {
        let mut total = self.split;
        if let Some(frame) = self.inside.finish()? {
            let values = counts(&frame, "interval")?.into_iter().zip(f64s(&frame, "amount")?);
            for (flow, (interval, amount)) in flow_keys(&frame)?.into_iter().zip(values) {
                *total.entry(flow).or_default().entry(interval).or_default() += amount;
            }
        }
        Ok(total)
    }
}

fn number(t_us: Expr, width_us: u64) -> Expr {
    t_us.floor_div(lit(width_us as i64))
}

fn grew(increase: &str) -> Expr {
    col(increase).gt(lit(0))
}

fn crosses(width_us: u64) -> Expr {
    number(col("prev_t_us"), width_us).lt(number(col("t_us"), width_us))
}

/// The intervals that `[from_us, to_us)` touches, with the share of the span that lies in each.
fn split(from_us: u64, to_us: u64, width_us: u64) -> impl Iterator<Item = (u64, f64)> {
    let span_us = (to_us - from_us) as f64;
    (from_us / width_us..=to_us / width_us).filter_map(move |interval| {
        let start_us = from_us.max(interval * width_us);
        let end_us = to_us.min((interval + 1) * width_us);
        (end_us > start_us).then(|| (interval, (end_us - start_us) as f64 / span_us))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_is_split_in_proportion_to_time() {
        let shares: Vec<_> = split(50, 250, 100).collect();
        assert_eq!(shares, [(0, 0.25), (1, 0.5), (2, 0.25)]);
    }

    #[test]
    fn a_span_that_ends_on_an_edge_has_nothing_in_the_next_interval() {
        assert_eq!(split(100, 200, 100).collect::<Vec<_>>(), [(1, 1.0)]);
    }
}
