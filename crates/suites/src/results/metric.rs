//! The figures that tables and orderings speak of, in the units in which papers print them.

use super::{Flow, Part};
use ccactl_report::Measures;

/// A figure of a flow or of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Metric {
    /// Acknowledged payload per second; what iperf reports as throughput.
    Throughput,
    /// Acknowledged payload of all flows per second.
    TotalThroughput,
    /// Throughput of the first flow over that of the second.
    ThroughputRatio,
    /// Largest minus smallest throughput.
    Gap,
    /// Packets retransmitted.
    Retransmissions,
    /// Retransmission timeouts.
    Timeouts,
    /// Packets that the full buffer refused; known of whole runs.
    Overflow,
    /// Congestion window, weighted by time.
    Cwnd,
    /// Mean of the RTT samples.
    Rtt,
    /// Mean RTT above that of the path.
    Queueing,
    /// Packets delivered.
    Delivered,
    /// Packets delivered by all flows.
    TotalDelivered,
    /// Jain index of the acknowledged bytes.
    Jain,
    /// Mean Jain index per second.
    JainPerSecond,
    /// How long after the last start the flows shared evenly.
    Convergence,
    /// Mean time in the queue of the bottleneck, as the link model saw it; known of whole runs.
    Queue,
    /// Share of the link that was used; known of whole runs.
    Utilisation,
    /// Mean completion time of the transfers; known of whole runs.
    Completion,
    /// Bandwidth as the algorithm estimates it.
    BandwidthEstimate,
    /// Smallest RTT as the algorithm believes it to be.
    MinRttEstimate,
}

/// A unit with how finely it is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unit {
    /// As in headings; empty for an index.
    pub name: &'static str,
    /// Decimals in tables.
    pub decimals: usize,
}

/// A printed throughput that is off by more is to be explained.
const THROUGHPUT_TOLERANCE: f64 = 0.05;
/// The same for everything else.
const TOLERANCE: f64 = 0.10;
const MBIT: f64 = 1e6;
const MILLI: f64 = 1e3;

impl Metric {
    /// As in headings.
    #[must_use]
    pub fn heading(self) -> &'static str {
        match self {
            Metric::Throughput => "Throughput",
            Metric::TotalThroughput => "Sum of throughputs",
            Metric::ThroughputRatio => "Throughput ratio",
            Metric::Gap => "Throughput gap",
            Metric::Retransmissions => "Retransmissions",
            Metric::Timeouts => "Timeouts",
            Metric::Overflow => "Dropped by the full buffer",
            Metric::Cwnd => "Mean cwnd",
            Metric::Rtt => "Mean RTT",
            Metric::Queueing => "Queueing delay",
            Metric::Delivered => "Delivered",
            Metric::TotalDelivered => "Delivered by all flows",
            Metric::Jain => "Jain index",
            Metric::JainPerSecond => "Mean Jain index per second",
            Metric::Convergence => "Time until fair",
            Metric::Queue => "Standing queue (link model)",
            Metric::Utilisation => "Utilisation",
            Metric::Completion => "Flow completion time",
            Metric::BandwidthEstimate => "Estimated bandwidth",
            Metric::MinRttEstimate => "Estimated RTprop",
        }
    }

    /// Its unit in tables.
    #[must_use]
    pub fn unit(self) -> Unit {
        let unit = |name, decimals| Unit { name, decimals };
        match self {
            Metric::Throughput | Metric::TotalThroughput | Metric::Gap | Metric::BandwidthEstimate => unit("Mbit/s", 2),
            Metric::ThroughputRatio => unit("", 2),
            Metric::Retransmissions | Metric::Overflow | Metric::Delivered | Metric::TotalDelivered => {
                unit("packets", 0)
            }
            Metric::Timeouts => unit("", 0),
            Metric::Cwnd => unit("packets", 0),
            Metric::Rtt | Metric::Queueing | Metric::Queue | Metric::MinRttEstimate => unit("ms", 2),
            Metric::Jain | Metric::JainPerSecond => unit("", 4),
            Metric::Convergence | Metric::Completion => unit("s", 2),
            Metric::Utilisation => unit("%", 1),
        }
    }

    /// By which share a measured figure may be off the printed one before it is marked.
    #[must_use]
    pub fn tolerance(self) -> f64 {
        if self.is_throughput() { THROUGHPUT_TOLERANCE } else { TOLERANCE }
    }

    /// Whether each flow has its own.
    #[must_use]
    pub fn is_of_a_flow(self) -> bool {
        !matches!(
            self,
            Metric::TotalThroughput
                | Metric::ThroughputRatio
                | Metric::Gap
                | Metric::TotalDelivered
                | Metric::Jain
                | Metric::JainPerSecond
                | Metric::Convergence
                | Metric::Queue
                | Metric::Utilisation
        )
    }

    /// Whether a window of a run has it too. What the link and the transfers did is counted per run.
    #[must_use]
    pub fn is_of_a_window(self) -> bool {
        !matches!(self, Metric::Queue | Metric::Utilisation | Metric::Completion | Metric::Overflow)
    }

    fn is_throughput(self) -> bool {
        matches!(self, Metric::Throughput | Metric::TotalThroughput)
    }

    /// `Throughput [Mbit/s]`
    #[must_use]
    pub fn label(self) -> String {
        match self.unit().name {
            "" => self.heading().to_owned(),
            unit => format!("{} [{unit}]", self.heading()),
        }
    }

    /// A value as tables print it.
    #[must_use]
    pub fn text(self, value: f64) -> String {
        format!("{value:.*}", self.unit().decimals)
    }

    /// Its value in a run or a window, in [`Metric::unit`]; `None` is "not known".
    #[must_use]
    pub fn of(self, part: &Part, flow: usize) -> Option<f64> {
        match self {
            Metric::Throughput => throughput(part.flows.get(flow)?),
            Metric::Retransmissions => count(part, flow, |m| Some(m.retrans_pkts)),
            Metric::Timeouts => count(part, flow, |m| m.rto_count),
            Metric::Delivered => count(part, flow, |m| Some(m.delivered_pkts)),
            Metric::Overflow => part.flows.get(flow)?.overflow_pkts.map(|pkts| pkts as f64),
            Metric::Cwnd => measures(part, flow)?.cwnd_mean_pkts,
            Metric::Rtt => Some(measures(part, flow)?.rtt_mean_us? / MILLI),
            Metric::Queueing => Some(measures(part, flow)?.queueing_delay_us? / MILLI),
            Metric::BandwidthEstimate => Some(inner(part, flow, "bw_bps")? / MBIT),
            Metric::MinRttEstimate => Some(inner(part, flow, "min_rtt_us")? / MILLI),
            Metric::Completion => mean(&part.flows.get(flow)?.completions_s),
            Metric::TotalThroughput => throughputs(part).map(|all| all.iter().sum()),
            Metric::ThroughputRatio => match throughputs(part)?[..] {
                [first, second] if second > 0.0 => Some(first / second),
                _ => None,
            },
            Metric::Gap => {
                let all = throughputs(part).filter(|all| all.len() >= 2)?;
                let (most, least) =
                    (all.iter().copied().fold(f64::MIN, f64::max), all.iter().copied().fold(f64::MAX, f64::min));
                Some(most - least)
            }
            Metric::TotalDelivered => (0..part.flows.len()).map(|flow| Metric::Delivered.of(part, flow)).sum(),
            Metric::Jain => part.jain,
            Metric::JainPerSecond => part.jain_intervals,
            Metric::Convergence => part.converged_after_s,
            Metric::Queue => part.queue_ms,
            Metric::Utilisation => part.utilisation.map(|share| share * 100.0),
        }
    }
}

fn measures(part: &Part, flow: usize) -> Option<&Measures> {
    part.flows.get(flow)?.measures.as_ref()
}

fn count(part: &Part, flow: usize, of: fn(&Measures) -> Option<u64>) -> Option<f64> {
    of(measures(part, flow)?).map(|count| count as f64)
}

fn throughput(flow: &Flow) -> Option<f64> {
    Some(flow.measures.as_ref()?.goodput_bps? / MBIT)
}

/// Of all flows; not known when it is not known of one.
fn throughputs(part: &Part) -> Option<Vec<f64>> {
    part.flows.iter().map(throughput).collect()
}

fn inner(part: &Part, flow: usize, name: &str) -> Option<f64> {
    let values = &measures(part, flow)?.inner_state;
    values.iter().find(|value| value.name == name).map(|value| value.mean)
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}
