//! The flows that differ most from the others of their group.

use std::collections::BTreeMap;

use super::groups::name_of;
use crate::summary::{FlowSummary, RecordingSummary};

/// So many are marked.
pub const MOST: usize = 8;
/// Distance from the median in deviations from which a flow is different: Iglewicz and Hoaglin, "How to Detect and Handle Outliers", 1993.
const FAR: f64 = 3.5;
/// The median absolute deviation of normal values, in standard deviations.
const NORMAL: f64 = 0.6745;
/// A group of fewer flows has no usual one.
const FEWEST: usize = 5;

type Figure = (fn(&FlowSummary) -> Option<f64>, &'static str, &'static str);

/// What is looked at, and what the flow has that others have not.
const FIGURES: [Figure; 3] = [
    (|flow| flow.measures.goodput_bps, "little goodput", "much goodput"),
    (|flow| flow.measures.rtt_mean_us, "short RTT", "long RTT"),
    (|flow| flow.measures.retrans_ratio, "few retransmissions", "many retransmissions"),
];

/// Index of the flow and why, the most different first.
#[must_use]
pub fn flows(summary: &RecordingSummary) -> Vec<(usize, &'static str)> {
    let mut groups: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (i, flow) in summary.flows.iter().enumerate() {
        groups.entry(name_of(flow)).or_default().push(i);
    }
    let mut found: BTreeMap<usize, (f64, &'static str)> = BTreeMap::new();
    for members in groups.values().filter(|members| members.len() >= FEWEST) {
        for (figure, less, more) in FIGURES {
            let values: Vec<(usize, f64)> =
                members.iter().filter_map(|&i| Some((i, figure(&summary.flows[i])?))).collect();
            for (i, distance) in distances(&values) {
                let why = if distance < 0.0 { less } else { more };
                let best = found.entry(i).or_insert((0.0, why));
                if distance.abs() > best.0 {
                    *best = (distance.abs(), why);
                }
            }
        }
    }
    let mut found: Vec<(usize, (f64, &str))> = found.into_iter().filter(|(_, (far, _))| *far > FAR).collect();
    found.sort_by(|(_, (a, _)), (_, (b, _))| b.total_cmp(a));
    found.into_iter().take(MOST).map(|(i, (_, why))| (i, why)).collect()
}

/// How far each value is from the median, in robust deviations; nothing where all are alike.
fn distances(values: &[(usize, f64)]) -> Vec<(usize, f64)> {
    let median = |mut of: Vec<f64>| {
        of.sort_by(f64::total_cmp);
        of.get(of.len() / 2).copied()
    };
    let Some(middle) = median(values.iter().map(|(_, value)| *value).collect()) else { return Vec::new() };
    let deviation = median(values.iter().map(|(_, value)| (value - middle).abs()).collect()).unwrap_or(0.0);
    if deviation <= 0.0 {
        return Vec::new();
    }
    values.iter().map(|&(i, value)| (i, NORMAL * (value - middle) / deviation)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_are_in_deviations_that_one_stray_value_does_not_move() {
        let values: Vec<(usize, f64)> = [9.0, 10.0, 11.0, 10.0, 9.0, 12.0, 100.0].into_iter().enumerate().collect();
        let far = distances(&values);
        assert!(far[6].1 > 50.0, "{far:?}");
        assert!(far[..6].iter().all(|(_, distance)| distance.abs() < FAR), "{far:?}");
        assert!(distances(&[(0, 5.0), (1, 5.0), (2, 5.0), (3, 8.0)]).is_empty());
    }
}
