//! The valid runs together.

use super::RunResult;
use super::flow::Completion;
use ccactl_report::{Estimate, Measures, estimate};
use ccactl_scenario::Scenario;
use serde::{Deserialize, Serialize};

/// Mean, standard deviation and confidence interval over the valid runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Aggregate {
    /// Number of valid runs.
    pub valid_runs: usize,
    /// Number of runs and attempts that do not count.
    pub invalid_runs: usize,
    /// Jain index.
    pub jain: Option<Estimate>,
    /// Difference between the largest and the smallest goodput.
    pub gap_bps: Option<Estimate>,
    /// Share of the link that was used.
    pub utilisation: Option<Estimate>,
    /// Mean RTT over the samples of all flows.
    pub rtt_mean_us: Option<Estimate>,
    /// Retransmitted packets of all flows.
    pub retrans_pkts: Option<Estimate>,
    /// By flow of the scenario.
    pub flows: Vec<FlowAggregate>,
}

/// One flow over the valid runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FlowAggregate {
    /// Name in the scenario.
    pub name: String,
    /// Algorithm in the scenario.
    pub algorithm: String,
    /// Payload sent per second.
    pub throughput_bps: Option<Estimate>,
    /// Payload acknowledged per second.
    pub goodput_bps: Option<Estimate>,
    /// Mean RTT.
    pub rtt_mean_us: Option<Estimate>,
    /// Packets retransmitted.
    pub retrans_pkts: Option<Estimate>,
    /// Mean congestion window.
    pub cwnd_mean_pkts: Option<Estimate>,
    /// Mean time that delivered data packets spent in queues.
    pub queueing_mean_us: Option<Estimate>,
    /// Number of complete transfers of a flow with a size.
    pub complete_transfers: Option<Estimate>,
    /// Their mean completion time.
    pub completion_mean_us: Option<Estimate>,
    /// Median of their completion times.
    pub completion_p50_us: Option<Estimate>,
    /// 99th percentile of their completion times.
    pub completion_p99_us: Option<Estimate>,
}

pub(super) fn aggregate(scenario: &Scenario, runs: &[RunResult]) -> Option<Aggregate> {
    let valid: Vec<&RunResult> = runs.iter().filter(|run| run.valid).collect();
    if valid.is_empty() {
        return None;
    }
    let over = |value: &dyn Fn(&RunResult) -> Option<f64>| estimate(valid.iter().filter_map(|run| value(run)));
    let flows = scenario.flows.iter().enumerate().map(|(i, flow)| {
        let of_flow = |value: &dyn Fn(&Measures) -> Option<f64>| over(&|run| value(run.flows[i].metrics.as_ref()?));
        let of_transfers =
            |value: &dyn Fn(&Completion) -> Option<f64>| over(&|run| value(run.flows[i].completion.as_ref()?));
        FlowAggregate {
            name: flow.name.clone(),
            algorithm: flow.algorithm.clone(),
            throughput_bps: of_flow(&|m| m.throughput_bps),
            goodput_bps: of_flow(&|m| m.goodput_bps),
            rtt_mean_us: of_flow(&|m| m.rtt_mean_us),
            retrans_pkts: of_flow(&|m| Some(m.retrans_pkts as f64)),
            cwnd_mean_pkts: of_flow(&|m| m.cwnd_mean_pkts),
            queueing_mean_us: over(&|run| {
                let queueing = run.flows[i].queueing.filter(|queueing| queueing.packets > 0);
                queueing.map(|queueing| queueing.mean_us)
            }),
            complete_transfers: of_transfers(&|c| Some(c.complete as f64)),
            completion_mean_us: of_transfers(&|c| c.mean_us),
            completion_p50_us: of_transfers(&|c| c.p50_us.map(|us| us as f64)),
            completion_p99_us: of_transfers(&|c| c.p99_us.map(|us| us as f64)),
        }
    });
    Some(Aggregate {
        valid_runs: valid.len(),
        invalid_runs: runs.len() - valid.len(),
        jain: over(&|run| run.jain),
        gap_bps: over(&RunResult::gap_bps),
        utilisation: over(&|run| run.link.utilisation),
        rtt_mean_us: over(&RunResult::rtt_mean_us),
        retrans_pkts: over(&|run| Some(run.measures().map(|m| m.retrans_pkts).sum::<u64>() as f64)),
        flows: flows.collect(),
    })
}
