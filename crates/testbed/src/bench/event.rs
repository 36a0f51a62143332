//! What a bench and its caller say to each other while it runs.

use super::result::RunResult;
use crate::error::{Error, Result};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// What happens during a bench, for a progress display.
#[derive(Debug, Clone, Copy)]
pub enum Event<'a> {
    /// A run begins.
    Started {
        /// From 1.
        run: u32,
        /// 2 when the first attempt was not valid, and so on.
        attempt: u32,
    },
    /// A run is under way.
    Running {
        /// Since its beginning.
        elapsed: Duration,
        /// Rows recorded.
        rows: u64,
    },
    /// A run is over and evaluated.
    Ended(&'a RunResult),
}

/// The flag that SIGINT and SIGTERM set; a bench looks at it often and then removes all that it made.
#[derive(Debug, Clone, Copy)]
pub struct Interrupt<'a>(pub &'a AtomicBool);

impl Interrupt<'_> {
    /// An error once the flag is set.
    pub(crate) fn check(self) -> Result<()> {
        if self.0.load(Ordering::Relaxed) { Err(Error::Interrupted) } else { Ok(()) }
    }
}
