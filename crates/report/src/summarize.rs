//! From the rows of a recording to its summary, in one pass.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::columns::FlowKey;
use crate::labels::{self, Algorithms};
use crate::measure::changes::{self, Change};
use crate::measure::intervals::{Intervals, PerInterval};
use crate::measure::phases::{self, PhaseTimes};
use crate::measure::rtt;
use crate::measure::totals::{self, Totals};
use crate::recording::{Extent, Metadata, Recording};
use crate::stats::{Histogram, jain};
use crate::summary::{
    AlgorithmChange, AlgorithmSummary, Fairness, FlowSummary, LinkSummary, Measures, PhaseShare, RecordingSummary,
    Summary,
};
use crate::{Error, Options, repeats, steps};

const US_PER_S: f64 = 1e6;
const BITS_PER_BYTE: f64 = 8.0;
/// IP and TCP headers, and the timestamps that Linux sends by default: 20 + 20 + 12.
const HEADER_BYTES_IPV4: f64 = 52.0;
/// 40 + 20 + 12.
const HEADER_BYTES_IPV6: f64 = 72.0;

/// Computes every figure of a report.
///
/// # Errors
/// When a recording cannot be read, holds no flow that sent data, or has no rows in the window.
pub fn summarize(recordings: &[Recording], options: &Options) -> Result<Summary, Error> {
    let names = short_names(recordings);
    let summaries = recordings
        .iter()
        .zip(names)
        .map(|(recording, name)| summarize_one(recording, name, options))
        .collect::<Result<Vec<_>, _>>()?;
    let repeats = repeats::find(&summaries);
    Ok(Summary { recordings: summaries, repeats })
}

/// Everything that one pass over the rows folds.
struct Folded {
    truncated: bool,
    rows: u64,
    all_flows: usize,
    flows: Vec<Flow>,
    intervals: PerInterval,
}

/// One flow that sent data, split by algorithm.
pub(crate) struct Flow {
    pub key: FlowKey,
    /// In the order in which they ran first.
    parts: Vec<Part>,
    changes: Vec<Change>,
}

struct Part {
    totals: Totals,
    rtt: Histogram,
    phases: PhaseTimes,
}

impl Flow {
    fn first_us(&self) -> u64 {
        self.parts.iter().map(|part| part.totals.first_us).min().unwrap_or(0)
    }

    fn progress_us(&self) -> u64 {
        self.parts.iter().map(|part| part.totals.progress_us).max().unwrap_or(0)
    }

    fn sum(&self, value: impl Fn(&Totals) -> u64) -> u64 {
        self.parts.iter().map(|part| value(&part.totals)).sum()
    }

    /// An algorithm that was replaced before the first data ran nothing; its rows belong to the next one.
    fn without_idle_start(mut self) -> Flow {
        let idle =
            |part: &Part| part.totals.time_us == 0 && part.totals.sent_bytes == 0 && part.totals.acked_bytes == 0;
        while self.parts.len() > 1 && idle(&self.parts[0]) {
            let start = self.parts.remove(0).totals;
            let next = &mut self.parts[0].totals;
            next.first_us = next.first_us.min(start.first_us);
            next.rows += start.rows;
        }
        self
    }

    /// One row can show that a flow sent data, but not how fast.
    fn sent_data(&self) -> bool {
        let one_row = self.sum(|t| t.rows) == 1;
        self.sum(|t| t.sent_bytes) > 0 || (one_row && self.sum(|t| t.sent_so_far_bytes) > 0)
    }
}

fn summarize_one(recording: &Recording, name: String, options: &Options) -> Result<RecordingSummary, Error> {
    let window_us = options.window_us()?;
    let extent = recording.extent()?;
    let folded = fold(recording, window_us, options)?;
    check_not_empty(recording, extent, &folded, window_us)?;
    let metadata = recording.metadata();
    let kernel_names: BTreeSet<String> =
        folded.flows.iter().flat_map(|flow| &flow.parts).map(|part| part.totals.kernel_name.clone()).collect();
    let algorithms = Algorithms::new(metadata, &kernel_names);
    let first_us = folded.flows.iter().map(Flow::first_us).min().unwrap_or(0);
    let last_us = folded.flows.iter().map(Flow::progress_us).max().unwrap_or(0);
    let run_us = last_us.saturating_sub(first_us);
    let flows = flow_summaries(metadata, &folded.flows, &algorithms);
    let (from_us, to_us) = window_us;
    Ok(RecordingSummary {
        path: recording.path().display().to_string(),
        name,
        started: metadata.started.clone(),
        kernel: metadata.kernel.clone(),
        ccactl_version: metadata.writer.clone(),
        every: metadata.every.clone(),
        from_s: from_us.max(extent.map_or(0, |e| e.first_us)) as f64 / US_PER_S,
        to_s: to_us.min(extent.map_or(0, |e| e.last_us)) as f64 / US_PER_S,
        duration_s: run_us as f64 / US_PER_S,
        rows: folded.rows,
        drops: metadata.drops,
        truncated: folded.truncated,
        warnings: warnings(metadata, extent, folded.truncated),
        link: link_summary(metadata, &folded.flows, run_us),
        fairness: fairness(&folded, options.interval_us()),
        algorithms: algorithm_summaries(metadata, &folded.flows, &algorithms, run_us),
        flows,
        scenario: metadata.scenario.clone(),
    })
}

fn fold(recording: &Recording, window_us: (u64, u64), options: &Options) -> Result<Folded, Error> {
    let (mut totals, mut rtt, mut phases) = (totals::fold(), rtt::fold(), phases::fold());
    let mut intervals = Intervals::new("bytes_acked", options.interval_us());
    let mut changes = Vec::new();
    let truncated = steps::for_each_batch(recording, window_us, |steps| {
        totals.push(steps)?;
        rtt.push(steps)?;
        phases.push(steps)?;
        intervals.push(steps)?;
        changes.extend(changes::find(steps)?);
        Ok(())
    })?;
    let read = || {
        let totals = totals.finish()?.map(|frame| totals::read(&frame)).transpose()?.unwrap_or_default();
        let rtt = rtt.finish()?.map(|frame| rtt::read(&frame)).transpose()?.unwrap_or_default();
        let phases = phases.finish()?.map(|frame| phases::read(&frame)).transpose()?.unwrap_or_default();
        Ok((totals, rtt, phases, intervals.finish()?))
    };
    let (totals, rtt, phases, intervals) = read().map_err(Error::rows(recording.path()))?;
    let rows = totals.iter().map(|t| t.rows).sum();
    let flows = join(totals, rtt, phases, changes);
    let all_flows = flows.len();
    let mut flows: Vec<Flow> = flows.into_iter().filter(Flow::sent_data).collect();
    flows.sort_by_key(|flow| (flow.first_us(), flow.key));
    Ok(Folded { truncated, rows, all_flows, flows, intervals })
}

fn join(
    totals: Vec<Totals>,
    mut rtt: HashMap<(FlowKey, String), Histogram>,
    mut phases: HashMap<(FlowKey, String), PhaseTimes>,
    changes: Vec<Change>,
) -> Vec<Flow> {
    let mut flows: BTreeMap<FlowKey, Flow> = BTreeMap::new();
    for totals in totals {
        let key = (totals.flow, totals.kernel_name.clone());
        let part =
            Part { rtt: rtt.remove(&key).unwrap_or_default(), phases: phases.remove(&key).unwrap_or_default(), totals };
        let flow = flows.entry(key.0).or_insert_with(|| Flow { key: key.0, parts: Vec::new(), changes: Vec::new() });
        flow.parts.push(part);
    }
    for change in changes {
        if let Some(flow) = flows.get_mut(&change.flow) {
            flow.changes.push(change);
        }
    }
    flows.into_values().map(Flow::without_idle_start).collect()
}

fn check_not_empty(
    recording: &Recording,
    extent: Option<Extent>,
    folded: &Folded,
    (from_us, to_us): (u64, u64),
) -> Result<(), Error> {
    if !folded.flows.is_empty() {
        return Ok(());
    }
    let path = recording.path().to_owned();
    match extent {
        None => Err(Error::NoFlow { path, found: "it has no rows".to_owned() }),
        Some(extent) if folded.rows == 0 => {
            let (first_s, last_s) = (extent.first_us as f64 / US_PER_S, extent.last_us as f64 / US_PER_S);
            let to_s = (to_us as f64 / US_PER_S).min(last_s.max(from_us as f64 / US_PER_S));
            Err(Error::EmptyWindow { path, from_s: from_us as f64 / US_PER_S, to_s, first_s, last_s })
        }
        Some(_) => {
            Err(Error::NoFlow { path, found: format!("{} rows of {} flows, all idle", folded.rows, folded.all_flows) })
        }
    }
}

fn warnings(metadata: &Metadata, extent: Option<Extent>, truncated: bool) -> Vec<String> {
    let mut warnings = Vec::new();
    let rows = extent.map_or(0, |e| e.rows);
    if let Some(drops) = metadata.drops.filter(|&drops| drops > 0) {
        let percent = 100.0 * drops as f64 / (drops + rows) as f64;
        warnings.push(format!(
            "{drops} rows were dropped while recording ({percent:.2} % of all): totals are right, RTT, window and phases miss samples"
        ));
    }
    if truncated {
        warnings.push(format!(
            "the recording ends early (the recorder was killed or is still running): {rows} whole rows were read"
        ));
    }
    if let Some(written) = metadata.rows.filter(|&written| written != rows) {
        warnings.push(format!("the recorder wrote {written} rows, the file has {rows}"));
    }
    warnings
}

fn flow_summaries(metadata: &Metadata, flows: &[Flow], algorithms: &Algorithms) -> Vec<FlowSummary> {
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
            let active_us = flow.progress_us().saturating_sub(flow.first_us());
            let parts: Vec<&Part> = flow.parts.iter().collect();
            FlowSummary {
                name,
                algorithm,
                kernel_name: flow.parts[0].totals.kernel_name.clone(),
                changes: flow
                    .changes
                    .iter()
                    .map(|change| AlgorithmChange {
                        at_s: change.at_us as f64 / US_PER_S,
                        from: algorithms.name(&change.from),
                        to: algorithms.name(&change.to),
                    })
                    .collect(),
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

fn algorithm_chain(flow: &Flow, algorithms: &Algorithms) -> String {
    let first = flow.changes.first().map_or(&flow.parts[0].totals.kernel_name, |change| &change.from);
    let later = flow.changes.iter().map(|change| &change.to);
    std::iter::once(first).chain(later).map(|name| algorithms.name(name)).collect::<Vec<_>>().join(" → ")
}

fn algorithm_summaries(
    metadata: &Metadata,
    flows: &[Flow],
    algorithms: &Algorithms,
    run_us: u64,
) -> Vec<AlgorithmSummary> {
    let mut order: Vec<&str> = Vec::new();
    let mut parts: HashMap<&str, Vec<(&Part, u64)>> = HashMap::new();
    for flow in flows {
        let active_us = flow.progress_us().saturating_sub(flow.first_us());
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

fn link_summary(metadata: &Metadata, flows: &[Flow], run_us: u64) -> Option<LinkSummary> {
    let link = metadata.link.as_ref().filter(|link| link.rate_bps > 0.0)?;
    let wire_bytes: f64 = flows
        .iter()
        .map(|flow| {
            let ipv6 = flow.parts[0].totals.endpoints.src.contains(':');
            let per_packet = link.overhead_bytes + if ipv6 { HEADER_BYTES_IPV6 } else { HEADER_BYTES_IPV4 };
            flow.sum(|t| t.acked_bytes) as f64 + flow.sum(|t| t.delivered_pkts) as f64 * per_packet
        })
        .sum();
    let bdp_bytes = link.base_rtt_us.map(|rtt_us| link.rate_bps * rtt_us / US_PER_S / BITS_PER_BYTE);
    Some(LinkSummary {
        rate_bps: link.rate_bps,
        base_rtt_us: link.base_rtt_us,
        buffer_bytes: link.buffer_bytes,
        buffer_bdp: link.buffer_bytes.zip(bdp_bytes.filter(|&bdp| bdp > 0.0)).map(|(buffer, bdp)| buffer / bdp),
        utilisation: (run_us > 0).then(|| wire_bytes * BITS_PER_BYTE * US_PER_S / (link.rate_bps * run_us as f64)),
    })
}

fn fairness(folded: &Folded, interval_us: u64) -> Option<Fairness> {
    if folded.flows.len() < 2 {
        return None;
    }
    let acked: Vec<f64> = folded.flows.iter().map(|flow| flow.sum(|t| t.acked_bytes) as f64).collect();
    let per_interval = interval_jain(&folded.flows, &folded.intervals, interval_us);
    let mean = (!per_interval.is_empty()).then(|| per_interval.iter().sum::<f64>() / per_interval.len() as f64);
    Some(Fairness {
        jain: jain(&acked),
        jain_interval_mean: mean,
        intervals: per_interval.len() as u64,
        interval_s: interval_us as f64 / US_PER_S,
    })
}

/// Jain's index of each interval in which at least two flows were active from edge to edge.
fn interval_jain(flows: &[Flow], bytes: &PerInterval, interval_us: u64) -> Vec<f64> {
    let last = flows.iter().map(Flow::progress_us).max().unwrap_or(0) / interval_us;
    (0..last)
        .filter_map(|interval| {
            let (start_us, end_us) = (interval * interval_us, (interval + 1) * interval_us);
            let active = flows.iter().filter(|flow| flow.first_us() <= start_us && flow.progress_us() >= end_us);
            let shares: Vec<f64> = active
                .map(|flow| bytes.get(&flow.key).and_then(|b| b.get(&interval)).copied().unwrap_or(0.0))
                .collect();
            jain(&shares)
        })
        .collect()
}

/// The shortest ends of the paths that tell the recordings apart, at least the file's name.
fn short_names(recordings: &[Recording]) -> Vec<String> {
    let parts: Vec<Vec<String>> = recordings
        .iter()
        .map(|r| r.path().components().map(|c| c.as_os_str().to_string_lossy().into_owned()).collect())
        .collect();
    let tail = |parts: &[String], n: usize| match parts {
        [pipe] if pipe == "-" => "standard input".to_owned(),
        parts => parts[parts.len().saturating_sub(n)..].join("/"),
    };
    let longest = parts.iter().map(Vec::len).max().unwrap_or(1);
    for n in 1..longest {
        let names: Vec<String> = parts.iter().map(|p| tail(p, n)).collect();
        if names.iter().collect::<BTreeSet<_>>().len() == names.len() {
            return names;
        }
    }
    parts.iter().map(|p| tail(p, longest)).collect()
}
