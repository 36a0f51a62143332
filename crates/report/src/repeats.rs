//! Several recordings of one scenario: mean, standard deviation and confidence interval.

use crate::stats;
use crate::summary::{Estimate, Measures, RecordingSummary, RepeatedAlgorithm, Repeats};

/// Groups recordings of the same scenario with the same algorithms; recordings without a scenario are grouped by
/// their algorithms alone. A group of one is no group.
pub fn find(recordings: &[RecordingSummary]) -> Vec<Repeats> {
    let mut groups: Vec<Vec<&RecordingSummary>> = Vec::new();
    for recording in recordings {
        match groups.iter_mut().find(|group| same_scenario(group[0], recording)) {
            Some(group) => group.push(recording),
            None => groups.push(vec![recording]),
        }
    }
    groups.iter().filter(|group| group.len() > 1).map(|group| repeats(group)).collect()
}

fn same_scenario(a: &RecordingSummary, b: &RecordingSummary) -> bool {
    let flows_per_algorithm = |recording: &RecordingSummary| {
        let mut counts: Vec<(String, u64)> =
            recording.algorithms.iter().map(|a| (a.algorithm.clone(), a.flows)).collect();
        counts.sort();
        counts
    };
    a.scenario == b.scenario && flows_per_algorithm(a) == flows_per_algorithm(b)
}

fn repeats(group: &[&RecordingSummary]) -> Repeats {
    let algorithms = group[0].algorithms.iter().map(|a| repeated(group, &a.algorithm)).collect();
    Repeats {
        paths: group.iter().map(|recording| recording.path.clone()).collect(),
        algorithms,
        jain: estimate(group.iter().filter_map(|r| r.fairness.as_ref()?.jain)),
        utilisation: estimate(group.iter().filter_map(|r| r.link.as_ref()?.utilisation)),
    }
}

fn repeated(group: &[&RecordingSummary], algorithm: &str) -> RepeatedAlgorithm {
    let of_it = || group.iter().filter_map(|r| r.algorithms.iter().find(|a| a.algorithm == algorithm));
    let over = |value: fn(&Measures) -> Option<f64>| estimate(of_it().filter_map(|a| value(&a.measures)));
    RepeatedAlgorithm {
        algorithm: algorithm.to_owned(),
        throughput_bps: over(|m| m.throughput_bps),
        goodput_bps: over(|m| m.goodput_bps),
        rtt_mean_us: over(|m| m.rtt_mean_us),
        rtt_p95_us: over(|m| m.rtt_p95_us.map(|us| us as f64)),
        retrans_pkts: over(|m| Some(m.retrans_pkts as f64)),
        cwnd_mean_pkts: over(|m| m.cwnd_mean_pkts),
    }
}

/// Mean, deviation and interval of a figure over recordings; `None` without any.
#[must_use]
pub fn estimate(values: impl Iterator<Item = f64>) -> Option<Estimate> {
    let values: Vec<f64> = values.collect();
    let spread = stats::spread(&values)?;
    Some(Estimate { n: values.len() as u64, mean: spread.mean, sd: spread.sd, ci95: spread.ci95 })
}
