//! Thresholds of a scenario against what was measured.

use super::Aggregate;
use ccactl_report::Estimate;
use ccactl_scenario::Scenario;
use serde::{Deserialize, Serialize};

/// A threshold and what was measured instead.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MissedThreshold {
    /// Name in the scenario.
    pub name: String,
    /// Value in the scenario.
    pub limit: f64,
    /// Mean over the valid runs; none when there is none.
    pub measured: Option<f64>,
}

pub(super) fn missed(scenario: &Scenario, aggregate: Option<&Aggregate>) -> Vec<MissedThreshold> {
    let mean = |value: fn(&Aggregate) -> Option<Estimate>| aggregate.and_then(value).map(|estimate| estimate.mean);
    let thresholds = &scenario.thresholds;
    let lower = [
        ("jain_min", thresholds.jain_min, mean(|a| a.jain)),
        ("utilisation_min", thresholds.utilisation_min, mean(|a| a.utilisation)),
    ];
    let upper = [
        ("rtt_mean_max", thresholds.rtt_mean_max.map(|span| span.ns as f64 / 1000.0), mean(|a| a.rtt_mean_us)),
        ("retransmissions_max", thresholds.retransmissions_max.map(|n| n as f64), mean(|a| a.retrans_pkts)),
    ];
    let judge = |name: &str, limit: Option<f64>, measured: Option<f64>, fine: fn(f64, f64) -> bool| {
        let limit = limit?;
        // What was not measured has not reached its threshold.
        let missed = measured.is_none_or(|measured| !fine(measured, limit));
        missed.then_some(MissedThreshold { name: name.to_owned(), limit, measured })
    };
    let lower = lower.into_iter().filter_map(|(name, limit, measured)| judge(name, limit, measured, |m, l| m >= l));
    let upper = upper.into_iter().filter_map(|(name, limit, measured)| judge(name, limit, measured, |m, l| m <= l));
    lower.chain(upper).collect()
}
