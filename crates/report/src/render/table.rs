//! Cells and sentences of tables that the terminal and the page share.

pub(crate) use super::facts::facts;
use super::format::{mbit_per_s, millis, number, percent, significant};
use crate::summary::{AlgorithmSummary, Estimate, InnerValue, Measures, PhaseShare, RepeatedAlgorithm};

/// Changes of algorithm beyond this number are only counted; JSON and CSV have them all.
pub(crate) const MAX_SWAPS: usize = 100;
/// Phases shorter than this share of the time are left out of the line.
const MIN_PHASE_SHARE: f64 = 0.0005;

/// Time per phase with the number of visits and their mean length, as one line.
pub(crate) fn phases(measures: &Measures) -> String {
    let shown = measures.phases.iter().filter(|phase| phase.share >= MIN_PHASE_SHARE);
    let text = |phase: &PhaseShare| {
        let share = percent(Some(phase.share));
        format!("{} {share} % ({} × {} ms)", phase.mode, phase.visits, significant(phase.mean_us / 1e3))
    };
    shown.map(text).collect::<Vec<_>>().join(", ")
}

/// Mean and range of what the algorithm published, as one line.
pub(crate) fn inner_state(measures: &Measures) -> String {
    let value = |inner: &InnerValue| {
        let (name, unit) = match inner.name.as_str() {
            "bw_bps" => ("bw Mbit/s", 1e6),
            "min_rtt_us" => ("min RTT ms", 1e3),
            name => (name, 1.0),
        };
        let [mean, min, max] = [inner.mean, inner.min, inner.max].map(|value| significant(value / unit));
        format!("{name} {mean} ({min} … {max})")
    };
    measures.inner_state.iter().map(value).collect::<Vec<_>>().join(", ")
}

/// What the figures of an algorithm are of those of its flows.
pub(crate) const PER_ALGORITHM: &str = "per algorithm: mean rates, packets of all flows, RTTs over all samples";

/// How many flows the figures of an algorithm stand for.
pub(crate) fn flow_count(algorithm: &AlgorithmSummary) -> String {
    if algorithm.flows == 1 { "1 flow".to_owned() } else { format!("{} flows", algorithm.flows) }
}

/// Goodput, the same while sending, throughput, retransmissions (packets, share), lost packets, cwnd, RTT (mean, median, p95, p99, least), queue.
pub(crate) fn cells(measures: &Measures) -> [String; 13] {
    let us = |value: Option<u64>| millis(value.map(|us| us as f64));
    [
        mbit_per_s(measures.goodput_bps),
        mbit_per_s(measures.sending_goodput_bps),
        mbit_per_s(measures.throughput_bps),
        measures.retrans_pkts.to_string(),
        percent(measures.retrans_ratio),
        measures.lost_pkts.to_string(),
        number(measures.cwnd_mean_pkts),
        millis(measures.rtt_mean_us),
        us(measures.rtt_p50_us),
        us(measures.rtt_p95_us),
        us(measures.rtt_p99_us),
        us(measures.rtt_min_us),
        millis(measures.queueing_delay_us),
    ]
}

/// The figures of one algorithm over repeats: goodput, throughput, retransmissions, cwnd, mean and p95 RTT.
pub(crate) fn repeat_cells(algorithm: &RepeatedAlgorithm) -> [String; 6] {
    [
        estimate(algorithm.goodput_bps, 1e6),
        estimate(algorithm.throughput_bps, 1e6),
        estimate(algorithm.retrans_pkts, 1.0),
        estimate(algorithm.cwnd_mean_pkts, 1.0),
        estimate(algorithm.rtt_mean_us, 1e3),
        estimate(algorithm.rtt_p95_us, 1e3),
    ]
}

/// `mean ± interval (deviation)` in a unit of `unit`.
pub(crate) fn estimate(value: Option<Estimate>, unit: f64) -> String {
    match value {
        None => number(None),
        Some(Estimate { mean, sd: Some(sd), ci95: Some(ci95), .. }) => {
            format!("{} ± {} ({})", significant(mean / unit), significant(ci95 / unit), significant(sd / unit))
        }
        Some(one) => significant(one.mean / unit),
    }
}

/// `mean ± deviation` in a unit of `unit`.
pub(crate) fn mean_and_deviation(value: Option<Estimate>, unit: f64) -> String {
    match value {
        None => number(None),
        Some(Estimate { mean, sd: Some(sd), .. }) => {
            format!("{} ± {}", significant(mean / unit), significant(sd / unit))
        }
        Some(one) => significant(one.mean / unit),
    }
}
