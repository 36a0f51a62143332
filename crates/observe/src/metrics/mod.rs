//! Metrics of the sockets of this host for Prometheus.
//!
//! ```text
//! recorder's thread ─tap─▶ sockets: rows → increases per ids ─settle─▶ ledger: increases → label sets ─▶ page ─▶ HTTP
//! ```
//!
//! Counters are sums of increases over sockets, so they never go back. A socket whose opening was recorded counts
//! from zero, any other one from its first row on. The last increase comes with its `close` row.

mod error;
mod exporter;
mod histogram;
mod labels;
mod ledger;
mod own;
mod page;
mod run;
pub mod server;
mod show;
mod sockets;
mod totals;

pub use error::{Error, Result};
pub use exporter::{Exporter, Options};
pub use histogram::{Bounds, BoundsError, Buckets};
pub use run::run;
