//! What breaks an algorithm: a search over paths in the simulator, for the one on which it does worst.
//!
//! ```text
//!   Bounds ──draw, vary, cross──▶ Case ──▶ Scenario ──simulated, three runs──▶ Totals ──Objective──▶ badness
//!     ▲                                                                                              │
//!     └──────────────────────────────── evolve: the worse the better ◀──────────────────────────────┘
//!   the worst Case ──shrink: simpler, and nearly as bad──▶ a scenario to be replayed in the lab
//! ```

mod bounds;
mod case;
mod document;
mod error;
mod evolve;
mod finding;
mod judge;
mod objective;
mod shrink;
mod tune;

pub use bounds::{Bounds, Domain, EventDomain};
pub use case::{Case, Event, Gene, Kind};
pub use document::{Contestant, RIVAL, SUBJECT, Setting};
pub use error::{Error, Result};
pub use evolve::{Best, Effort, Generation, Space, evolve};
pub use finding::{Figures, Finding, Replayed, page};
pub use judge::{Judge, median, mildest};
pub use objective::Objective;
pub use shrink::{LEAST_SHARE, shrink};
pub use tune::{Comparison, Knob, Knobs, Tuning};
