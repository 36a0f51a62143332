//! One flow: its last row, its rates, its history.

use super::history::{History, Mean, Point};
use super::meter::{Counts, Meter};
use super::pace::Pace;
use ccactl_abi::layout::{EVENT_CLOSE, EVENT_OPEN, NAME_LEN, Sample, name_str};
use ccactl_collector::rows::{rtt_mean_us, since_opened_us};

/// Socket cookie and network namespace.
pub type FlowKey = (u64, u32);

/// A flow's latest change of algorithm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Swap {
    /// When its first row with the new algorithm was made.
    pub time_ns: u64,
    /// Kernel name of the algorithm before, NUL-padded.
    pub from: [u8; NAME_LEN],
}

/// Final figures of a flow that is closed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Totals {
    /// Payload acknowledged.
    pub acked_bytes: u64,
    /// Payload received.
    pub received_bytes: u64,
    /// Packets retransmitted.
    pub retrans_pkts: u32,
    /// From the handshake to the close; `None` when the flow was open before we looked.
    pub duration_us: Option<u64>,
    /// From the handshake to the last ACK of new data; `None` as above, or without data.
    pub completion_us: Option<u64>,
    /// Mean over all RTT samples of the connection.
    pub rtt_mean_us: Option<u32>,
    /// The smallest of them.
    pub rtt_min_us: Option<u32>,
}

/// What is remembered of a flow.
#[derive(Debug, Clone)]
pub struct Flow {
    /// Its latest row.
    pub last: Sample,
    /// Its latest change of algorithm, while we looked.
    pub swap: Option<Swap>,
    /// Points for charts.
    pub history: History,
    /// Since when its counters are known: from its opening, or from its first row when it was open before.
    known_ns: u64,
    was_opened: bool,
    meter: Meter,
    rtt: Mean,
}

/// What happened between two rows of a flow.
pub(crate) struct Step {
    pub(crate) from_ns: u64,
    /// Whose doing it was.
    pub(crate) algorithm: [u8; NAME_LEN],
    pub(crate) counts: Counts,
    /// An RTT sample that was not counted yet.
    pub(crate) rtt_us: Option<u32>,
}

impl Flow {
    /// A flow with its first row, and what is known to have happened up to it.
    pub(crate) fn begin(pace: &Pace, row: &Sample) -> (Flow, Step) {
        let opened_ns = opened_ns(row);
        let mut flow = Flow {
            last: *row,
            swap: None,
            history: History::default(),
            known_ns: opened_ns.unwrap_or(row.time_ns),
            was_opened: opened_ns.is_some(),
            meter: Meter::new(pace),
            rtt: Mean::default(),
        };
        // All of an opened connection is ours to count; of another one the counters begin here.
        let before = if flow.was_opened { zeroed(row, flow.known_ns) } else { *row };
        let step = flow.step_from(pace, &before);
        (flow, step)
    }

    /// Takes the next row in.
    pub(crate) fn take(&mut self, pace: &Pace, row: &Sample) -> Step {
        let before = if row.bytes_sent < self.last.bytes_sent {
            // The socket was disconnected and used again: its counters have begun at nothing.
            zeroed(row, self.last.time_ns)
        } else {
            self.last
        };
        // What was set before the first data was sent ran nothing: a socket that opens has the host's default at first.
        if row.algorithm != self.last.algorithm && self.last.bytes_sent > 0 {
            self.swap = Some(Swap { time_ns: row.time_ns, from: self.last.algorithm });
        }
        self.last = *row;
        self.step_from(pace, &before)
    }

    fn step_from(&mut self, pace: &Pace, before: &Sample) -> Step {
        let row = &self.last;
        let delivered_pkts = row.delivered_pkts.wrapping_sub(before.delivered_pkts);
        let difference = |now: u64, then: u64| now.saturating_sub(then) as f64;
        let counts = Counts {
            sent_bytes: difference(row.bytes_sent, before.bytes_sent),
            acked_bytes: difference(row.bytes_acked, before.bytes_acked),
            retrans_bytes: difference(row.bytes_retrans, before.bytes_retrans),
            retrans_pkts: difference(row.retrans_pkts.into(), before.retrans_pkts.into()),
            delivered_pkts: f64::from(delivered_pkts),
            ce_pkts: f64::from(row.delivered_ce_pkts.wrapping_sub(before.delivered_ce_pkts)),
            rtos: difference(row.rto_count.into(), before.rto_count.into()),
            closed: f64::from(u8::from(row.event == EVENT_CLOSE)),
        };
        self.meter.add(pace, before.time_ns, row.time_ns, &counts);
        // The kernel keeps its latest sample: without a delivery it is the one that was counted before.
        let rtt_us = (delivered_pkts > 0 && row.rtt_us > 0).then_some(row.rtt_us);
        rtt_us.into_iter().for_each(|rtt_us| self.rtt.add(rtt_us));
        let algorithm = if before.bytes_sent > 0 { before.algorithm } else { row.algorithm };
        Step { from_ns: before.time_ns, algorithm, counts, rtt_us }
    }

    /// Keeps how it looks now for the charts.
    pub(crate) fn mark(&mut self, pace: &Pace, now_ns: u64) {
        let point = Point {
            rtt_us: self.rtt.take(),
            cwnd_pkts: Some(self.last.cwnd_pkts as f32),
            goodput_bps: self.goodput_bps(pace, now_ns).map(|bps| bps as f32),
        };
        self.history.push(point);
    }

    /// Which flow it is.
    #[must_use]
    pub fn key(&self) -> FlowKey {
        key_of(&self.last)
    }

    /// Kernel name of its algorithm.
    #[must_use]
    pub fn algorithm(&self) -> &str {
        name_str(&self.last.algorithm)
    }

    /// Whether it has sent anything: a socket that only receives has no rows but those of its ends, so nothing is known of
    /// it in between.
    #[must_use]
    pub fn has_sent(&self) -> bool {
        self.last.bytes_sent > 0
    }

    /// Whether it is closed.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.last.event == EVENT_CLOSE
    }

    /// Since its handshake; `None` when that was before we looked.
    #[must_use]
    pub fn age_ns(&self, now_ns: u64) -> Option<u64> {
        let end_ns = if self.is_closed() { self.last.time_ns } else { now_ns };
        self.was_opened.then(|| end_ns.saturating_sub(self.known_ns))
    }

    /// Since its latest row.
    #[must_use]
    pub fn silent_ns(&self, now_ns: u64) -> u64 {
        now_ns.saturating_sub(self.last.time_ns)
    }

    /// What was counted within the window.
    #[must_use]
    pub fn counts(&self, pace: &Pace, now_ns: u64) -> Counts {
        self.meter.sum(pace.window(now_ns))
    }

    /// What makes a rate of these counts: their time in seconds. A flow that was open before we looked has been counted
    /// for less than the window at first; its rates are not known before a fifth of it.
    #[must_use]
    pub fn counted_s(&self, pace: &Pace, now_ns: u64) -> Option<f64> {
        let window = pace.window(now_ns);
        let length = window.end - window.start;
        if self.was_opened {
            return (length > 0).then(|| pace.seconds(length));
        }
        let known_s = (window.end * pace.slot_ns()).saturating_sub(self.known_ns) as f64 / 1e9;
        (known_s >= pace.window_s() / 5.0).then(|| known_s.min(pace.window_s()))
    }

    /// Acknowledged payload of the window in bit/s.
    #[must_use]
    pub fn goodput_bps(&self, pace: &Pace, now_ns: u64) -> Option<f64> {
        self.counted_s(pace, now_ns).map(|seconds| self.counts(pace, now_ns).acked_bytes * 8.0 / seconds)
    }

    /// Final figures, once it is closed.
    #[must_use]
    pub fn totals(&self) -> Option<Totals> {
        let row = &self.last;
        self.is_closed().then(|| Totals {
            acked_bytes: row.bytes_acked,
            received_bytes: row.bytes_received,
            retrans_pkts: row.retrans_pkts,
            duration_us: since_opened_us(row, row.time_ns),
            completion_us: since_opened_us(row, row.progress_ns),
            rtt_mean_us: rtt_mean_us(row),
            rtt_min_us: Some(row.rtt_min_us).filter(|us| *us > 0),
        })
    }
}

pub(crate) fn key_of(row: &Sample) -> FlowKey {
    (row.flow_id, row.netns)
}

/// When the connection was established, if that was while we looked.
fn opened_ns(row: &Sample) -> Option<u64> {
    match row.event {
        EVENT_OPEN => Some(row.time_ns),
        _ => Some(row.opened_ns).filter(|ns| *ns > 0),
    }
}

/// A row of that moment before anything was sent.
fn zeroed(row: &Sample, time_ns: u64) -> Sample {
    Sample {
        time_ns,
        bytes_acked: 0,
        bytes_sent: 0,
        bytes_retrans: 0,
        retrans_pkts: 0,
        delivered_pkts: 0,
        delivered_ce_pkts: 0,
        rto_count: 0,
        ..*row
    }
}
