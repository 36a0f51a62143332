//! Until when a recording must have ended, whatever is left to do.

use std::sync::{Arc, OnceLock};
use std::time::Instant;

/// Shared by a recorder and by what makes its files; none until it is set.
#[derive(Debug, Clone, Default)]
pub(crate) struct Deadline(Arc<OnceLock<Instant>>);

impl Deadline {
    /// The first one counts.
    pub(crate) fn set(&self, end: Instant) {
        let _ = self.0.set(end);
    }

    /// To be asked between steps of a few hundredths of a second.
    pub(crate) fn check(&self) -> Result<(), &'static str> {
        match self.0.get() {
            Some(&end) if Instant::now() >= end => Err("no time was left for it"),
            _ => Ok(()),
        }
    }
}
