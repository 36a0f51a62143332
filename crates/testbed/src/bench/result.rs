//! `result.json`: every run with its validity and figures, and the sum of the valid ones. Keys carry their
//! units, `null` is "not known".

use super::children::Reports;
use super::recording::base_rtt_us;
use super::swaps::SwapResult;
use super::validity::{self, Limits};
use crate::emulator::{EmulatorReport, FlowCounters, Lateness};
use ccactl_collector::Summary;
use ccactl_report::{AlgorithmChange, Estimate, Measures, RecordingSummary, stats};
use ccactl_scenario::{Published, Scenario};
use serde::Serialize;

/// A whole bench.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BenchResult {
    /// Name of the scenario.
    pub scenario: String,
    /// Version of ccactl.
    pub ccactl_version: &'static str,
    /// What a valid run had to keep to.
    pub limits: Limits,
    /// Every run and attempt, in order.
    pub runs: Vec<RunResult>,
    /// Over the valid runs; absent when there is none.
    pub aggregate: Option<Aggregate>,
    /// Thresholds of the scenario that the valid runs missed.
    pub missed_thresholds: Vec<MissedThreshold>,
    /// Printed figures of the experiment.
    pub published: Option<Published>,
}

/// One run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunResult {
    /// From 1.
    pub run: u32,
    /// 2 when the first attempt was not valid.
    pub attempt: u32,
    /// Its folder, below that of the bench.
    pub directory: String,
    /// Whether it counts.
    pub valid: bool,
    /// Why it does not.
    pub problems: Vec<String>,
    /// The bottleneck.
    pub link: LinkResult,
    /// Rows in the recording.
    pub recorded_rows: u64,
    /// Rows that the recorder lost.
    pub recorder_drops: u64,
    /// Jain index of the flows' acknowledged bytes; none for a single flow.
    pub jain: Option<f64>,
    /// By flow of the scenario.
    pub flows: Vec<FlowResult>,
    /// Changes of algorithm, in the order in which they were carried out.
    pub swaps: Vec<SwapResult>,
    /// By UDP source of the scenario.
    pub udp: Vec<UdpResult>,
}

/// One UDP source of one run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct UdpResult {
    /// Name in the scenario.
    pub name: String,
    /// Packets sent.
    pub sent_packets: u64,
    /// Bytes sent, on the wire.
    pub sent_wire_bytes: u64,
    /// Packets that the sending kernel had no memory for.
    pub refused_packets: u64,
    /// Packets that the receiving process counted.
    pub received_packets: u64,
    /// The same in bytes on the wire.
    pub received_wire_bytes: u64,
    /// What the bottleneck counted.
    pub link: FlowCounters,
}

/// What the emulated bottleneck did.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LinkResult {
    /// Rate on the wire.
    pub rate_bps: u64,
    /// Base RTT.
    pub base_rtt_us: f64,
    /// Size of the buffer.
    pub buffer_bytes: u64,
    /// Rate on the wire while backlogged, as measured.
    pub achieved_rate_bps: Option<f64>,
    /// The same against the configured rate, as a share.
    pub rate_error: Option<f64>,
    /// How long the bottleneck was backlogged.
    pub backlogged_s: f64,
    /// Share of the link that was used.
    pub utilisation: Option<f64>,
    /// How late packets were given out.
    pub lateness: Lateness,
    /// Whether the emulator had real-time priority.
    pub realtime: bool,
    /// Data packets that arrived at the bottleneck.
    pub packets: u64,
    /// Refused by the full buffer.
    pub dropped_full_packets: u64,
    /// Marked "congestion experienced" instead of dropped.
    pub marked_packets: u64,
    /// Lost at random.
    pub lost_packets: u64,
    /// Most bytes in the buffer.
    pub queue_max_bytes: u64,
    /// Mean that accepted packets found.
    pub queue_mean_bytes: f64,
    /// Dropped by the TUN devices.
    pub device_drops: u64,
    /// Refused by the TUN devices.
    pub write_failures: u64,
}

/// One flow of one run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FlowResult {
    /// Name in the scenario.
    pub name: String,
    /// Algorithm in the scenario.
    pub algorithm: String,
    /// As the kernel names it.
    pub kernel_name: String,
    /// From the start to the established connection; none for a command.
    pub connect_us: Option<u64>,
    /// Whether a flow with a size was received completely before its stop.
    pub complete: Option<bool>,
    /// Payload that the receiving end counted.
    pub received_bytes: u64,
    /// What the bottleneck counted.
    pub link: FlowCounters,
    /// Figures of the recording, summed over the sockets of the flow; none when it sent nothing.
    pub metrics: Option<Measures>,
    /// What the recording shows of its swaps.
    pub changes: Vec<AlgorithmChange>,
}

/// Mean, standard deviation and confidence interval over the valid runs.
#[derive(Debug, Clone, PartialEq, Serialize)]
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
#[derive(Debug, Clone, PartialEq, Serialize)]
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
}

/// A threshold and what was measured instead.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MissedThreshold {
    /// Name in the scenario.
    pub name: &'static str,
    /// Value in the scenario.
    pub limit: f64,
    /// Mean over the valid runs; none when there is none.
    pub measured: Option<f64>,
}

/// What a run gave before it was evaluated.
pub(super) struct Measured {
    pub emulator: EmulatorReport,
    pub device_drops: u64,
    pub recorded: Summary,
    pub reports: Reports,
    pub cgroup_ids: Vec<u64>,
    pub kernel_names: Vec<String>,
    pub swaps: Vec<SwapResult>,
}

impl RunResult {
    pub(super) fn new(
        scenario: &Scenario,
        limits: &Limits,
        (run, attempt, directory): (u32, u32, String),
        measured: Measured,
        summary: RecordingSummary,
    ) -> Self {
        let recorded = (measured.recorded.rows, measured.recorded.drops.total());
        let problems = validity::problems(limits, &scenario.link, &measured.emulator, measured.device_drops, recorded);
        RunResult {
            run,
            attempt,
            directory,
            valid: problems.is_empty(),
            problems,
            link: link_result(scenario, &measured, &summary),
            recorded_rows: recorded.0,
            recorder_drops: recorded.1,
            jain: summary.fairness.as_ref().and_then(|fairness| fairness.jain),
            flows: flow_results(scenario, &measured, &summary),
            udp: udp_results(scenario, &measured),
            swaps: measured.swaps,
        }
    }

    /// Difference between the largest and the smallest goodput; none for a single flow.
    #[must_use]
    pub fn gap_bps(&self) -> Option<f64> {
        let goodputs: Vec<f64> = self.flows.iter().filter_map(|f| f.metrics.as_ref()?.goodput_bps).collect();
        if goodputs.len() < 2 {
            return None;
        }
        let largest = goodputs.iter().copied().fold(f64::MIN, f64::max);
        let smallest = goodputs.iter().copied().fold(f64::MAX, f64::min);
        Some(largest - smallest)
    }

    fn measures(&self) -> impl Iterator<Item = &Measures> {
        self.flows.iter().filter_map(|flow| flow.metrics.as_ref())
    }

    fn rtt_mean_us(&self) -> Option<f64> {
        let samples: u64 = self.measures().map(|m| m.rtt_samples).sum();
        let sum: f64 = self.measures().filter_map(|m| Some(m.rtt_mean_us? * m.rtt_samples as f64)).sum();
        (samples > 0).then(|| sum / samples as f64)
    }
}

fn link_result(scenario: &Scenario, measured: &Measured, summary: &RecordingSummary) -> LinkResult {
    let emulator = &measured.emulator;
    let sum = |count: fn(&FlowCounters) -> u64| emulator.flows.iter().map(count).sum();
    LinkResult {
        rate_bps: scenario.link.rate.bps,
        base_rtt_us: base_rtt_us(&scenario.link, 0),
        buffer_bytes: scenario.link.buffer_bytes(),
        achieved_rate_bps: emulator.achieved_rate_bps,
        rate_error: validity::rate_error(emulator, &scenario.link),
        backlogged_s: emulator.backlogged_s,
        utilisation: summary.link.as_ref().and_then(|link| link.utilisation),
        lateness: emulator.lateness,
        realtime: emulator.realtime,
        packets: sum(|flow| flow.offered_packets),
        dropped_full_packets: sum(|flow| flow.dropped_full_packets),
        marked_packets: sum(|flow| flow.marked_packets),
        lost_packets: sum(|flow| flow.lost_packets),
        queue_max_bytes: emulator.queue_max_bytes,
        queue_mean_bytes: emulator.queue_mean_bytes,
        device_drops: measured.device_drops,
        write_failures: emulator.write_failures,
    }
}

fn udp_results(scenario: &Scenario, measured: &Measured) -> Vec<UdpResult> {
    let counters = &measured.emulator.flows[scenario.flows.len()..];
    let reports = scenario.udp.iter().zip(&measured.reports.udp).zip(counters);
    reports
        .map(|((udp, (sent, received)), link)| {
            let wire_bytes = u64::from(udp.packet_bytes + scenario.link.overhead_bytes);
            UdpResult {
                name: udp.name.clone(),
                sent_packets: sent.packets,
                sent_wire_bytes: sent.packets * wire_bytes,
                refused_packets: sent.refused_packets,
                received_packets: received.packets,
                received_wire_bytes: received.packets * wire_bytes,
                link: *link,
            }
        })
        .collect()
}

fn flow_results(scenario: &Scenario, measured: &Measured, summary: &RecordingSummary) -> Vec<FlowResult> {
    scenario
        .flows
        .iter()
        .enumerate()
        .map(|(i, flow)| {
            let sent = measured.reports.sent[i].as_ref();
            let received = measured.reports.arrivals[i].iter().map(|arrival| arrival.bytes).sum();
            // A command may open several sockets; its largest stands for it.
            let sockets = summary.flows.iter().filter(|socket| socket.cgroup_id == measured.cgroup_ids[i]);
            let largest = sockets.max_by_key(|socket| socket.measures.acked_bytes);
            FlowResult {
                name: flow.name.clone(),
                algorithm: flow.algorithm.clone(),
                kernel_name: measured.kernel_names[i].clone(),
                connect_us: sent.and_then(|sent| sent.opened.first()?.connect_us),
                complete: flow.bytes.filter(|_| sent.is_some()).map(|bytes| received == bytes),
                received_bytes: received,
                link: measured.emulator.flows[i],
                metrics: largest.map(|socket| socket.measures.clone()),
                changes: largest.map(|socket| socket.changes.clone()).unwrap_or_default(),
            }
        })
        .collect()
}

impl BenchResult {
    pub(super) fn new(scenario: &Scenario, limits: Limits, runs: Vec<RunResult>) -> Self {
        let aggregate = aggregate(scenario, &runs);
        BenchResult {
            scenario: scenario.name.clone(),
            ccactl_version: env!("CARGO_PKG_VERSION"),
            limits,
            missed_thresholds: missed(scenario, aggregate.as_ref()),
            aggregate,
            runs,
            published: scenario.published.clone(),
        }
    }
}

fn estimate(values: impl Iterator<Item = f64>) -> Option<Estimate> {
    let values: Vec<f64> = values.collect();
    let spread = stats::spread(&values)?;
    Some(Estimate { n: values.len() as u64, mean: spread.mean, sd: spread.sd, ci95: spread.ci95 })
}

fn aggregate(scenario: &Scenario, runs: &[RunResult]) -> Option<Aggregate> {
    let valid: Vec<&RunResult> = runs.iter().filter(|run| run.valid).collect();
    if valid.is_empty() {
        return None;
    }
    let over = |value: &dyn Fn(&RunResult) -> Option<f64>| estimate(valid.iter().filter_map(|run| value(run)));
    let flows = scenario.flows.iter().enumerate().map(|(i, flow)| {
        let of_flow = |value: &dyn Fn(&Measures) -> Option<f64>| over(&|run| value(run.flows[i].metrics.as_ref()?));
        FlowAggregate {
            name: flow.name.clone(),
            algorithm: flow.algorithm.clone(),
            throughput_bps: of_flow(&|m| m.throughput_bps),
            goodput_bps: of_flow(&|m| m.goodput_bps),
            rtt_mean_us: of_flow(&|m| m.rtt_mean_us),
            retrans_pkts: of_flow(&|m| Some(m.retrans_pkts as f64)),
            cwnd_mean_pkts: of_flow(&|m| m.cwnd_mean_pkts),
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

fn missed(scenario: &Scenario, aggregate: Option<&Aggregate>) -> Vec<MissedThreshold> {
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
    let judge = |name, limit: Option<f64>, measured: Option<f64>, fine: fn(f64, f64) -> bool| {
        let limit = limit?;
        // What was not measured has not reached its threshold.
        let missed = measured.is_none_or(|measured| !fine(measured, limit));
        missed.then_some(MissedThreshold { name, limit, measured })
    };
    let lower = lower.into_iter().filter_map(|(name, limit, measured)| judge(name, limit, measured, |m, l| m >= l));
    let upper = upper.into_iter().filter_map(|(name, limit, measured)| judge(name, limit, measured, |m, l| m <= l));
    lower.chain(upper).collect()
}
