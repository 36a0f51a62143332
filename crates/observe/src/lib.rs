//! What the sockets of this host do now, from the recorder's tap, for three who look at it.
//!
//! ```text
//!                  ┌─▶ live      a person, at a terminal (`ccactl top`)
//! recorder ──tap───┼─▶ metrics   Prometheus, over HTTP (`ccactl exporter`)
//!                  └─▶ rollout   the watcher of a canary, which promotes or reverts
//! ```
//!
//! [`metrics`] takes the names of cgroups and namespaces from [`live`]; otherwise the three know nothing of each other.
//! [`http`] is the door of those that answer over a network.

pub mod http;
pub mod live;
pub mod metrics;
pub mod policies;
pub mod rollout;
