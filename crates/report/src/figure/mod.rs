//! Still figures: one of window and RTT for a page of documentation ([`write()`]), and the set for a paper ([`paper`]). Numbers that
//! do not come from one recording have lines ([`plot`]), bars ([`bars`]) and matrices ([`grid`]).

mod axis;
pub mod bars;
mod color;
mod document;
mod frame;
mod heat;
mod lines;
pub mod paper;
mod pdf;
mod phases;
pub mod plot;
mod png;
mod sequence;
mod sheet;
mod style;
mod thin;
mod tree;

pub use document::{svg, write};
pub use heat::{Grid, GridCell, draw as grid, heat_colors};
pub use sequence::sequence;
