//! Flows that are too many to be told apart, by groups: the median of a group over time and the band of its middle four fifths.
//!
//! A group is a side of a roll-out, a name that a scenario gives to several flows, or an algorithm. What is drawn per bucket of time is
//! over the flows of the group that were open in it. Each counts with its own mean of the bucket, and where it has no row with what it showed
//! last.

use std::collections::BTreeMap;

use super::model::{Band, GroupCharts};
use super::widths::round;
use crate::measure::amounts::Amounts;
use crate::scale::{BITS_PER_BYTE, US_PER_MS, US_PER_S};
use crate::summary::{FlowSummary, RecordingSummary};
use crate::walk::{Counter, Run};

/// As many flows have lines of their own.
pub const FEW: usize = 8;
/// More groups are one, "others".
const MAX_GROUPS: usize = 8;
const OTHERS: &str = "others";
/// Buckets of all flows together, and of the run.
const BUCKETS: u64 = 3_000_000;
const BUCKETS_OF_A_RUN: std::ops::RangeInclusive<u64> = 24..=150;
/// A flow that was open for less of a bucket says nothing about it.
const OPEN_SHARE: f64 = 0.5;
/// The band: its ends are these quantiles.
const QUANTILES: [f64; 3] = [0.1, 0.5, 0.9];
/// Points of a distribution.
const DISTRIBUTION_POINTS: usize = 100;

/// Width of the buckets: not much narrower than the distance between two rows of a flow, of which nothing is known in between.
#[must_use]
pub fn width_us(span_us: u64, flows: u64, rows: u64) -> u64 {
    let buckets = (BUCKETS / flows.max(1)).min(rows / flows.max(1));
    span_us.div_ceil(buckets.clamp(*BUCKETS_OF_A_RUN.start(), *BUCKETS_OF_A_RUN.end())).max(1000)
}

/// What is known of one flow, bucket by bucket.
#[derive(Default)]
pub struct Member {
    delivered: Amounts<f64>,
    rtt_us: Means,
    cwnd_pkts: Means,
}

impl Member {
    /// Takes rows in.
    pub fn add(&mut self, run: &Run<'_>, width_us: u64) {
        run.growth(Counter::DeliveredPkts, |span_us, pkts| self.delivered.add(span_us, width_us, pkts as f64));
        run.known(|columns| &columns.rtt_us, |t_us, value| self.rtt_us.add(t_us / width_us, value as f64));
        run.known(|columns| &columns.cwnd_pkts, |t_us, value| self.cwnd_pkts.add(t_us / width_us, value as f64));
    }
}

/// The mean of the values of each bucket, which come nearly in order.
#[derive(Default)]
struct Means(Vec<(u64, f64, f64)>);

impl Means {
    fn add(&mut self, bucket: u64, value: f64) {
        match self.0.last_mut() {
            Some((latest, sum, count)) if *latest == bucket => {
                *sum += value;
                *count += 1.0;
            }
            _ => self.0.push((bucket, value, 1.0)),
        }
    }

    fn finish(self) -> BTreeMap<u64, f64> {
        let mut sums: BTreeMap<u64, (f64, f64)> = BTreeMap::new();
        for (bucket, sum, count) in self.0 {
            let of = sums.entry(bucket).or_default();
            *of = (of.0 + sum, of.1 + count);
        }
        sums.into_iter().map(|(bucket, (sum, count))| (bucket, sum / count)).collect()
    }
}

/// Name of the group of a flow.
#[must_use]
pub fn name_of(flow: &FlowSummary) -> &str {
    if let Some(side) = flow.side {
        return side.word();
    }
    // Flows of one name of a scenario are numbered.
    match flow.name.rsplit_once(" #") {
        Some((name, number)) if number.bytes().all(|byte| byte.is_ascii_digit()) && !name.contains('→') => name,
        _ => &flow.algorithm,
    }
}

/// Name of the drawn group that a flow is in.
#[must_use]
pub fn group_of<'a>(flow: &'a FlowSummary, charts: &super::Charts) -> &'a str {
    let name = name_of(flow);
    if charts.groups.iter().any(|group| group.name == name) { name } else { OTHERS }
}

/// The groups, the largest first; `members` in the order of the flows of the summary.
#[must_use]
pub fn charts(summary: &RecordingSummary, members: Vec<Member>, width_us: u64) -> Vec<GroupCharts> {
    let mut sizes: BTreeMap<&str, usize> = BTreeMap::new();
    summary.flows.iter().for_each(|flow| *sizes.entry(name_of(flow)).or_default() += 1);
    let mut names: Vec<(&str, usize)> = sizes.into_iter().collect();
    names.sort_by_key(|&(name, flows)| (std::cmp::Reverse(flows), name));
    let kept: Vec<&str> = if names.len() > MAX_GROUPS {
        names.iter().take(MAX_GROUPS - 1).map(|(name, _)| *name).chain([OTHERS]).collect()
    } else {
        names.iter().map(|(name, _)| *name).collect()
    };
    let mut groups: Vec<Group> = kept.into_iter().map(Group::new).collect();
    for (flow, member) in summary.flows.iter().zip(members) {
        let name = name_of(flow);
        let at = groups.iter().position(|group| group.name == name).unwrap_or(groups.len() - 1);
        groups[at].add(flow, member, width_us);
    }
    let color = |name: &str| {
        let first = summary.flows.iter().find(|flow| name_of(flow) == name);
        first.and_then(|flow| summary.color_of(flow)).unwrap_or("#777777").to_owned()
    };
    groups
        .into_iter()
        .map(|group| {
            let color = color(group.name);
            group.finish(color, width_us)
        })
        .collect()
}

/// By bucket, the values of the flows that were open.
type Values = BTreeMap<u64, Vec<f32>>;

struct Group<'a> {
    name: &'a str,
    flows: u64,
    goodput_mbit: Values,
    rtt_ms: Values,
    cwnd_pkts: Values,
    of_flows_mbit: Vec<f64>,
}

impl<'a> Group<'a> {
    fn new(name: &'a str) -> Group<'a> {
        let [goodput_mbit, rtt_ms, cwnd_pkts] = std::array::from_fn(|_| Values::new());
        Group { name, flows: 0, goodput_mbit, rtt_ms, cwnd_pkts, of_flows_mbit: Vec::new() }
    }

    fn add(&mut self, flow: &FlowSummary, member: Member, width_us: u64) {
        self.flows += 1;
        self.of_flows_mbit.extend(flow.measures.goodput_bps.map(|bps| bps / 1e6));
        let delivered: BTreeMap<u64, f64> = member.delivered.into_sorted().into_iter().collect();
        let payload_bits = flow.measures.acked_bytes as f64 * BITS_PER_BYTE / delivered.values().sum::<f64>().max(1.0);
        let [from_us, to_us] = [flow.start_s, flow.end_s].map(|s| (s * US_PER_S) as u64);
        for bucket in from_us / width_us..=to_us / width_us {
            let open_us = to_us.min((bucket + 1) * width_us).saturating_sub(from_us.max(bucket * width_us));
            if open_us as f64 >= OPEN_SHARE * width_us as f64 {
                // Bits per µs are Mbit/s.
                let mbit = delivered.get(&bucket).copied().unwrap_or(0.0) * payload_bits / open_us as f64;
                self.goodput_mbit.entry(bucket).or_default().push(mbit as f32);
            }
        }
        let open = from_us / width_us..=to_us / width_us;
        hold(&mut self.rtt_ms, member.rtt_us.finish(), open.clone(), US_PER_MS);
        hold(&mut self.cwnd_pkts, member.cwnd_pkts.finish(), open, 1.0);
    }

    fn finish(mut self, color: String, width_us: u64) -> GroupCharts {
        self.of_flows_mbit.sort_by(f64::total_cmp);
        let last = self.of_flows_mbit.len().saturating_sub(1);
        let points = DISTRIBUTION_POINTS.min(last.max(1));
        let point = |k: usize| (round(self.of_flows_mbit[last * k / points]), k as f64 / points as f64);
        let distribution = if self.of_flows_mbit.is_empty() { Vec::new() } else { (0..=points).map(point).collect() };
        GroupCharts {
            name: self.name.to_owned(),
            color,
            flows: self.flows,
            rate: band(self.goodput_mbit, width_us),
            rtt: band(self.rtt_ms, width_us),
            cwnd: band(self.cwnd_pkts, width_us),
            goodputs: distribution,
        }
    }
}

/// A bucket without a row has what the flow showed last, as long as it is open.
fn hold(values: &mut Values, of_flow: BTreeMap<u64, f64>, open: std::ops::RangeInclusive<u64>, unit: f64) {
    let mut last = None;
    for bucket in open {
        last = of_flow.get(&bucket).copied().or(last);
        if let Some(value) = last {
            values.entry(bucket).or_default().push((value / unit) as f32);
        }
    }
}

fn band(values: Values, width_us: u64) -> Band {
    let mut band = Band::default();
    let mut expected = None;
    for (bucket, mut of_flows) in values {
        let t = (bucket * width_us + width_us / 2) as f64 / US_PER_S;
        // No line over a time in which nothing of the group was open.
        if expected.is_some_and(|expected| bucket > expected) {
            band.push((expected.unwrap_or(bucket) * width_us) as f64 / US_PER_S, [None; 3]);
        }
        expected = Some(bucket + 1);
        of_flows.sort_by(f32::total_cmp);
        let quantile = |share: f64| f64::from(of_flows[(share * (of_flows.len() - 1) as f64).round() as usize]);
        band.push(t, QUANTILES.map(|share| Some(round(quantile(share)))));
    }
    band
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_band_has_the_tenth_the_median_and_the_ninetieth() {
        let values =
            Values::from([(0, (1..=11).map(|v| v as f32).collect()), (1, vec![5.0]), (4, vec![7.0, 9.0, 8.0])]);
        let band = band(values, 1_000_000);
        assert_eq!(band.t, [0.5, 1.5, 2.0, 4.5]);
        assert_eq!(band.p50, [Some(6.0), Some(5.0), None, Some(8.0)]);
        assert_eq!((band.p10[0], band.p90[0]), (Some(2.0), Some(10.0)));
        assert_eq!((band.p10[3], band.p90[3]), (Some(7.0), Some(9.0)));
    }

    #[test]
    fn buckets_are_wider_the_more_flows_there_are() {
        let widths = [24, 5_000, 100_000, 1_000_000].map(|flows| width_us(60_000_000, flows, flows * 1000));
        assert_eq!(widths, [400_000, 400_000, 2_000_000, 2_500_000]);
        assert_eq!([3, 50].map(|rows| width_us(60_000_000, 40, 40 * rows)), [2_500_000, 1_200_000]);
    }

    #[test]
    fn a_bucket_that_was_left_is_found_again() {
        let mut means = Means::default();
        [(0, 1.0), (1, 5.0), (0, 3.0)].into_iter().for_each(|(bucket, value)| means.add(bucket, value));
        assert_eq!(means.finish().into_iter().collect::<Vec<_>>(), [(0, 2.0), (1, 5.0)]);
    }
}
