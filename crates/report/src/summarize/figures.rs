//! The figures of flows and of algorithms.

use std::collections::HashMap;

use super::fold::{Flow, Part};
use super::{BITS_PER_BYTE, US_PER_S, swaps};
use crate::labels::{self, Algorithms};
use crate::measure::inner::InnerState;
use crate::measure::phases::PhaseTimes;
use crate::measure::totals::Totals;
use crate::recording::Metadata;
use crate::stats::Histogram;
use crate::summary::{AlgorithmSummary, FlowSummary, InnerValue, Measures, PhaseShare};

/// One summary per flow.
pub fn flow_summaries(metadata: &Metadata, flows: &[Flow], algorithms: &Algorithms) -> Vec<FlowSummary> {
    let chains: Vec<String> = flows.iter().map(|flow| algorithm_chain(flow, algorithms)).collect();
    let labelled: Vec<_> =
        chains.iter().zip(flows).map(|(chain, flow)| (chain.clone(), &flow.parts[0].totals.endpoints)).collect();
    let names = labels::flow_names(metadata, &labelled);
    flows
        .iter()
        .zip(names)
        .zip(chains)
        .map(|((flow, name), algorithm)| {
            let ends = &flow.parts[0].totals.endpoints;
            let active_us = flow.active_us();
            let parts: Vec<&Part> = flow.parts.iter().collect();
            FlowSummary {
                name,
                algorithm,
                kernel_name: flow.parts[0].totals.kernel_name.clone(),
                changes: swaps::changes(metadata, flow, algorithms),
                flow_id: flow.key.flow_id,
                netns: flow.key.netns,
                cgroup_id: ends.cgroup_id,
                local: labels::socket(&ends.src, ends.sport),
                remote: labels::socket(&ends.dst, ends.dport),
                start_s: flow.first_us() as f64 / US_PER_S,
                end_s: flow.progress_us() as f64 / US_PER_S,
                rows: flow.sum(|t| t.rows),
                measures: measures(metadata, &parts, active_us),
            }
        })
        .collect()
}

/// A flow that went through more algorithms than this is known by the first and the last of them.
const LONGEST_CHAIN: usize = 4;

fn algorithm_chain(flow: &Flow, algorithms: &Algorithms) -> String {
    let first = flow.swaps.first().map_or(&flow.parts[0].totals.kernel_name, |swap| &swap.change.from);
    let later = flow.swaps.iter().map(|swap| &swap.change.to);
    let names: Vec<String> = std::iter::once(first).chain(later).map(|name| algorithms.name(name)).collect();
    match names.as_slice() {
        [first, between @ .., last] if names.len() > LONGEST_CHAIN => {
            format!("{first} → {} others → {last}", between.len())
        }
        names => names.join(" → "),
    }
}

/// One summary per algorithm, in the order in which they appear.
pub fn algorithm_summaries(
    metadata: &Metadata,
    flows: &[Flow],
    algorithms: &Algorithms,
    run_us: u64,
) -> Vec<AlgorithmSummary> {
    let mut order: Vec<&str> = Vec::new();
    let mut parts: HashMap<&str, Vec<(&Part, u64)>> = HashMap::new();
    for flow in flows {
        let active_us = flow.active_us();
        for part in &flow.parts {
            let name = part.totals.kernel_name.as_str();
            // A flow that kept its algorithm ran it for its whole active time; else the steps say for how long.
            let ran_us = if flow.parts.len() == 1 { active_us } else { part.totals.time_us };
            if !parts.contains_key(name) {
                order.push(name);
            }
            parts.entry(name).or_default().push((part, ran_us));
        }
    }
    order
        .into_iter()
        .map(|kernel_name| {
            let of_it = &parts[kernel_name];
            let all: Vec<&Part> = of_it.iter().map(|(part, _)| *part).collect();
            let ran_us = of_it.iter().map(|(_, ran_us)| ran_us).sum();
            let acked: u64 = all.iter().map(|part| part.totals.acked_bytes).sum();
            AlgorithmSummary {
                algorithm: algorithms.name(kernel_name),
                kernel_name: kernel_name.to_owned(),
                color: algorithms.color(kernel_name),
                flows: all.len() as u64,
                total_goodput_bps: rate_bps(acked, run_us),
                measures: measures(metadata, &all, ran_us),
            }
        })
        .collect()
}

/// The figures of some parts of flows that together lasted `time_us`.
fn measures(metadata: &Metadata, parts: &[&Part], time_us: u64) -> Measures {
    let sum = |value: fn(&Totals) -> u64| -> u64 { parts.iter().map(|part| value(&part.totals)).sum() };
    let mut rtt = Histogram::default();
    let mut phase_us: PhaseTimes = HashMap::new();
    for part in parts {
        rtt.merge(&part.rtt);
        for (mode, &time_us) in &part.phases {
            *phase_us.entry(mode.clone()).or_default() += time_us;
        }
    }
    let cwnd_time_us: f64 = parts.iter().map(|part| part.totals.cwnd_time_us).sum();
    let cwnd_pkts_us: f64 = parts.iter().map(|part| part.totals.cwnd_pkts_us).sum();
    let (sent_bytes, acked_bytes) = (sum(|t| t.sent_bytes), sum(|t| t.acked_bytes));
    Measures {
        throughput_bps: rate_bps(sent_bytes, time_us),
        goodput_bps: rate_bps(acked_bytes, time_us),
        sent_bytes,
        acked_bytes,
        retrans_pkts: sum(|t| t.retrans_pkts),
        retrans_ratio: (sent_bytes > 0).then(|| sum(|t| t.retrans_bytes) as f64 / sent_bytes as f64),
        lost_pkts: sum(|t| t.lost_pkts),
        delivered_ce_pkts: sum(|t| t.delivered_ce_pkts),
        cwnd_mean_pkts: (cwnd_time_us > 0.0).then(|| cwnd_pkts_us / cwnd_time_us),
        rtt_samples: rtt.total(),
        rtt_mean_us: rtt.mean(),
        rtt_p50_us: rtt.percentile(50.0),
        rtt_p95_us: rtt.percentile(95.0),
        rtt_p99_us: rtt.percentile(99.0),
        rtt_min_us: rtt.min(),
        queueing_delay_us: queueing_delay_us(metadata, parts),
        phases: phase_shares(metadata, &parts[0].totals.kernel_name, phase_us),
        inner_state: inner_values(metadata, parts),
    }
}

fn rate_bps(bytes: u64, time_us: u64) -> Option<f64> {
    (time_us > 0).then(|| bytes as f64 * BITS_PER_BYTE * US_PER_S / time_us as f64)
}

/// Mean over the samples of RTT minus base RTT, each flow against its own base.
fn queueing_delay_us(metadata: &Metadata, parts: &[&Part]) -> Option<f64> {
    let mut excess_us = 0.0;
    let mut samples = 0;
    for part in parts {
        let cgroup_id = part.totals.endpoints.cgroup_id;
        let of_flow = metadata.flows.iter().find(|flow| flow.cgroup_id == cgroup_id).and_then(|flow| flow.base_rtt_us);
        let of_link = metadata.link.as_ref().and_then(|link| link.base_rtt_us);
        let (Some(mean_us), Some(min_us)) = (part.rtt.mean(), part.rtt.min()) else { continue };
        excess_us += (mean_us - of_flow.or(of_link).unwrap_or(min_us as f64)) * part.rtt.total() as f64;
        samples += part.rtt.total();
    }
    (samples > 0).then(|| excess_us / samples as f64)
}

/// The inner state under the names of the registry; of parts with different algorithms only what the first one has.
fn inner_values(metadata: &Metadata, parts: &[&Part]) -> Vec<InnerValue> {
    let kernel_name = &parts[0].totals.kernel_name;
    let labels = labels::inner_labels(metadata, kernel_name);
    let mut state = InnerState::default();
    for part in parts.iter().filter(|part| part.totals.kernel_name == *kernel_name) {
        for (sum, held) in state.iter_mut().zip(&part.inner) {
            sum.merge(held);
        }
    }
    state
        .iter()
        .zip(labels)
        .filter_map(|(held, label)| {
            let ((least, most), mean, label) = (held.range?, held.mean()?, label?);
            let (min, max) = (least as f64, most as f64);
            Some(InnerValue { name: label.name, doc: label.doc, mean, min, max })
        })
        .collect()
}

fn phase_shares(metadata: &Metadata, kernel_name: &str, phase_us: PhaseTimes) -> Vec<PhaseShare> {
    let known_us: u64 = phase_us.values().sum();
    if known_us == 0 {
        return Vec::new();
    }
    let order = metadata.algorithms.iter().find(|a| a.kernel_name == kernel_name).map_or(&[][..], |a| &a.modes);
    let rank = |mode: &str| order.iter().position(|m| m == mode).unwrap_or(order.len());
    let mut shares: Vec<PhaseShare> = phase_us
        .into_iter()
        .map(|(mode, time_us)| PhaseShare { mode, share: time_us as f64 / known_us as f64 })
        .collect();
    shares.sort_by(|a, b| rank(&a.mode).cmp(&rank(&b.mode)).then_with(|| a.mode.cmp(&b.mode)));
    shares
}
