//! Stage one's result: everything that the rows of a recording say, as tables that can be added up.
//!
//! A *stretch* is what one flow did under one algorithm, a row of [`Tables::flows`]. The other tables name it by its number
//! there, or the flow by its own. A column is a key, or it says in [`columns`] how two rows of one key become one: a sum, a
//! minimum, a maximum. No column is a mean or a percentile: stage two (`summarize`) makes those.

pub mod columns;
mod fold;
mod intervals;
mod of_fold;

use polars::prelude::*;

pub use fold::{Folded, fold};

/// The tables of one recording.
pub struct Tables {
    /// One row per flow and algorithm, the flows in the order of the report: [`columns::flows`].
    pub flows: DataFrame,
    /// How often each RTT sample occurred: [`columns::STRETCH`], [`columns::RTT_US`], [`columns::TIMES`].
    pub rtts: DataFrame,
    /// Time in each phase: [`columns::STRETCH`], [`columns::MODE`], [`columns::TIME_US`], [`columns::VISITS`].
    pub phases: DataFrame,
    /// Bytes acknowledged per interval, where there were any: [`columns::FLOW`], [`columns::INTERVAL`], [`columns::ACKED_BYTES`].
    pub intervals: DataFrame,
    /// One row per change of algorithm: [`columns::swaps`].
    pub swaps: DataFrame,
    /// One row per time in which rows were lost: [`columns::FROM_US`], [`columns::TO_US`], [`columns::ROWS`].
    pub drops: DataFrame,
}
