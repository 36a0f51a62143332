//! Flows of a run.

use super::Measured;
use crate::bench::children::FlowReport;
use crate::emulator::{Access, address};
use crate::traffic::Transfer;
use ccactl_link::network::{FlowCounters, FlowTally, QueueingDelay};
use ccactl_report::{AlgorithmChange, FlowSummary, Measures, RecordingSummary};
use ccactl_scenario::{Direction, FlowPath, FlowSpec, Repeat, SERVER, Scenario};
use serde::{Deserialize, Serialize};
use std::ops::Add;

/// One flow of one run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FlowResult {
    /// Name in the scenario.
    pub name: String,
    /// Algorithm in the scenario.
    pub algorithm: String,
    /// As the kernel names it.
    pub kernel_name: String,
    /// From the start to the established connection, the first one of several; none for a command.
    pub connect_us: Option<u64>,
    /// Whether a flow with a size was received completely before its stop, as often as it was to be; one that repeats until its
    /// stop, at least once.
    pub complete: Option<bool>,
    /// Payload that the receiving end counted.
    pub received_bytes: u64,
    /// What the links counted; absent where they do not count by flow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<FlowCounters>,
    /// Time that its delivered data packets spent in queues, all links together; absent where nobody saw them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queueing: Option<QueueingDelay>,
    /// Share of the time in which its sending process, for want of a CPU, had left the socket without data though there were more.
    /// None for a command, for less than a second, and where the scenario limits the socket's buffer.
    #[serde(default)]
    pub socket_empty: Option<f64>,
    /// Figures of the recording; none when it sent nothing. Of a flow with several sockets those that can be added up.
    pub metrics: Option<Measures>,
    /// What the recording shows of its swaps.
    pub changes: Vec<AlgorithmChange>,
    /// Transfers of a flow with a size, in order.
    pub transfers: Vec<Transfer>,
    /// Their completion times; none for a flow without a size.
    pub completion: Option<Completion>,
    /// Each path of an MPTCP flow, in the order of the scenario; empty for plain TCP. `link` and `metrics` of the flow are
    /// their sums.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<PathResult>,
}

/// What an MPTCP flow did on one of its paths.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PathResult {
    /// Name in the scenario.
    pub name: String,
    /// What the links counted; absent where they do not count by flow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<FlowCounters>,
    /// Time that its delivered data packets spent in queues.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queueing: Option<QueueingDelay>,
    /// Figures of the recording, of its subflows; none when there was none.
    pub metrics: Option<Measures>,
}

/// Completion times of a flow's transfers: from the start of the connection to the last byte at the receiving application.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Completion {
    /// Transfers that were complete before the stop.
    pub complete: u64,
    /// Those that were not.
    pub incomplete: u64,
    /// Mean over the complete ones; none without any, like the others.
    pub mean_us: Option<f64>,
    /// Median; percentiles are nearest-rank.
    pub p50_us: Option<u64>,
    /// 95th percentile.
    pub p95_us: Option<u64>,
    /// 99th percentile.
    pub p99_us: Option<u64>,
    /// Longest.
    pub max_us: Option<u64>,
}

impl Completion {
    fn of(transfers: &[Transfer]) -> Self {
        let mut times: Vec<u64> = transfers.iter().filter_map(|transfer| transfer.completion_us).collect();
        times.sort_unstable();
        let rank = |share: f64| {
            let rank = (share * times.len() as f64).ceil() as usize;
            times.get(rank.max(1) - 1).copied()
        };
        Completion {
            complete: times.len() as u64,
            incomplete: (transfers.len() - times.len()) as u64,
            mean_us: (!times.is_empty()).then(|| times.iter().sum::<u64>() as f64 / times.len() as f64),
            p50_us: rank(0.5),
            p95_us: rank(0.95),
            p99_us: rank(0.99),
            max_us: times.last().copied(),
        }
    }
}

pub(super) fn flow_results(scenario: &Scenario, measured: &Measured, summary: &RecordingSummary) -> Vec<FlowResult> {
    let of_flow = |(i, flow): (usize, &FlowSpec)| {
        let report = &measured.reports.flows[i];
        let tallies = |path: usize| measured.carried.flows.get(path).copied();
        let sockets: Vec<&FlowSummary> =
            summary.flows.iter().filter(|socket| socket.cgroup_id == measured.cgroup_ids[i]).collect();
        let largest = sockets.iter().max_by_key(|socket| socket.measures.acked_bytes);
        let paths = path_results(scenario, i, &sockets, &tallies);
        let tally = tallies(i).filter(|_| !flow.is_mptcp());
        let completion = flow.bytes.map(|_| Completion::of(&report.transfers));
        FlowResult {
            name: flow.name.clone(),
            algorithm: flow.algorithm.clone(),
            kernel_name: measured.kernel_names[i].clone(),
            connect_us: report.transfers.first().and_then(|transfer| transfer.connect_us),
            complete: completion.map(|completion| is_complete(flow.repeat, &completion)),
            received_bytes: report.received_bytes,
            link: tally
                .map(|tally| tally.counters)
                .or_else(|| paths.iter().filter_map(|path| path.link).reduce(Add::add)),
            queueing: tally.map(|tally| tally.queueing),
            socket_empty: socket_empty(scenario, flow, report),
            metrics: measures(flow, &sockets),
            changes: largest.map(|socket| socket.changes.clone()).unwrap_or_default(),
            transfers: if flow.bytes.is_some() { report.transfers.clone() } else { Vec::new() },
            completion,
            paths,
        }
    };
    scenario.flows.iter().enumerate().map(of_flow).collect()
}

/// A subflow belongs to the path whose address it has at the flow's host.
fn path_results(
    scenario: &Scenario,
    flow: usize,
    sockets: &[&FlowSummary],
    tallies: &dyn Fn(usize) -> Option<FlowTally>,
) -> Vec<PathResult> {
    let (accesses, spec) = (Access::all(scenario), &scenario.flows[flow]);
    let of_it = accesses.iter().enumerate().filter(|(_, access)| access.host == flow && spec.is_mptcp());
    let result = |((index, _), path): ((usize, &Access), FlowPath<'_>)| {
        let at = format!("{}:", address::host(index));
        let here = |socket: &&&FlowSummary| socket.local.starts_with(&at) || socket.remote.starts_with(&at);
        let measures: Vec<&Measures> = sockets.iter().filter(here).map(|socket| &socket.measures).collect();
        let tally = tallies(index);
        PathResult {
            name: path.name.unwrap_or_default().to_owned(),
            link: tally.map(|tally| tally.counters),
            queueing: tally.map(|tally| tally.queueing),
            metrics: if let [one] = measures[..] { Some(one.clone()) } else { together(&measures) },
        }
    };
    of_it.zip(scenario.paths_of(spec)).map(result).collect()
}

/// With a buffer that the scenario limits, a socket without further data is what it asks for.
fn socket_empty(scenario: &Scenario, flow: &FlowSpec, report: &FlowReport) -> Option<f64> {
    let host = scenario.host(match flow.direction {
        Direction::Upload => &flow.name,
        Direction::Download => SERVER,
    });
    let limited = host.sndbuf_max.is_some() || host.sysctl.contains_key("ipv4/tcp_wmem");
    let sent = report.sent.as_ref().filter(|_| !limited)?;
    sent.supply.empty_share()
}

fn is_complete(repeat: Repeat, completion: &Completion) -> bool {
    match repeat {
        Repeat::Times(times) => completion.complete == u64::from(times),
        Repeat::UntilStop => completion.complete > 0,
    }
}

/// Whether a flow is one transfer rather than a series of them.
pub(super) fn is_single(flow: &FlowSpec) -> bool {
    flow.repeat == Repeat::Times(1)
}

/// A command may open several sockets: its largest stands for it. Those of a repeated flow count together.
fn measures(flow: &FlowSpec, sockets: &[&FlowSummary]) -> Option<Measures> {
    let all = sockets.iter().map(|socket| &socket.measures);
    if is_single(flow) && flow.is_mptcp() {
        return at_once(&all.collect::<Vec<_>>());
    }
    if is_single(flow) {
        return all.max_by_key(|measures| measures.acked_bytes).cloned();
    }
    together(&all.collect::<Vec<_>>())
}

/// Subflows of one connection: what they carry side by side adds up too.
fn at_once(subflows: &[&Measures]) -> Option<Measures> {
    let sum =
        |value: fn(&Measures) -> Option<f64>| subflows.iter().filter_map(|measures| value(measures)).reduce(Add::add);
    let (throughput_bps, goodput_bps) = (sum(|m| m.throughput_bps), sum(|m| m.goodput_bps));
    let sending_goodput_bps = sum(|m| m.sending_goodput_bps);
    together(subflows).map(|all| Measures { throughput_bps, goodput_bps, sending_goodput_bps, ..all })
}

/// Counters are sums, the mean RTT is that of all samples, the smallest RTT the smallest of all. Rates, windows, percentiles and
/// phases do not add up over connections with pauses between them: they are not known.
fn together(sockets: &[&Measures]) -> Option<Measures> {
    if sockets.is_empty() {
        return None;
    }
    let sum = |value: fn(&Measures) -> u64| sockets.iter().map(|measures| value(measures)).sum::<u64>();
    let (sent_bytes, rtt_samples) = (sum(|m| m.sent_bytes), sum(|m| m.rtt_samples));
    let rtt_sum_us: f64 = sockets.iter().filter_map(|m| Some(m.rtt_mean_us? * m.rtt_samples as f64)).sum();
    let (lost_pkts, delivered_pkts) = (sum(|m| m.lost_pkts), sum(|m| m.delivered_pkts));
    let delivered_ce_pkts = sum(|m| m.delivered_ce_pkts);
    let ratio = |part: f64, whole: u64| (whole > 0).then(|| part / whole as f64);
    let retransmitted: f64 = sockets.iter().filter_map(|m| Some(m.retrans_ratio? * m.sent_bytes as f64)).sum();
    Some(Measures {
        throughput_bps: None,
        goodput_bps: None,
        sending_goodput_bps: None,
        sent_bytes,
        acked_bytes: sum(|m| m.acked_bytes),
        retrans_pkts: sum(|m| m.retrans_pkts),
        retrans_ratio: ratio(retransmitted, sent_bytes),
        lost_pkts,
        delivered_pkts,
        loss_ratio: ratio(lost_pkts as f64, lost_pkts + delivered_pkts),
        delivered_ce_pkts,
        ce_ratio: ratio(delivered_ce_pkts as f64, delivered_pkts),
        rto_count: sockets.iter().map(|m| m.rto_count).sum(),
        cwnd_mean_pkts: None,
        cwnd_max_pkts: sockets.iter().filter_map(|m| m.cwnd_max_pkts).max(),
        rtt_samples,
        rtt_mean_us: ratio(rtt_sum_us, rtt_samples),
        rtt_p50_us: None,
        rtt_p95_us: None,
        rtt_p99_us: None,
        rtt_min_us: sockets.iter().filter_map(|m| m.rtt_min_us).min(),
        queueing_delay_us: None,
        power_bps_per_s: None,
        phases: Vec::new(),
        inner_state: Vec::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn completion_times_are_those_of_the_complete_transfers() {
        let transfer = |completion_us| Transfer { start_ns: 0, connect_us: Some(1), completion_us, bytes: 10 };
        let transfers: Vec<Transfer> = [Some(40), Some(10), None, Some(20), Some(30)].map(transfer).into();
        let expected = Completion {
            complete: 4,
            incomplete: 1,
            mean_us: Some(25.0),
            p50_us: Some(20),
            p95_us: Some(40),
            p99_us: Some(40),
            max_us: Some(40),
        };
        let completion = Completion::of(&transfers);
        assert_eq!(completion, expected);
        assert!(is_complete(Repeat::UntilStop, &completion) && is_complete(Repeat::Times(4), &completion));
        assert!(!is_complete(Repeat::Times(5), &completion));
        let none = Completion::of(&transfers[2..3]);
        assert_eq!((none.complete, none.incomplete, none.mean_us, none.p50_us, none.max_us), (0, 1, None, None, None));
    }
}
