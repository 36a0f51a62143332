//! The metrics that a guard may name. `docs/metrics.md`, "Metrics of a roll-out", has the same table.

use crate::rollout::tally::Tally;
use ccactl_host::units::Dimension;
use serde::{Serialize, Serializer};
use std::fmt;

/// A figure of a group of flows.
///
/// Only what is well defined for two groups side by side is one. `min_rtt` is not: the nearest peer of a group decides
/// it, whatever the algorithm does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Metric {
    /// Payload retransmitted / payload sent (retransmissions included).
    RetransmitRate,
    /// Packets marked lost / (packets marked lost + packets delivered).
    LossRate,
    /// Packets delivered with an ECN mark / packets delivered.
    CeRate,
    /// Mean of the RTT samples.
    MeanRtt,
    /// Median of the RTT samples.
    P50Rtt,
    /// 95th percentile of the RTT samples.
    P95Rtt,
    /// 99th percentile of the RTT samples.
    P99Rtt,
    /// Payload acknowledged / active time of the flows: the rate of the average flow, which a few large ones can make.
    Goodput,
    /// Median of the goodputs of the flows.
    P50Goodput,
    /// Payload sent / active time of the flows, retransmissions included.
    Throughput,
    /// Congestion window, weighted by time.
    MeanCwnd,
}

/// What a group must have seen before a metric of it is compared.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Needs {
    /// This many packets delivered.
    Delivered(u64),
    /// This many RTT samples.
    RttSamples(u64),
    /// Active time per flow, in s, on average.
    ActiveSecsPerFlow(f64),
}

/// A rate of one event in a thousand then has seen one. Fewer packets make a rate of loss a matter of single packets.
const MIN_DELIVERED_PKTS: u64 = 1000;
/// RTT samples that must lie beyond a percentile: the value is then known to about a third of its tail's width.
const MIN_SAMPLES_BEYOND: u64 = 10;
/// RTT samples behind a mean or median.
const MIN_SAMPLES: u64 = 100;
/// A rate over less time is one of slow start alone.
const MIN_ACTIVE_SECS: f64 = 1.0;

impl Metric {
    /// In the order in which lists show them.
    pub const ALL: [Metric; 11] = [
        Metric::RetransmitRate,
        Metric::LossRate,
        Metric::CeRate,
        Metric::MeanRtt,
        Metric::P50Rtt,
        Metric::P95Rtt,
        Metric::P99Rtt,
        Metric::Goodput,
        Metric::P50Goodput,
        Metric::Throughput,
        Metric::MeanCwnd,
    ];

    /// As a guard spells it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Metric::RetransmitRate => "retransmit_rate",
            Metric::LossRate => "loss_rate",
            Metric::CeRate => "ce_rate",
            Metric::MeanRtt => "mean_rtt",
            Metric::P50Rtt => "p50_rtt",
            Metric::P95Rtt => "p95_rtt",
            Metric::P99Rtt => "p99_rtt",
            Metric::Goodput => "goodput",
            Metric::P50Goodput => "p50_goodput",
            Metric::Throughput => "throughput",
            Metric::MeanCwnd => "mean_cwnd",
        }
    }

    /// The metric with this name.
    #[must_use]
    pub fn by_name(name: &str) -> Option<Metric> {
        Metric::ALL.into_iter().find(|metric| metric.name() == name)
    }

    /// What it measures.
    #[must_use]
    pub fn dimension(self) -> Dimension {
        match self {
            Metric::RetransmitRate | Metric::LossRate | Metric::CeRate => Dimension::Ratio,
            Metric::MeanRtt | Metric::P50Rtt | Metric::P95Rtt | Metric::P99Rtt => Dimension::Time,
            Metric::Goodput | Metric::P50Goodput | Metric::Throughput => Dimension::Rate,
            Metric::MeanCwnd => Dimension::Packets,
        }
    }

    /// Its value for a group, in the unit of its dimension; `None` while nothing was measured.
    #[must_use]
    pub fn of(self, group: &Tally) -> Option<f64> {
        match self {
            Metric::RetransmitRate => ratio(group.retrans_bytes, group.sent_bytes),
            Metric::LossRate => ratio(group.lost_pkts, group.lost_pkts + group.delivered_pkts),
            Metric::CeRate => ratio(group.delivered_ce_pkts, group.delivered_pkts),
            Metric::MeanRtt => group.rtt.mean_us(),
            Metric::P50Rtt => group.rtt.quantile_us(0.5),
            Metric::P95Rtt => group.rtt.quantile_us(0.95),
            Metric::P99Rtt => group.rtt.quantile_us(0.99),
            Metric::Goodput => per_second(group.acked_bytes, group.active_ns),
            Metric::P50Goodput => group.median_goodput_bps(),
            Metric::Throughput => per_second(group.sent_bytes, group.active_ns),
            Metric::MeanCwnd => (group.time_ns > 0).then(|| group.cwnd_pkts_ns / group.time_ns as f64),
        }
    }

    /// Whether a group has seen enough for this metric to be compared.
    #[must_use]
    pub fn has_enough(self, group: &Tally) -> bool {
        match self.needs() {
            Needs::Delivered(pkts) => group.delivered_pkts >= pkts,
            Needs::RttSamples(samples) => group.rtt.samples() >= samples,
            Needs::ActiveSecsPerFlow(secs) => group.active_ns as f64 >= secs * 1e9 * group.flows.max(1) as f64,
        }
    }

    fn needs(self) -> Needs {
        match self {
            Metric::RetransmitRate | Metric::LossRate | Metric::CeRate => Needs::Delivered(MIN_DELIVERED_PKTS),
            Metric::MeanRtt | Metric::P50Rtt => Needs::RttSamples(MIN_SAMPLES),
            Metric::P95Rtt => Needs::RttSamples(MIN_SAMPLES_BEYOND * 20),
            Metric::P99Rtt => Needs::RttSamples(MIN_SAMPLES_BEYOND * 100),
            Metric::Goodput | Metric::P50Goodput | Metric::Throughput | Metric::MeanCwnd => {
                Needs::ActiveSecsPerFlow(MIN_ACTIVE_SECS)
            }
        }
    }

    /// What [`Metric::has_enough`] asks for, as text.
    #[must_use]
    pub fn needed(self) -> String {
        match self.needs() {
            Needs::Delivered(pkts) => format!("{pkts} packets delivered"),
            Needs::RttSamples(samples) => format!("{samples} RTT samples"),
            Needs::ActiveSecsPerFlow(secs) => format!("{secs} s of activity per flow"),
        }
    }

    /// What a group has of that, as text.
    #[must_use]
    pub fn found(self, group: &Tally) -> String {
        match self.needs() {
            Needs::Delivered(_) => format!("{}", group.delivered_pkts),
            Needs::RttSamples(_) => format!("{}", group.rtt.samples()),
            Needs::ActiveSecsPerFlow(_) => {
                format!("{:.1} s in {} flows", group.active_ns as f64 / 1e9, group.flows)
            }
        }
    }
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Serialize for Metric {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

fn ratio(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

fn per_second(bytes: u64, ns: u64) -> Option<f64> {
    (ns > 0).then(|| 8.0 * bytes as f64 / (ns as f64 / 1e9))
}
