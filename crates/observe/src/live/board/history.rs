//! What a flow or a group looked like, twice per window, for a minute's worth of windows.

use std::collections::VecDeque;

/// Points that are kept: a minute at the default interval.
pub const POINTS: usize = 120;

/// One moment. `None` where there was no sample since the point before.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Point {
    /// Mean of the RTT samples since the point before.
    pub rtt_us: Option<f32>,
    /// Congestion window; of a group the mean of its flows.
    pub cwnd_pkts: Option<f32>,
    /// Goodput in bit/s.
    pub goodput_bps: Option<f32>,
}

/// Points in order of time, the latest last. Grows with what it holds, so a short connection has little.
#[derive(Debug, Clone, Default)]
pub struct History {
    points: VecDeque<Point>,
}

impl History {
    pub(crate) fn push(&mut self, point: Point) {
        if self.points.len() == POINTS {
            self.points.pop_front();
        }
        self.points.push_back(point);
    }

    /// The latest `n` values of one kind, the latest last; fewer when there are no more.
    pub fn latest(&self, n: usize, value: impl Fn(&Point) -> Option<f32>) -> Vec<Option<f32>> {
        self.points.iter().skip(self.points.len().saturating_sub(n)).map(value).collect()
    }
}

/// RTT samples since the last point.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Mean {
    sum_us: u64,
    samples: u64,
}

impl Mean {
    pub(crate) fn add(&mut self, rtt_us: u32) {
        self.sum_us += u64::from(rtt_us);
        self.samples += 1;
    }

    /// The mean, and from now on a new one.
    pub(crate) fn take(&mut self) -> Option<f32> {
        let Mean { sum_us, samples } = std::mem::take(self);
        (samples > 0).then(|| (sum_us as f64 / samples as f64) as f32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_points_are_kept_and_given_in_order() {
        let mut history = History::default();
        for i in 0..POINTS + 5 {
            history.push(Point { cwnd_pkts: Some(i as f32), ..Point::default() });
        }
        assert_eq!(history.latest(2, |p| p.cwnd_pkts), [Some(123.0), Some(124.0)]);
        let all = history.latest(usize::MAX, |p| p.cwnd_pkts);
        assert_eq!((all.len(), all[0]), (POINTS, Some(5.0)));
        assert_eq!(history.latest(1, |p| p.rtt_us), [None]);
    }

    #[test]
    fn a_mean_begins_anew_when_it_is_taken() {
        let mut mean = Mean::default();
        [10, 20].into_iter().for_each(|rtt| mean.add(rtt));
        assert_eq!((mean.take(), mean.take()), (Some(15.0), None));
    }
}
