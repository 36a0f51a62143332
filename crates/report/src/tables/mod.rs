//! Stage one: the rows of a recording are folded once, and its result is tables.
//!
//! A *stretch* is what one flow did under one algorithm, a row of [`Tables::flows`]. The other tables name it by its number
//! there, or the flow by its own. What is measured is a sum, a minimum or a maximum, as [`columns`] says of each column, so
//! that rows can be added up. No column is a mean or a percentile: stage two (`summarize`) makes those.
//!
//! Parts of a recording that was cut in time add up as well (`partial`). That takes, beside the tables, the first and the last
//! rows of each flow: the step over the cut is in neither part.

pub mod columns;
mod flow_fold;
mod fold;
mod intervals;
mod of_fold;

use polars::prelude::*;

pub use flow_fold::{FlowFold, Held as Phase, Part};
pub use fold::{Extents, Flow, Folded, add_drops, columns as fold_columns, find_swaps, fold};
pub use intervals::Intervals;
pub use of_fold::{column, wide_columns};

/// The tables of one recording.
pub struct Tables {
    /// One row per flow and algorithm, the flows in the order of the report: keys, addresses, totals, what the end said.
    pub flows: DataFrame,
    /// How often each RTT sample occurred: [`columns::STRETCH`], [`columns::RTT_US`], [`columns::TIMES`].
    pub rtts: DataFrame,
    /// Time in each phase: [`columns::STRETCH`], [`columns::MODE`], [`columns::TIME_US`], [`columns::VISITS`].
    pub phases: DataFrame,
    /// Bytes acknowledged per interval, where there were any: [`columns::FLOW`], [`columns::INTERVAL`], [`columns::ACKED_BYTES`].
    pub intervals: DataFrame,
    /// One row per change of algorithm: [`columns::AT_US`], the two sides and the three states around it.
    pub swaps: DataFrame,
    /// One row per time in which rows were lost: [`columns::FROM_US`], [`columns::TO_US`], [`columns::ROWS`].
    pub drops: DataFrame,
}
