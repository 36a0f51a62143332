//! Split TCP: a proxy that ends each connection and begins another one, so that either leg has an algorithm of its own.
//!
//! ```text
//!            client leg                        server leg
//! client ═══════════════▶ socket ─▶ pipe ─▶ socket ═══════════════▶ server
//!                                ◀─ pipe ◀─
//! ```
//!
//! One thread waits with epoll and moves data by splice(2): bytes stay in the kernel. Where a leg is slow its pipe fills, the
//! other leg is read no more, and TCP's own window stops the sender.
//!
//! Every socket of the proxy lingers for zero seconds until both directions have ended in order. So whatever ends the proxy,
//! `kill -9` included, resets both legs: no end of a stream is made up.
//!
//! - [`Options`]: what is asked for.
//! - [`Proxy`]: claims what it needs, then runs until it is told to end.
//! - [`Tally`]: what it did.

mod connection;
mod error;
mod limits;
mod listener;
mod options;
mod pipe;
mod proxy;
mod running;
mod server;
mod socket;
mod steer;
mod tally;
mod target;

pub use error::{Error, Result};
pub use options::{Destination, Options};
pub use proxy::{Event, Proxy};
pub use tally::{Failure, Failures, Tally};
pub use target::{Target, TargetError};
