//! A black box: the last seconds of every socket in memory, and a recording of those around what a trigger names.
//!
//! ```text
//! recorder ──tap──▶ memory (every socket, bounded)
//!            └────▶ triggers ──▶ fired ──after a while──▶ files (ordinary recordings)
//! ```
//!
//! The idea is that of FreeBSD's TCP Black Box Recorder.

mod fired;
mod limits;
mod memory;
mod run;
mod trigger;

pub use fired::{BlackBox, Options};
pub use limits::{Limits, Suppressed};
pub use run::{Kept, Outcome, run};
pub use trigger::{Trigger, TriggerError};
