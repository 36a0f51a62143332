//! The algorithms' own C source, built for the host: unit tests and virtual time without root or a kernel.
//!
//! [`Socket`] is one emulated socket: set its fields, call the callbacks, read what they did. [`path`] drives a socket
//! over a scripted bottleneck, ACK by ACK. Every algorithm exists twice: plain, and with undefined behaviour turned into
//! a trap ([`Socket::checked`]). A file of one's own becomes a library ([`build`], [`Unit::load`]); [`properties`] hold for
//! every algorithm.

mod build;
pub mod fixed;
pub mod layout;
pub mod link_queue;
pub mod path;
pub mod properties;
mod receive;
mod socket;
mod steps;
mod unit;
mod watch;

pub use build::{BuildError, build};
pub use layout::{AckSample, RateSample, TcpSock};
pub use receive::{Receiver, Seen};
pub use socket::{
    CA_CWR, CA_DISORDER, CA_LOSS, CA_OPEN, CA_RECOVERY, EVENT_COMPLETE_CWR, EVENT_CWND_RESTART, EVENT_ECN_IS_CE,
    EVENT_ECN_NO_CE, EVENT_LOSS, EVENT_TX_START, Error, START_US, Socket,
};
pub use unit::{NAMES, Place, Unit, UnitTunable};
pub use watch::on_overdue;
