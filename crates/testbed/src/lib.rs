//! The testbed: the link model emulated on the real kernel, traffic, and benches made of them.

pub mod bench;
pub mod calibration;
pub mod clock;
pub mod emulator;
mod error;
pub mod host;
pub mod netem;
mod simulated;
pub mod traffic;
mod unsupported;

pub use error::{Error, Result};
pub use simulated::{Totals, totals};
pub use unsupported::{Lack, Unsupported};
