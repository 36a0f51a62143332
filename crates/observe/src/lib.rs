//! What the sockets of this host do now, from the recorder's tap, for those who look at it.
//!
//! ```text
//!                  ┌─▶ live      a person, at a terminal (`ccactl top`)
//!                  ├─▶ serve     a person, in a browser (`ccactl serve`), by way of live
//! recorder ──tap───┼─▶ metrics   Prometheus, over HTTP (`ccactl exporter`)
//!                  ├─▶ rollout   the watcher of a canary, which promotes or reverts
//!                  └─▶ blackbox  nobody, until a trigger fires (`ccactl record --ring`)
//! ```
//!
//! [`metrics`] takes the names of cgroups and namespaces from [`live`]; [`serve`] shows what [`live`] has, and what [`rollout`] tells
//! of itself. Otherwise they know nothing of each other. [`http`] is the door of those that answer over a network, [`expression`] what
//! rules and triggers have in common, [`policies`] what is in force.

pub mod blackbox;
pub mod expression;
pub mod http;
pub mod live;
pub mod metrics;
pub mod policies;
pub mod rollout;
pub mod serve;
