//! Still figures: one of window and RTT for a page of documentation ([`write()`]), and the set for a paper ([`paper`]).

mod axis;
mod color;
mod document;
mod frame;
mod heat;
mod lines;
pub mod paper;
mod phases;
mod png;
mod sheet;
mod style;
mod thin;

pub use document::{svg, write};
pub(crate) use heat::heat_colors;
