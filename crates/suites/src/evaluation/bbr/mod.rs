//! The test cases of draft-ietf-ccwg-bbr-06, appendix A: states and their transitions, judged by what a recording shows of them.
//!
//! A [`Case`] names one of the scenarios of `scenarios/bbr-draft/` and a check of the trace of a run.

mod card;
mod cases;
mod control;
mod finding;
mod paths;
mod probing;
mod startup;
#[cfg(test)]
mod tests;
mod trace;

pub use card::{CaseCard, CaseRow, Outcome};
pub use cases::{CASES, Case};
