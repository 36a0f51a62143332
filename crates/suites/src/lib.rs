//! The papers' experiments: a suite is a scenario with a matrix, the table or figure that a paper makes of it with the
//! figures that it prints, and the orderings that a reproduction should show.
//!
//! [`runner`] carries out the cells of the matrix, [`results`] reads what they left, [`compare`] puts it beside the print,
//! [`verdict`] judges the orderings. A [`suite`] says what of that belongs to an experiment, and [`page`] writes it down.

mod cell;
pub mod compare;
mod error;
pub mod page;
pub mod results;
pub mod runner;
pub mod suite;
pub mod verdict;

pub use cell::Cell;
pub use error::{Error, Result};
