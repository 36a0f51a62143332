//! What happens on the sockets of this host now.
//!
//! ```text
//! recorder's tap ──rows──▶ board ──▶ view (rows with names, columns) ──▶ screen (keys, drawing)
//!                                                                   └──▶ plain text, JSON
//! ```
//!
//! [`board`] keeps the figures of the last moments, [`names`] and [`labels`] turn numbers into what people call them,
//! [`view`] makes tables of it, [`screen`] shows them, [`watch`] connects all that with a recorder.

pub mod board;
pub mod labels;
pub mod names;
pub mod screen;
pub mod view;
pub mod watch;

pub use board::Board;
pub use labels::Labels;
pub use names::Names;
pub use watch::Watch;
