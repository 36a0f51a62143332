//! The flows of one algorithm in one cgroup, over the last minutes: medians with the middle four fifths.

use crate::live::view::Snapshot;
use serde::Serialize;
use std::collections::{BTreeMap, VecDeque};

/// Moments that are kept of a group.
const POINTS: usize = 600;
/// Groups that are drawn; the others are in the tables.
const MOST: usize = 16;

/// 10th, 50th and 90th percentile over the flows that have a figure.
type Band = Option<[f64; 3]>;

/// A group at one moment. `null` is "no flow has it".
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Point {
    /// Unix time.
    t_s: f64,
    /// Acknowledged payload of a flow, Mbit/s.
    rate: Band,
    /// Smoothed RTT, ms.
    rtt: Band,
    /// Congestion window, packets.
    cwnd: Band,
}

/// What does not change from one moment to the next.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Group {
    /// Algorithm and cgroup.
    name: String,
    /// Of the registry; none: not one of ccactl's.
    color: Option<&'static str>,
    /// Open flows.
    flows: usize,
}

#[derive(Debug)]
struct Line {
    group: Group,
    points: VecDeque<Point>,
    seen: u64,
}

/// A group with the points that a reader does not have yet.
#[derive(Debug, Serialize)]
pub struct Drawn<'a> {
    #[serde(flatten)]
    group: &'a Group,
    points: Vec<&'a Point>,
}

/// All groups.
#[derive(Debug, Default)]
pub struct Lines {
    lines: BTreeMap<(String, String), Line>,
    moment: u64,
    left_out: usize,
}

impl Lines {
    /// Adds a moment.
    pub fn add(&mut self, snapshot: &Snapshot, t_s: f64) {
        self.moment += 1;
        let mut members: BTreeMap<(String, String), Vec<usize>> = BTreeMap::new();
        for (i, flow) in snapshot.flows.iter().enumerate().filter(|(_, flow)| !flow.is_closed) {
            members.entry((flow.kernel_name.clone(), flow.cgroup.clone())).or_default().push(i);
        }
        // The largest, and those that are drawn already before newcomers of the same size.
        let mut order: Vec<_> = members.into_iter().collect();
        order.sort_by_key(|(key, flows)| (std::cmp::Reverse(flows.len()), !self.lines.contains_key(key)));
        self.left_out = order.len().saturating_sub(MOST);
        for (key, flows) in order.into_iter().take(MOST) {
            let flows: Vec<_> = flows.into_iter().map(|i| &snapshot.flows[i]).collect();
            let group = Group { name: format!("{} {}", key.0, key.1), color: flows[0].color, flows: flows.len() };
            let point = Point {
                t_s,
                rate: band(flows.iter().filter_map(|flow| Some(flow.goodput_bps? / 1e6))),
                rtt: band(flows.iter().filter_map(|flow| Some(f64::from(flow.srtt_us?) / 1e3))),
                cwnd: band(flows.iter().map(|flow| f64::from(flow.cwnd_pkts))),
            };
            let new = Line { group: group.clone(), points: VecDeque::new(), seen: 0 };
            let line = self.lines.entry(key).or_insert(new);
            (line.group, line.seen) = (group, self.moment);
            line.points.push_back(point);
            if line.points.len() > POINTS {
                line.points.pop_front();
            }
        }
        let (now, mut gone) = (self.moment, Vec::new());
        for (key, line) in &mut self.lines {
            if line.seen != now {
                line.group.flows = 0;
            }
            if line.seen + POINTS as u64 <= now {
                gone.push(key.clone());
            }
        }
        for key in gone {
            self.lines.remove(&key);
        }
        while self.lines.len() > 2 * MOST {
            let oldest = self.lines.iter().min_by_key(|(_, line)| line.seen).map(|(key, _)| key.clone());
            self.lines.remove(&oldest.expect("there are some"));
        }
    }

    /// Everything that is kept.
    #[must_use]
    pub fn all(&self) -> Vec<Drawn<'_>> {
        self.lines.values().map(|line| Drawn { group: &line.group, points: line.points.iter().collect() }).collect()
    }

    /// The latest moment: groups without flows have no point in it.
    #[must_use]
    pub fn latest(&self) -> Vec<Drawn<'_>> {
        let latest = |line: &'_ Line| line.seen == self.moment;
        let points = |line| if latest(line) { line.points.back().into_iter().collect() } else { Vec::new() };
        self.lines.values().map(|line| Drawn { group: &line.group, points: points(line) }).collect()
    }

    /// Groups of the latest moment that are not drawn, as there are too many.
    #[must_use]
    pub fn left_out(&self) -> usize {
        self.left_out
    }
}

/// At the nearest place in the order, as on the page of a report.
fn band(values: impl Iterator<Item = f64>) -> Band {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    let last = values.len().checked_sub(1)?;
    Some([0.1, 0.5, 0.9].map(|share| values[(share * last as f64).round() as usize]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_band_is_the_middle_four_fifths() {
        assert_eq!(band((0..=10).map(f64::from)), Some([1.0, 5.0, 9.0]));
        assert_eq!(band([7.0].into_iter()), Some([7.0, 7.0, 7.0]));
        assert_eq!(band(std::iter::empty()), None);
    }

    #[test]
    fn what_has_gone_stays_as_long_as_its_points_and_no_moment_adds_more_than_one() {
        let mut lines = Lines::default();
        for t in 0..2 * POINTS {
            lines.add(&Snapshot::default(), t as f64);
        }
        assert!(lines.all().is_empty() && lines.latest().is_empty() && lines.left_out() == 0);
    }
}
