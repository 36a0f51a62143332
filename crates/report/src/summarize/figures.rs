//! The figures of flows and of algorithms.

use std::collections::HashMap;

use super::fold::{Flow, Part};
use super::{BITS_PER_BYTE, US_PER_S, connections, swaps};
use crate::labels::{self, Algorithms};
use crate::measure::inner::InnerState;
use crate::measure::phases::Phases;
use crate::stats::Histogram;
use crate::summary::{AlgorithmSummary, FlowSummary, InnerValue, Measures, PhaseShare};
use crate::walk::{Counter, Name, Names};
use ccactl_recording::read::Metadata;

/// Schema version that brought `rto_count`.
const COUNTS_TIMEOUTS: u32 = 2;

/// What the figures are made of.
pub struct Sources<'a> {
    /// What the recorder wrote beside the rows.
    pub metadata: &'a Metadata,
    /// Names of algorithms and phases.
    pub names: &'a Names,
    /// What the user calls them.
    pub algorithms: &'a Algorithms,
}

/// A part of a flow, with the whole that it belongs to.
#[derive(Clone, Copy)]
struct PartOf<'a> {
    flow: &'a Flow,
    part: &'a Part,
}

/// One summary per flow.
pub fn flow_summaries(sources: &Sources<'_>, flows: &[Flow]) -> Vec<FlowSummary> {
    let chains: Vec<String> = flows.iter().map(|flow| algorithm_chain(sources, flow)).collect();
    let labelled: Vec<_> = chains.iter().zip(flows).map(|(chain, flow)| (chain.clone(), &flow.endpoints)).collect();
    let names = labels::flow_names(sources.metadata, &labelled);
    flows
        .iter()
        .zip(names)
        .zip(chains)
        .map(|((flow, name), algorithm)| {
            let parts: Vec<PartOf> = flow.parts.iter().map(|part| PartOf { flow, part }).collect();
            FlowSummary {
                name,
                algorithm,
                kernel_name: sources.names.text(flow.parts[0].algorithm).to_owned(),
                changes: swaps::changes(sources.metadata, sources.names, flow, sources.algorithms),
                flow_id: flow.key.flow_id,
                netns: flow.key.netns,
                cgroup_id: flow.endpoints.cgroup_id,
                local: flow.endpoints.local(),
                remote: flow.endpoints.remote(),
                start_s: flow.first_us() as f64 / US_PER_S,
                end_s: flow.progress_us() as f64 / US_PER_S,
                rows: flow.sum(|t| t.rows),
                closed: flow.closing.map(connections::closed),
                measures: measures(sources, &parts, flow.active_us()),
            }
        })
        .collect()
}

/// A flow that went through more algorithms than this is known by the first and the last of them.
const LONGEST_CHAIN: usize = 4;

fn algorithm_chain(sources: &Sources<'_>, flow: &Flow) -> String {
    let first = flow.swaps.first().map_or(flow.parts[0].algorithm, |swap| swap.change.from);
    let later = flow.swaps.iter().map(|swap| swap.change.to);
    let name = |name: Name| sources.algorithms.name(sources.names.text(name));
    let names: Vec<String> = std::iter::once(first).chain(later).map(name).collect();
    match names.as_slice() {
        [first, between @ .., last] if names.len() > LONGEST_CHAIN => {
            format!("{first} → {} others → {last}", between.len())
        }
        names => names.join(" → "),
    }
}

/// One summary per algorithm, in the order in which they appear.
pub fn algorithm_summaries(sources: &Sources<'_>, flows: &[Flow], run_us: u64) -> Vec<AlgorithmSummary> {
    let mut order: Vec<Name> = Vec::new();
    let mut parts: HashMap<Name, Vec<(PartOf, u64)>> = HashMap::new();
    for flow in flows {
        let active_us = flow.active_us();
        for part in &flow.parts {
            // A flow that kept its algorithm ran it for its whole active time; else the steps say for how long.
            let ran_us = if flow.parts.len() == 1 { active_us } else { part.totals.time_us };
            if !parts.contains_key(&part.algorithm) {
                order.push(part.algorithm);
            }
            parts.entry(part.algorithm).or_default().push((PartOf { flow, part }, ran_us));
        }
    }
    order
        .into_iter()
        .map(|algorithm| {
            let of_it = &parts[&algorithm];
            let all: Vec<PartOf> = of_it.iter().map(|(part, _)| *part).collect();
            let ran_us = of_it.iter().map(|(_, ran_us)| ran_us).sum();
            let acked: u64 = all.iter().map(|of| of.part.totals.grown(Counter::BytesAcked)).sum();
            let kernel_name = sources.names.text(algorithm);
            let ended_with_it = flows.iter().filter(|flow| flow.last_algorithm() == algorithm);
            let of_connections = connections::Times::of(ended_with_it);
            AlgorithmSummary {
                algorithm: sources.algorithms.name(kernel_name),
                kernel_name: kernel_name.to_owned(),
                color: sources.algorithms.color(kernel_name),
                flows: all.len() as u64,
                total_goodput_bps: rate_bps(acked, run_us),
                connections: of_connections.summary(),
                rtt_quantiles_us: connections::quantiles(&pooled_rtt(&all)),
                completion_quantiles_us: connections::quantiles(&of_connections.completion),
                measures: measures(sources, &all, ran_us),
            }
        })
        .collect()
}

fn pooled_rtt(parts: &[PartOf]) -> Histogram {
    let mut rtt = Histogram::default();
    parts.iter().for_each(|of| rtt.merge(&of.part.rtt));
    rtt
}

/// The figures of some parts of flows that together lasted `time_us`.
fn measures(sources: &Sources<'_>, parts: &[PartOf], time_us: u64) -> Measures {
    let grown =
        |counter: Counter| -> u64 { parts.iter().fold(0, |sum, of| sum.saturating_add(of.part.totals.grown(counter))) };
    let ratio = |part: u64, of: u64| (of > 0).then(|| part as f64 / of as f64);
    let rtt = pooled_rtt(parts);
    let mut phases = Phases::default();
    parts.iter().for_each(|of| phases.merge(&of.part.phases));
    let cwnd_time_us: u64 = parts.iter().map(|of| of.part.totals.cwnd_time_us).sum();
    let cwnd_pkts_us: u128 = parts.iter().map(|of| of.part.totals.cwnd_pkts_us).sum();
    let (sent_bytes, acked_bytes) = (grown(Counter::BytesSent), grown(Counter::BytesAcked));
    let (lost_pkts, delivered_pkts) = (grown(Counter::LostPkts), grown(Counter::DeliveredPkts));
    let delivered_ce_pkts = grown(Counter::DeliveredCePkts);
    let goodput_bps = rate_bps(acked_bytes, time_us);
    let rtt_mean_us = rtt.mean();
    let percentiles = rtt.percentiles(&[0.0, 50.0, 95.0, 99.0]);
    Measures {
        throughput_bps: rate_bps(sent_bytes, time_us),
        goodput_bps,
        sent_bytes,
        acked_bytes,
        retrans_pkts: grown(Counter::RetransPkts),
        retrans_ratio: ratio(grown(Counter::BytesRetrans), sent_bytes),
        lost_pkts,
        delivered_pkts,
        loss_ratio: ratio(lost_pkts, lost_pkts.saturating_add(delivered_pkts)),
        delivered_ce_pkts,
        ce_ratio: ratio(delivered_ce_pkts, delivered_pkts),
        rto_count: (sources.metadata.schema_version >= COUNTS_TIMEOUTS).then(|| grown(Counter::RtoCount)),
        cwnd_mean_pkts: (cwnd_time_us > 0).then(|| cwnd_pkts_us as f64 / cwnd_time_us as f64),
        cwnd_max_pkts: parts.iter().filter_map(|of| of.part.totals.cwnd_max_pkts).max(),
        rtt_samples: rtt.total(),
        rtt_mean_us,
        rtt_min_us: percentiles.first().copied(),
        rtt_p50_us: percentiles.get(1).copied(),
        rtt_p95_us: percentiles.get(2).copied(),
        rtt_p99_us: percentiles.get(3).copied(),
        queueing_delay_us: queueing_delay_us(sources.metadata, parts),
        power_bps_per_s: power_bps_per_s(goodput_bps, rtt_mean_us),
        phases: phase_shares(sources, parts[0].part.algorithm, &phases),
        inner_state: inner_values(sources, parts),
    }
}

/// Power: goodput per second of mean RTT.
fn power_bps_per_s(goodput_bps: Option<f64>, rtt_mean_us: Option<f64>) -> Option<f64> {
    let rtt_s = rtt_mean_us.filter(|&us| us > 0.0)? / US_PER_S;
    Some(goodput_bps? / rtt_s)
}

fn rate_bps(bytes: u64, time_us: u64) -> Option<f64> {
    (time_us > 0).then(|| bytes as f64 * BITS_PER_BYTE * US_PER_S / time_us as f64)
}

/// Mean over the samples of RTT minus base RTT, each flow against its own base.
fn queueing_delay_us(metadata: &Metadata, parts: &[PartOf]) -> Option<f64> {
    let mut excess_us = 0.0;
    let mut samples = 0;
    for PartOf { flow, part } in parts {
        let cgroup_id = flow.endpoints.cgroup_id;
        let of_flow =
            metadata.flows.iter().flatten().find(|flow| flow.cgroup_id == cgroup_id).and_then(|flow| flow.base_rtt_us);
        let of_link = metadata.link.as_ref().and_then(|link| link.base_rtt_us);
        let (Some(mean_us), Some(min_us)) = (part.rtt.mean(), part.rtt.min()) else { continue };
        excess_us += (mean_us - of_flow.or(of_link).unwrap_or(min_us as f64)) * part.rtt.total() as f64;
        samples += part.rtt.total();
    }
    (samples > 0).then(|| excess_us / samples as f64)
}

/// The inner state under the names of the registry; of parts with different algorithms only what the first one has.
fn inner_values(sources: &Sources<'_>, parts: &[PartOf]) -> Vec<InnerValue> {
    let algorithm = parts[0].part.algorithm;
    let labels = labels::inner_labels(sources.metadata, sources.names.text(algorithm));
    let mut state = InnerState::default();
    for of in parts.iter().filter(|of| of.part.algorithm == algorithm) {
        for (sum, held) in state.iter_mut().zip(&of.part.inner) {
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

fn phase_shares(sources: &Sources<'_>, algorithm: Name, phases: &Phases) -> Vec<PhaseShare> {
    let known_us: u64 = phases.iter().map(|(_, stay)| stay.time_us).sum();
    if known_us == 0 {
        return Vec::new();
    }
    let kernel_name = sources.names.text(algorithm);
    let info = sources.metadata.algorithms.iter().flatten().find(|a| a.kernel_name == kernel_name);
    let order = info.map_or(&[][..], |a| &a.modes);
    let rank = |mode: &str| order.iter().position(|m| m == mode).unwrap_or(order.len());
    let mut shares: Vec<PhaseShare> = phases
        .iter()
        .map(|(mode, stay)| PhaseShare {
            mode: sources.names.text(mode).to_owned(),
            share: stay.time_us as f64 / known_us as f64,
            visits: stay.visits,
            mean_us: stay.time_us as f64 / stay.visits.max(1) as f64,
        })
        .collect();
    shares.sort_by(|a, b| rank(&a.mode).cmp(&rank(&b.mode)).then_with(|| a.mode.cmp(&b.mode)));
    shares
}
