//! What part of a recording to look at, and how finely.

use crate::Error;

const US_PER_S: f64 = 1e6;

/// Choices that apply to every recording of a report.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// Leave out what is earlier, in seconds since the start of the recording (cuts the warm-up).
    pub from_s: Option<f64>,
    /// Leave out what is later, in seconds since the start of the recording.
    pub to_s: Option<f64>,
    /// Width of the intervals of the Jain index, in seconds.
    pub interval_s: f64,
}

impl Default for Options {
    fn default() -> Self {
        Options { from_s: None, to_s: None, interval_s: 1.0 }
    }
}

impl Options {
    /// The window in microseconds, both ends inclusive.
    pub(crate) fn window_us(&self) -> Result<(u64, u64), Error> {
        let from_s = self.from_s.unwrap_or(0.0);
        let to_s = self.to_s.unwrap_or(f64::INFINITY);
        if !(from_s >= 0.0 && from_s < to_s && from_s.is_finite()) {
            return Err(Error::Window { from_s, to_s });
        }
        // The cast saturates, so infinity is "no end".
        Ok(((from_s * US_PER_S) as u64, (to_s * US_PER_S) as u64))
    }

    /// Width of the intervals in microseconds, at least one.
    pub(crate) fn interval_us(&self) -> u64 {
        ((self.interval_s * US_PER_S) as u64).max(1)
    }
}
