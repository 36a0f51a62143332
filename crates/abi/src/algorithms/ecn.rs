//! Algorithms whose signal is explicit congestion notification.

use crate::registry::Algorithm;

/// In the order in which lists show them.
pub(super) const ROWS: &[Algorithm] = &[];
