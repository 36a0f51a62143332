//! What part of a recording to look at, and how finely.

use crate::Error;

use crate::scale::US_PER_S;

/// Longer than any recording, as times are below 2⁶³ µs; and together with any time it is a number of 64 bits.
const LONGEST_INTERVAL_US: u64 = i64::MAX as u64;

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
    /// Whether nothing is left out.
    pub(crate) fn is_whole(&self) -> bool {
        self.from_s.is_none() && self.to_s.is_none()
    }

    /// The window in microseconds, both ends inclusive.
    pub(crate) fn window_us(&self) -> Result<(u64, u64), Error> {
        let from_s = self.from_s.unwrap_or(0.0);
        let to_s = self.to_s.unwrap_or(f64::INFINITY);
        if !(from_s >= 0.0 && from_s < to_s && from_s.is_finite()) {
            return Err(Error::Window { from_s, to_s });
        }
        // The casts saturate, so infinity is "no end"; times are read as signed integers.
        let micros = |s: f64| ((s * US_PER_S).round() as u64).min(i64::MAX as u64);
        Ok((micros(from_s), micros(to_s)))
    }

    /// Width of the intervals in microseconds, at least one and at most 2⁶³ - 1.
    pub(crate) fn interval_us(&self) -> u64 {
        ((self.interval_s * US_PER_S) as u64).clamp(1, LONGEST_INTERVAL_US)
    }
}
