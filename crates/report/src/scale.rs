//! How the units of a recording become those of figures.

pub(crate) const US_PER_S: f64 = 1e6;
pub(crate) const US_PER_MS: f64 = 1e3;
pub(crate) const BITS_PER_BYTE: f64 = 8.0;
pub(crate) const BITS_PER_MBIT: f64 = 1e6;
