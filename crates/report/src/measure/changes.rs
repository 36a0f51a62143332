//! When a live flow was given another algorithm.

use crate::walk::Name;

/// One change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Change {
    /// First row with the new algorithm.
    pub at_us: u64,
    /// Before.
    pub from: Name,
    /// After.
    pub to: Name,
}
