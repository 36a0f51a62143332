//! What operators have on top of the loader: the guarded roll-out of an algorithm.
//!
//! ```text
//! canary ──▶ Loader::start_canary          who gets the algorithm
//!        ──▶ Recorder ──tap──▶ Groups      what both groups do, row by row
//!        ──▶ Judge                         what the guards say about it, once a second
//!        ──▶ Decision                      promote or revert, with every figure, printed and kept
//! ```

pub mod canary;
mod chance;
mod decision;
mod error;
mod evidence;
mod groups;
mod guard;
mod metric;
mod plan;
mod request;
mod scope;
mod share;
mod tally;
mod verdict;
mod watch;

pub use ccactl_host::units::Dimension;
pub use decision::{Cause, Decision, Figures, Moves, Outcome, Recording};
pub use error::{Error, Result};
pub(crate) use evidence::RUNNING;
pub use evidence::{default_evidence_dir, state_dir};
pub use groups::{Group, Groups, Ignored, Membership};
pub use guard::{Comparison, Guard, GuardError};
pub use metric::Metric;
pub use share::{Share, ShareError};
pub use tally::{Rtts, Sums, Tally};
pub use verdict::{CONSECUTIVE, EARLY_CHANCE, FINAL_CHANCE, Judge, State, Verdict, early_end};
