//! Flows together: those of a cgroup, or those with an algorithm.

use super::flow::{Flow, Step};
use super::history::{History, Mean, Point};
use super::meter::{Counts, Meter};
use super::pace::Pace;
use super::rtts::{RttWindow, Rtts};
use ccactl_abi::layout::{FLAG_TRACE, NAME_LEN};
use std::collections::BTreeMap;

/// Sums over flows, also over those that are gone.
#[derive(Debug, Clone)]
pub struct Group {
    /// Points for charts.
    pub history: History,
    meter: Meter,
    window: RttWindow,
    rtt: Mean,
    live: Live,
    /// Its latest step.
    pub(crate) touched_ns: u64,
}

/// How the open flows of a group that have sent data look now.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Live {
    /// How many there are.
    pub flows: u64,
    /// How many have which algorithm, by kernel name, NUL-padded.
    pub algorithms: BTreeMap<[u8; NAME_LEN], u64>,
    /// How many are in which phase of their algorithm; without those that publish none.
    pub phases: BTreeMap<([u8; NAME_LEN], u32), u64>,
    cwnd_pkts: u64,
}

impl Live {
    pub(crate) fn add(&mut self, flow: &Flow) {
        let row = &flow.last;
        self.flows += 1;
        self.cwnd_pkts += u64::from(row.cwnd_pkts);
        *self.algorithms.entry(row.algorithm).or_default() += 1;
        if row.flags & FLAG_TRACE != 0 {
            *self.phases.entry((row.algorithm, row.trace.mode)).or_default() += 1;
        }
    }

    /// The average window.
    #[must_use]
    pub fn cwnd_mean_pkts(&self) -> Option<f64> {
        (self.flows > 0).then(|| self.cwnd_pkts as f64 / self.flows as f64)
    }
}

impl Group {
    pub(crate) fn new(pace: &Pace) -> Group {
        Group {
            history: History::default(),
            meter: Meter::new(pace),
            window: RttWindow::default(),
            rtt: Mean::default(),
            live: Live::default(),
            touched_ns: 0,
        }
    }

    pub(crate) fn add(&mut self, pace: &Pace, time_ns: u64, step: &Step) {
        self.touched_ns = self.touched_ns.max(time_ns);
        self.meter.add(pace, step.from_ns, time_ns, &step.counts);
        if let Some(rtt_us) = step.rtt_us {
            self.window.add(pace, time_ns, rtt_us);
            self.rtt.add(rtt_us);
        }
    }

    /// Its open flows as of the latest look at all flows.
    #[must_use]
    pub fn live(&self) -> &Live {
        &self.live
    }

    pub(crate) fn set_live(&mut self, live: Live) {
        self.live = live;
    }

    /// What was counted within the window.
    #[must_use]
    pub fn counts(&self, pace: &Pace, now_ns: u64) -> Counts {
        self.meter.sum(pace.window(now_ns))
    }

    /// RTT samples of the window.
    #[must_use]
    pub fn rtts(&self, pace: &Pace, now_ns: u64) -> Rtts {
        self.window.sum(&pace.window(now_ns))
    }

    pub(crate) fn mark(&mut self, pace: &Pace, now_ns: u64) {
        let acked_bytes = self.counts(pace, now_ns).acked_bytes;
        let point = Point {
            rtt_us: self.rtt.take(),
            cwnd_pkts: self.live.cwnd_mean_pkts().map(|pkts| pkts as f32),
            goodput_bps: Some((acked_bytes * 8.0 / pace.window_s()) as f32),
        };
        self.history.push(point);
    }
}
