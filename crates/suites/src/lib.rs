//! The papers' experiments: a suite is a scenario with a matrix, the table or figure that a paper makes of it with the
//! figures that it prints, and the orderings that a reproduction should show.
//!
//! [`runner`] carries out the cells of the matrix, [`results`] reads what they left.

mod cell;
mod error;
pub mod runner;

pub use cell::Cell;
pub use error::{Error, Result};
