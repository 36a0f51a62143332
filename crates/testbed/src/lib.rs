//! The testbed: scenarios, the link model, its emulation on the real kernel, traffic, and benches made of them.

pub mod bench;
pub mod clock;
pub mod emulator;
mod error;
pub mod host;
pub mod link;
pub mod scenario;
pub mod traffic;
pub mod units;

pub use error::{Error, Result};
pub use scenario::Scenario;
