//! What happens on the sockets of this host now.
//!
//! [`names`] turns the numbers of a row into what people call them.

pub mod names;

pub use names::Names;
