//! What a check finds in a run.

/// With its numbers in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Finding {
    /// What the case asks for was seen.
    Holds(String),
    /// Something else was seen.
    Fails(String),
    /// What the case is about did not happen, so nothing is said.
    NotSeen(String),
}

use Finding::{Fails, Holds};

impl Finding {
    /// One of the two, by a condition.
    pub(super) fn of(holds: bool, told: String) -> Finding {
        if holds { Holds(told) } else { Fails(told) }
    }
}
