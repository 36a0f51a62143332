//! A link as a pure state machine over virtual time: no clock, no system call.
//!
//! ```text
//!   enqueue ──▶ queue discipline ──▶ transmission at the rate of the plan ──▶ pop: departure with its arrival time
//!                     │                                                        └▶ transmitted, but lost on the wire
//!                     └▶ pop: dropped
//! ```
//!
//! A packet begins to leave when the one before it has left, or when it comes to an idle link. Departures are computed
//! from departures, never from the moment at which somebody got round to asking, so a late caller delays a packet
//! but cannot change the rate. Times and bytes are integers; probabilities and averages of the disciplines are floats, as in
//! their sources. After [`Link::reserve`] nothing allocates, and the same arrivals with the same seed give the same result.
//!
//! Beside the link there is [`snoop`], an agent ahead of a lossy one.
//!
//! `docs/link-model.md` has the sources and parameters of the disciplines.

mod buffer;
mod config;
mod delay_line;
mod link;
mod list;
pub mod network;
mod packet;
pub mod queue;
mod rate;
pub mod snoop;
mod trace;
pub mod wire;

pub use buffer::Capacity;
pub use config::{LinkConfig, RatePlan};
pub use delay_line::DelayLine;
pub use link::Link;
pub use packet::{Departure, DropReason, Ecn, Item, LossReason, Output};
pub use queue::Discipline;
pub use trace::{OPPORTUNITY_BYTES, Trace, TraceError};
pub use wire::{Distribution, GilbertElliott, Jitter, Loss, WireConfig, Wireless};

/// Nanoseconds of virtual or real time; only differences matter.
pub type Nanos = u64;
