//! Every algorithm beside every other: who takes what from whom, over buffers and base RTTs.

mod grid;
mod page;
mod plan;

pub use grid::{Entry, Grid, Link, Range, Standing, read};
pub use page::{Drawing, html, markdown, terminal};
pub use plan::{BUFFERS, RATE, RTTS, Wanted, default_algorithms, plan};
