//! What the charts of the page and the still figures draw: series that are already small.

use serde::Serialize;

use super::{Sequence, Series};

/// Everything that the charts of one recording draw.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Charts {
    /// Width of the buckets of RTT and window.
    pub sample_bucket_s: f64,
    /// Width of the buckets of throughput.
    pub rate_bucket_s: f64,
    /// Width of the buckets of phases.
    pub phase_bucket_s: f64,
    /// Width of the buckets of losses and timeouts.
    pub event_bucket_s: f64,
    /// Width of the buckets of positions in the stream.
    pub place_bucket_s: f64,
    /// Names of the phases; the phases of a flow are indices into them.
    pub modes: Vec<String>,
    /// One entry per drawn flow.
    pub flows: Vec<FlowCharts>,
    /// All flows by groups, where they are too many for a line each; the largest group first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<GroupCharts>,
    /// Width of the buckets of the groups.
    #[serde(skip_serializing_if = "is_zero")]
    pub group_bucket_s: f64,
    /// Distribution of the RTT samples, one entry per algorithm.
    pub rtt_ecdf: Vec<Ecdf>,
    /// Distribution of the flow completion times, one entry per algorithm.
    pub fct_ecdf: Vec<Ecdf>,
    /// Jain's index per interval.
    pub jain: Option<JainSeries>,
}

fn is_zero(value: &f64) -> bool {
    *value == 0.0
}

/// Flows that are drawn as one.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct GroupCharts {
    /// Side of a roll-out, name of flows in the scenario, or algorithm.
    pub name: String,
    /// `#rrggbb`.
    pub color: String,
    /// How many there are.
    pub flows: u64,
    /// Goodput in Mbit/s, over the flows that are open.
    pub rate: Band,
    /// RTT in ms.
    pub rtt: Band,
    /// Window in packets.
    pub cwnd: Band,
    /// Distribution over the flows: goodput in Mbit/s, and the share of flows that do not exceed it.
    pub goodputs: Vec<(f64, f64)>,
}

/// Quantiles over time; `None` is a gap.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Band {
    /// Middle of each bucket, seconds since the start of the recording.
    pub t: Vec<f64>,
    /// A tenth of the flows have less.
    pub p10: Vec<Option<f64>>,
    /// Median.
    pub p50: Vec<Option<f64>>,
    /// A tenth have more.
    pub p90: Vec<Option<f64>>,
}

impl Band {
    pub(super) fn push(&mut self, t: f64, [p10, p50, p90]: [Option<f64>; 3]) {
        self.t.push(t);
        self.p10.push(p10);
        self.p50.push(p50);
        self.p90.push(p90);
    }
}

/// The series of one flow.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct FlowCharts {
    /// As in the summary.
    pub name: String,
    /// As in the summary.
    pub algorithm: String,
    /// `#rrggbb` of the algorithm that ran first.
    pub color: String,
    /// Goodput in Mbit/s.
    pub rate: Series,
    /// Throughput in Mbit/s, retransmissions included; for still figures only.
    #[serde(skip)]
    pub sent: Series,
    /// RTT in ms.
    pub rtt: Series,
    /// Window in packets.
    pub cwnd: Series,
    /// Bounds that the algorithm set to what is in flight, packets; empty where it publishes none.
    pub bounds: Vec<Bound>,
    /// What the algorithm published about its inner state.
    pub inner: Vec<InnerChart>,
    /// Start, end (seconds) and index of each phase.
    pub phases: Vec<(f64, f64, usize)>,
    /// When the flow was given another algorithm.
    pub swaps: Vec<SwapMark>,
    /// What happened at single moments, in the order of time.
    pub events: Vec<EventMark>,
    /// Where in the stream the flow stands.
    pub sequence: Sequence,
}

/// A change of algorithm, to be marked in the charts.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SwapMark {
    /// Seconds since the start of the recording.
    pub at_s: f64,
    /// Algorithm from then on.
    pub to: String,
    /// Its `#rrggbb`.
    pub color: String,
}

/// Losses or timeouts within one bucket.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EventMark {
    /// Middle of the bucket, seconds since the start of the recording.
    pub at_s: f64,
    /// Packets marked lost.
    pub lost_pkts: u64,
    /// Retransmission timeouts.
    pub rtos: u64,
}

/// A bound that the algorithm keeps its packets in flight to.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Bound {
    /// `inflight_lo` or `inflight_hi`, as in the papers.
    pub name: &'static str,
    /// Packets.
    pub series: Series,
}

/// One value of an algorithm's inner state over time.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct InnerChart {
    /// Name in the registry, with its unit.
    pub name: String,
    /// What it is.
    pub doc: String,
    /// The values; `bw_bps` in Mbit/s, `min_rtt_us` in ms, others as they are named.
    pub series: Series,
}

/// An empirical cumulative distribution.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Ecdf {
    /// Algorithm.
    pub name: String,
    /// `#rrggbb`.
    pub color: String,
    /// How many values there are.
    pub samples: u64,
    /// Value in ms and the share of all values that do not exceed it; rising in both.
    pub points: Vec<(f64, f64)>,
}

/// Jain's index over time.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct JainSeries {
    /// Width of an interval.
    pub interval_s: f64,
    /// Middle of each interval, and the index among the flows that were active from its start to its end.
    pub series: Series,
}
