//! The papers' experiments: a suite is a scenario with a matrix, the table or figure that a paper makes of it with the
//! figures that it prints, and the orderings that a reproduction should show.
//!
//! [`runner`] carries out the cells of the matrix into a [`folder`], [`results`] reads what they left, [`compare`] puts it beside the print,
//! [`verdict`] judges the orderings. [`batch`] gives the cells to a cluster.
//! [`evaluation`] asks the questions of RFC 9743 of one algorithm.
//! A [`suite`] says what of that belongs to an experiment, and [`page`] writes it down.

pub mod batch;
pub mod compare;
mod error;
pub mod evaluation;
pub mod folder;
mod listing;
pub mod matrix;
pub mod page;
mod plan;
pub mod progress;
pub mod results;
pub mod runner;
pub mod score;
pub mod suite;
pub mod verdict;

/// Files of a suite's folder are read as a whole; a result with many flows takes some megabytes.
const MAX_FILE_BYTES: u64 = 256 << 20;

pub use ccactl_scenario::Cell;
pub use error::{Error, Result};
pub use listing::{Listed, Size, listing};
pub use plan::{Plan, Request};
