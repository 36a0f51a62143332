//! Algorithms whose signal is queueing delay.

use crate::registry::Algorithm;

/// In the order in which lists show them.
pub(super) const ROWS: &[Algorithm] = &[];
