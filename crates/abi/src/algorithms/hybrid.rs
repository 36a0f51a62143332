//! Algorithms that weigh loss and delay together.

use crate::registry::Algorithm;

/// In the order in which lists show them.
pub(super) const ROWS: &[Algorithm] = &[];
