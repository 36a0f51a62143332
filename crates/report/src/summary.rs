//! The result, as JSON has it: keys carry their units, `null` is "not known".

use serde::{Deserialize, Serialize};

use ccactl_recording::read::DropReasons;

/// Everything that a report says about its recordings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// One entry per recording, in the order given.
    pub recordings: Vec<RecordingSummary>,
    /// One entry per scenario that was recorded more than once.
    pub repeats: Vec<Repeats>,
}

/// The moment around which a black box has kept a recording.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Trigger {
    /// As the user wrote it.
    pub condition: String,
    /// Seconds since the start of the recording.
    pub at_s: f64,
    /// Name of the flow, as the report has it; `null`: the flow has sent nothing.
    pub flow: Option<String>,
    /// How often a trigger fired again for that flow.
    pub further: u64,
    /// Triggers before it of which nothing was kept.
    pub suppressed: u64,
}

/// One recording.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RecordingSummary {
    /// As the user gave it.
    pub path: String,
    /// Short name for headings: the file, or the folders that tell it apart.
    pub name: String,
    /// RFC 3339, UTC.
    pub started: Option<String>,
    /// Kernel release of the sender's host.
    pub kernel: Option<String>,
    /// Version of ccactl that recorded.
    pub ccactl_version: Option<String>,
    /// Sampling rate as asked for.
    pub every: Option<String>,
    /// Start of the window, seconds since the start of the recording.
    pub from_s: f64,
    /// End of the window.
    pub to_s: f64,
    /// First row of any flow that sent data to the last progress of any.
    pub duration_s: f64,
    /// Rows in the window, of all flows.
    pub rows: u64,
    /// Rows lost by the recorder; `null` when the recording was not finished.
    pub drops: Option<u64>,
    /// The same by reason; `null` in an unfinished recording and in one of schema version 1.
    #[serde(default)]
    pub drops_by_reason: Option<DropReasons>,
    /// When rows were lost, in the window; empty as well when the recording does not say (schema version 1).
    #[serde(default)]
    pub drop_spans: Vec<DropSpan>,
    /// What a black box has kept the recording for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trigger: Option<Trigger>,
    /// Whether the file ends early.
    pub truncated: bool,
    /// What makes the figures less certain, one sentence each.
    pub warnings: Vec<String>,
    /// The bottleneck, when it is known.
    pub link: Option<LinkSummary>,
    /// How the flows shared; `null` for a single flow.
    pub fairness: Option<Fairness>,
    /// One entry per flow that sent data, in the order of their first rows.
    pub flows: Vec<FlowSummary>,
    /// Flows that have ended and are not listed: they count per algorithm, in fairness and for the link.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub pooled_flows: u64,
    /// One entry per algorithm.
    pub algorithms: Vec<AlgorithmSummary>,
    /// One entry per flow whose socket has a receiving algorithm, in the order of their first rows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub receivers: Vec<ReceiverSummary>,
    /// The resolved scenario, TOML.
    pub scenario: Option<String>,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl RecordingSummary {
    /// Whether the figures per algorithm say anything that those per flow do not.
    pub(crate) fn algorithms_differ_from_flows(&self) -> bool {
        self.algorithms.iter().any(|algorithm| algorithm.flows > 1) || self.changes().next().is_some()
    }

    /// `#rrggbb` of a flow: that of its side in a roll-out, else of its first algorithm.
    pub(crate) fn color_of(&self, flow: &FlowSummary) -> Option<&str> {
        let algorithm = || self.algorithms.iter().find(|a| a.kernel_name == flow.kernel_name);
        flow.side.map(Side::color).or_else(|| Some(algorithm()?.color.as_str()))
    }

    /// Every change of algorithm, flow by flow.
    pub(crate) fn changes(&self) -> impl Iterator<Item = (&FlowSummary, &AlgorithmChange)> {
        self.flows.iter().flat_map(|flow| flow.changes.iter().map(move |change| (flow, change)))
    }
}

/// What a socket offered while a receiving algorithm decided about it. Means are over time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReceiverSummary {
    /// That of its cgroup in the scenario, or local and remote address.
    pub name: String,
    /// Socket cookie.
    pub flow_id: u64,
    /// Inode number of the network namespace.
    pub netns: u64,
    /// cgroup2 id.
    pub cgroup_id: u64,
    /// Local address and port.
    pub local: String,
    /// Remote address and port.
    pub remote: String,
    /// Number of rows.
    pub rows: u64,
    /// Payload received from the first of its rows to the last.
    pub received_bytes: u64,
    /// The same per time.
    pub goodput_bps: Option<f64>,
    /// Window that it offered.
    pub offered_mean_bytes: Option<f64>,
    /// Largest window that its algorithm allowed.
    pub limit_mean_bytes: Option<f64>,
    /// Least of them.
    pub limit_min_bytes: Option<u64>,
    /// Largest of them.
    pub limit_max_bytes: Option<u64>,
    /// The algorithm's smoothed RTT; `null` without timestamps.
    pub rtt_mean_us: Option<f64>,
    /// The algorithm's least RTT.
    pub rtt_min_us: Option<u64>,
}

/// A time in which the recorder lost rows: they belong somewhere between its ends.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct DropSpan {
    /// Last row before the loss, seconds since the start of the recording.
    pub from_s: f64,
    /// First row that knew of all of it.
    pub to_s: f64,
    /// Rows lost.
    pub rows: u64,
}

/// The bottleneck and how well it was used.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LinkSummary {
    /// Rate on the wire.
    pub rate_bps: f64,
    /// Round-trip time of the empty path.
    pub base_rtt_us: Option<f64>,
    /// Size of the buffer.
    pub buffer_bytes: Option<f64>,
    /// The same in bandwidth-delay products.
    pub buffer_bdp: Option<f64>,
    /// Wire bytes of what was delivered, as a share of what the link could have carried.
    pub utilisation: Option<f64>,
}

/// Jain's index.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Fairness {
    /// Over the bytes that each flow got acknowledged in the whole run.
    pub jain: Option<f64>,
    /// Mean over the intervals in which at least two flows were active from edge to edge.
    pub jain_interval_mean: Option<f64>,
    /// Number of these intervals.
    pub intervals: u64,
    /// Their width.
    pub interval_s: f64,
    /// The index of each of these intervals, in the order of time.
    #[serde(default)]
    pub series: Vec<JainPoint>,
    /// How long it took until the flows shared evenly; `null` when they were not together for long enough to tell.
    #[serde(default)]
    pub convergence: Option<Convergence>,
}

/// Jain's index in one interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct JainPoint {
    /// Start of the interval, seconds since the start of the recording.
    pub start_s: f64,
    /// Flows that were active from edge to edge, at least two.
    pub flows: u64,
    /// The index; `null` when none of them got anything acknowledged.
    pub jain: Option<f64>,
}

/// Whether the index per interval came to 0.9 and stayed there for 5 s, while all flows were active.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum Convergence {
    /// It did.
    Reached {
        /// Convergence time: from the start of the last flow to the first interval of these 5 s.
        after_s: f64,
        /// When that interval began, seconds since the start of the recording.
        at_s: f64,
        /// Start of the first later interval below 0.9; `null` when there was none while all flows were active.
        lost_at_s: Option<f64>,
    },
    /// It did not.
    NotReached {
        /// For how long all flows were active together.
        observed_s: f64,
    },
}

/// What is measured, for a flow or for an algorithm.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Default)]
pub struct Measures {
    /// Payload sent per second for which the connection was open, retransmissions included. Of an algorithm this and the two
    /// rates that follow are the means of its flows.
    pub throughput_bps: Option<f64>,
    /// Payload acknowledged per second for which the connection was open.
    pub goodput_bps: Option<f64>,
    /// Payload acknowledged per second from the first row to the last progress.
    #[serde(default)]
    pub sending_goodput_bps: Option<f64>,
    /// Payload sent, retransmissions included.
    pub sent_bytes: u64,
    /// Payload acknowledged.
    pub acked_bytes: u64,
    /// Packets retransmitted.
    pub retrans_pkts: u64,
    /// Retransmitted bytes as a share of the bytes sent.
    pub retrans_ratio: Option<f64>,
    /// Packets marked lost.
    pub lost_pkts: u64,
    /// Packets delivered.
    #[serde(default)]
    pub delivered_pkts: u64,
    /// Lost packets as a share of those that came to an end: lost / (lost + delivered).
    #[serde(default)]
    pub loss_ratio: Option<f64>,
    /// Packets delivered with an ECN mark.
    pub delivered_ce_pkts: u64,
    /// The same as a share of the packets delivered.
    #[serde(default)]
    pub ce_ratio: Option<f64>,
    /// Retransmission timeouts; `null` in a recording of schema version 1.
    #[serde(default)]
    pub rto_count: Option<u64>,
    /// Congestion window, weighted by time.
    pub cwnd_mean_pkts: Option<f64>,
    /// Largest congestion window.
    #[serde(default)]
    pub cwnd_max_pkts: Option<u32>,
    /// RTT samples that count.
    pub rtt_samples: u64,
    /// Mean of the RTT samples.
    pub rtt_mean_us: Option<f64>,
    /// Median.
    pub rtt_p50_us: Option<u64>,
    /// 95th percentile.
    pub rtt_p95_us: Option<u64>,
    /// 99th percentile.
    pub rtt_p99_us: Option<u64>,
    /// Smallest.
    pub rtt_min_us: Option<u64>,
    /// Mean RTT minus that of the empty path (or minus the smallest, when that is not known).
    pub queueing_delay_us: Option<f64>,
    /// Power: goodput / mean RTT, in bit/s per second of RTT.
    #[serde(default)]
    pub power_bps_per_s: Option<f64>,
    /// Share of time in each phase, in the order of the registry.
    pub phases: Vec<PhaseShare>,
    /// What the algorithm published about its inner state.
    #[serde(default)]
    pub inner_state: Vec<InnerValue>,
}

/// One value of an algorithm's inner state.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct InnerValue {
    /// Name in the registry, with its unit.
    pub name: String,
    /// What it is.
    pub doc: String,
    /// Mean over the time for which it is known.
    pub mean: f64,
    /// Smallest.
    pub min: f64,
    /// Largest.
    pub max: f64,
}

/// How long an algorithm stayed in one of its phases.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PhaseShare {
    /// As in `trace_mode`.
    pub mode: String,
    /// Share of the time for which the phase is known.
    pub share: f64,
    /// How often it was entered; being in it at the first row counts.
    #[serde(default)]
    pub visits: u64,
    /// Its length on average.
    #[serde(default)]
    pub mean_us: f64,
}

/// Connections whose opening or end is in the recording.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Default)]
pub struct Connections {
    /// Flows whose opening was recorded.
    pub opened: u64,
    /// Flows whose end was recorded.
    pub closed: u64,
    /// Flow completion times: handshake to the last ACK of new data. `null` without any (schema version 1, still open,
    /// open before the recording).
    pub completion: Option<Distribution>,
    /// From the handshake to the close.
    pub duration: Option<Distribution>,
    /// Mean RTT of each closed connection, counted in the kernel over all its samples.
    pub rtt_mean: Option<Distribution>,
    /// Smallest RTT of each closed connection.
    pub rtt_min: Option<Distribution>,
}

/// How some times are distributed; percentiles are nearest-rank.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Distribution {
    /// Number of values.
    pub n: u64,
    /// Arithmetic mean.
    pub mean_us: f64,
    /// Smallest.
    pub min_us: u64,
    /// Median.
    pub p50_us: u64,
    /// 90th percentile.
    pub p90_us: u64,
    /// 95th percentile.
    pub p95_us: u64,
    /// 99th percentile.
    pub p99_us: u64,
    /// Largest.
    pub max_us: u64,
}

/// What the kernel had counted when a connection was closed; `null` as in [`Connections`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct Closed {
    /// From the handshake to the close.
    pub duration_us: Option<u64>,
    /// Flow completion time.
    pub completion_us: Option<u64>,
    /// Mean over all RTT samples.
    pub rtt_mean_us: Option<u64>,
    /// Smallest RTT sample.
    pub rtt_min_us: Option<u64>,
}

/// One flow.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FlowSummary {
    /// Name of the scenario, or algorithm and addresses.
    pub name: String,
    /// Algorithms in the order in which they ran, joined by an arrow; of many only the first and the last.
    pub algorithm: String,
    /// Kernel name of the algorithm that ran first.
    pub kernel_name: String,
    /// Its side in a guarded roll-out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub side: Option<Side>,
    /// When the algorithm was changed.
    pub changes: Vec<AlgorithmChange>,
    /// Socket cookie.
    pub flow_id: u64,
    /// Inode number of the network namespace.
    pub netns: u64,
    /// cgroup2 id.
    pub cgroup_id: u64,
    /// Local address and port.
    pub local: String,
    /// Remote address and port.
    pub remote: String,
    /// First row, seconds since the start of the recording.
    pub start_s: f64,
    /// Last row that shows progress.
    pub end_s: f64,
    /// Rows of this flow.
    pub rows: u64,
    /// The totals at its end; `null` when its end is not in the recording.
    #[serde(default)]
    pub closed: Option<Closed>,
    /// The figures.
    #[serde(flatten)]
    pub measures: Measures,
}

/// The groups of a guarded roll-out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Side {
    /// Has, or had for a while, the algorithm on trial.
    Canary,
    /// Never had it.
    Baseline,
}

impl Side {
    /// Both.
    pub(crate) const ALL: [Side; 2] = [Side::Canary, Side::Baseline];

    /// As it stands before the addresses of a flow.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Side::Canary => "canary",
            Side::Baseline => "baseline",
        }
    }

    /// `#rrggbb`, by Okabe and Ito: both algorithms may be variants of one, which has one colour.
    pub(crate) fn color(self) -> &'static str {
        match self {
            Side::Canary => "#d55e00",
            Side::Baseline => "#0072b2",
        }
    }
}

/// A live flow was given another algorithm.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AlgorithmChange {
    /// First row with the new algorithm, seconds since the start of the recording.
    pub at_s: f64,
    /// Before.
    pub from: String,
    /// After.
    pub to: String,
    /// Kernel name of the new algorithm.
    pub to_kernel_name: String,
    /// `#rrggbb` of the new algorithm.
    pub color: String,
    /// The second before it, and the state that the old algorithm left.
    pub before: ChangeSide,
    /// The second after it, and the state that the new algorithm began with.
    pub after: ChangeSide,
    /// Goodput in the slowest 100 ms of the second after it.
    pub lowest_goodput_bps: Option<f64>,
    /// How far that is below the goodput of the second before: 0 for not at all, 1 for a standstill, negative when even
    /// the slowest window was faster.
    pub dip_ratio: Option<f64>,
    /// One RTT after the change; `null` when the next change or the end came first.
    pub one_rtt_later: Option<SocketState>,
}

/// One side of a change. It is shorter than a second when the flow began or ended, or changed once more.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ChangeSide {
    /// Its length.
    pub span_s: f64,
    /// Payload delivered per second.
    pub goodput_bps: Option<f64>,
    /// Packets retransmitted.
    pub retrans_pkts: u64,
    /// Mean of the RTT samples.
    pub rtt_mean_us: Option<f64>,
    /// The row next to the change.
    #[serde(flatten)]
    pub state: SocketState,
}

/// What a socket is allowed to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SocketState {
    /// Congestion window.
    pub cwnd_pkts: Option<u64>,
    /// Slow-start threshold; `null` is infinite.
    pub ssthresh_pkts: Option<u64>,
    /// Pacing rate; `null` is unlimited.
    pub pacing_rate_bps: Option<u64>,
}

/// All flows of one algorithm, each for the time for which it ran that algorithm.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AlgorithmSummary {
    /// Name that the user knows.
    pub algorithm: String,
    /// Name in the kernel.
    pub kernel_name: String,
    /// `#rrggbb`.
    pub color: String,
    /// Number of flows.
    pub flows: u64,
    /// Acknowledged payload of all its flows per second of the run.
    pub total_goodput_bps: Option<f64>,
    /// Its connections: those that ended with it.
    #[serde(default)]
    pub connections: Connections,
    /// Quantiles of the RTT samples at 0, 0.5, 1 … 100 %, which draw their ECDF; empty without samples.
    #[serde(default)]
    pub rtt_quantiles_us: Vec<u64>,
    /// The same of the flow completion times.
    #[serde(default)]
    pub completion_quantiles_us: Vec<u64>,
    /// The figures; rates are those of its average flow.
    #[serde(flatten)]
    pub measures: Measures,
}

/// Several recordings of one scenario.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Repeats {
    /// Paths of the recordings.
    pub paths: Vec<String>,
    /// Per algorithm.
    pub algorithms: Vec<RepeatedAlgorithm>,
    /// Jain's index of the whole runs.
    pub jain: Option<Estimate>,
    /// Link utilisation.
    pub utilisation: Option<Estimate>,
}

/// One algorithm over the repeats; a sample is its average flow in one recording.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RepeatedAlgorithm {
    /// Name that the user knows.
    pub algorithm: String,
    /// Payload sent per second.
    pub throughput_bps: Option<Estimate>,
    /// Payload acknowledged per second.
    pub goodput_bps: Option<Estimate>,
    /// Mean RTT.
    pub rtt_mean_us: Option<Estimate>,
    /// 95th percentile of the RTT.
    pub rtt_p95_us: Option<Estimate>,
    /// Packets retransmitted.
    pub retrans_pkts: Option<Estimate>,
    /// Mean congestion window.
    pub cwnd_mean_pkts: Option<Estimate>,
}

/// A mean over repeats.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// Repeats that have the figure.
    pub n: u64,
    /// Arithmetic mean.
    pub mean: f64,
    /// Sample standard deviation; `null` for one repeat.
    pub sd: Option<f64>,
    /// Half the width of the 95 % confidence interval (Student's t); `null` for one repeat.
    pub ci95: Option<f64>,
}

impl Estimate {
    /// Half the width of the interval around the mean in which a further repeat lies with 95 %, as far as these tell:
    /// `t · sd · √(1 + 1/n)`, the prediction interval of normal samples. None for one repeat.
    #[must_use]
    pub fn single95(&self) -> Option<f64> {
        // The confidence interval is t · sd / √n.
        self.ci95.map(|ci95| ci95 * (self.n as f64 + 1.0).sqrt())
    }
}
