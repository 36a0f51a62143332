//! `result.json`: every run with its validity and figures, and the sum of the valid ones. Keys carry their
//! units, `null` is "not known".

mod aggregate;
mod flow;
mod link;
mod measured;
mod run;
mod thresholds;
mod udp;

pub use aggregate::{Aggregate, FlowAggregate};
pub use flow::{Completion, FlowResult};
pub use link::{LinkResult, Timekeeping};
pub(crate) use measured::Measured;
pub use run::RunResult;
pub use thresholds::MissedThreshold;
pub use udp::UdpResult;

use super::network::Backend;
use super::options::Options;
use super::validity::Limits;
use ccactl_scenario::{Published, Scenario};
use serde::{Deserialize, Serialize};

/// A whole bench.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BenchResult {
    /// Name of the scenario.
    pub scenario: String,
    /// Version of ccactl.
    pub ccactl_version: String,
    /// Who carried the packets; the emulator in results that do not say.
    #[serde(default)]
    pub backend: Backend,
    /// What a valid run had to keep to.
    pub limits: Limits,
    /// Every run and attempt, in order.
    pub runs: Vec<RunResult>,
    /// Over the valid runs; absent when there is none.
    pub aggregate: Option<Aggregate>,
    /// Thresholds of the scenario that the valid runs missed.
    pub missed_thresholds: Vec<MissedThreshold>,
    /// Printed figures of the experiment; not read back, as the scenario beside the result has them.
    #[serde(skip_deserializing)]
    pub published: Option<Published>,
}

impl BenchResult {
    pub(super) fn new(scenario: &Scenario, options: &Options, runs: Vec<RunResult>) -> Self {
        let aggregate = aggregate::aggregate(scenario, &runs);
        BenchResult {
            scenario: scenario.name.clone(),
            ccactl_version: env!("CARGO_PKG_VERSION").to_owned(),
            backend: options.backend,
            limits: options.limits,
            missed_thresholds: thresholds::missed(scenario, aggregate.as_ref()),
            aggregate,
            runs,
            published: scenario.published.clone(),
        }
    }
}
