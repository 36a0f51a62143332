//! The figures of [`Measures`] as a list: what tables, CSV, Parquet and comparisons have in common.

use crate::summary::Measures;
use ccactl_host::units::UNKNOWN;
use ccactl_host::units::printed::significant;

/// One figure.
#[derive(Debug, Clone, Copy)]
pub struct Metric {
    /// Key in the JSON and name of the column, with its unit.
    pub key: &'static str,
    /// Heading in tables.
    pub heading: &'static str,
    /// Unit in tables.
    pub unit: &'static str,
    /// How many of the key's unit make one of the tables'.
    pub scale: f64,
    /// Its value.
    pub value: Value,
}

/// How to get at a figure; `None` is "not known".
#[derive(Debug, Clone, Copy)]
pub enum Value {
    /// A whole number.
    Count(fn(&Measures) -> Option<u64>),
    /// Any number.
    Real(fn(&Measures) -> Option<f64>),
}

impl Metric {
    /// The value in the key's unit.
    pub fn number(&self, measures: &Measures) -> Option<f64> {
        match self.value {
            Value::Count(count) => count(measures).map(|count| count as f64),
            Value::Real(real) => real(measures),
        }
    }

    /// The cell of a table: counts in full, everything else to three digits.
    pub fn cell(&self, measures: &Measures) -> String {
        let text = match self.value {
            Value::Count(count) if self.scale == 1.0 => count(measures).map(|count| count.to_string()),
            _ => self.number(measures).map(|value| significant(value / self.scale)),
        };
        text.unwrap_or_else(|| UNKNOWN.to_owned())
    }
}

const fn real(
    key: &'static str,
    heading: &'static str,
    unit: &'static str,
    scale: f64,
    value: fn(&Measures) -> Option<f64>,
) -> Metric {
    Metric { key, heading, unit, scale, value: Value::Real(value) }
}

const fn count(
    key: &'static str,
    heading: &'static str,
    unit: &'static str,
    scale: f64,
    value: fn(&Measures) -> Option<u64>,
) -> Metric {
    Metric { key, heading, unit, scale, value: Value::Count(value) }
}

/// All of them, in the order of the columns of CSV and Parquet.
pub const METRICS: [Metric; 23] = [
    real("throughput_bps", "throughput", "Mbit/s", 1e6, |m| m.throughput_bps),
    real("goodput_bps", "goodput", "Mbit/s", 1e6, |m| m.goodput_bps),
    real("sending_goodput_bps", "while sending", "Mbit/s", 1e6, |m| m.sending_goodput_bps),
    count("sent_bytes", "sent", "MB", 1e6, |m| Some(m.sent_bytes)),
    count("acked_bytes", "acked", "MB", 1e6, |m| Some(m.acked_bytes)),
    count("retrans_pkts", "retrans", "pkts", 1.0, |m| Some(m.retrans_pkts)),
    real("retrans_ratio", "retrans", "%", 0.01, |m| m.retrans_ratio),
    count("lost_pkts", "lost", "pkts", 1.0, |m| Some(m.lost_pkts)),
    count("delivered_pkts", "delivered", "pkts", 1.0, |m| Some(m.delivered_pkts)),
    real("loss_ratio", "lost", "%", 0.01, |m| m.loss_ratio),
    count("delivered_ce_pkts", "CE", "pkts", 1.0, |m| Some(m.delivered_ce_pkts)),
    real("ce_ratio", "CE", "%", 0.01, |m| m.ce_ratio),
    count("rto_count", "RTOs", "", 1.0, |m| m.rto_count),
    real("cwnd_mean_pkts", "cwnd", "pkts", 1.0, |m| m.cwnd_mean_pkts),
    count("cwnd_max_pkts", "max", "pkts", 1.0, |m| m.cwnd_max_pkts.map(u64::from)),
    count("rtt_samples", "RTTs", "", 1.0, |m| Some(m.rtt_samples)),
    real("rtt_mean_us", "RTT mean", "ms", 1e3, |m| m.rtt_mean_us),
    count("rtt_p50_us", "p50", "ms", 1e3, |m| m.rtt_p50_us),
    count("rtt_p95_us", "p95", "ms", 1e3, |m| m.rtt_p95_us),
    count("rtt_p99_us", "p99", "ms", 1e3, |m| m.rtt_p99_us),
    count("rtt_min_us", "min", "ms", 1e3, |m| m.rtt_min_us),
    real("queueing_delay_us", "queue", "ms", 1e3, |m| m.queueing_delay_us),
    real("power_bps_per_s", "power", "Mbit/s²", 1e6, |m| m.power_bps_per_s),
];

/// Keys of the figures that a table of flows shows, in its order.
pub const SHOWN: [&str; 17] = [
    "goodput_bps",
    "sending_goodput_bps",
    "throughput_bps",
    "retrans_pkts",
    "retrans_ratio",
    "lost_pkts",
    "loss_ratio",
    "rto_count",
    "ce_ratio",
    "cwnd_mean_pkts",
    "rtt_mean_us",
    "rtt_p50_us",
    "rtt_p95_us",
    "rtt_p99_us",
    "rtt_min_us",
    "queueing_delay_us",
    "power_bps_per_s",
];

/// The figures of a table of flows. Those that no row has (timeouts in an old recording), that are zero in all (marks without
/// ECN) or that say the same as another may be left out: `rows` decides.
pub fn shown(rows: &[&Measures]) -> Vec<Metric> {
    let says_something = |metric: &Metric| match metric.key {
        "sending_goodput_bps" => rows.iter().any(|m| pauses(m)),
        "rto_count" => rows.iter().any(|m| m.rto_count.is_some()),
        "ce_ratio" => rows.iter().any(|m| m.delivered_ce_pkts > 0),
        _ => true,
    };
    SHOWN.iter().map(|key| by_key(key)).filter(says_something).collect()
}

/// Whether the rate while sending says something else than the goodput.
fn pauses(measures: &Measures) -> bool {
    const ALIKE: f64 = 1.02;
    measures.sending_goodput_bps.zip(measures.goodput_bps).is_some_and(|(sending, goodput)| sending > goodput * ALIKE)
}

/// The figure of this key.
///
/// # Panics
/// When there is none.
pub fn by_key(key: &str) -> Metric {
    METRICS.into_iter().find(|metric| metric.key == key).expect("a figure of the list")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_is_one_of_the_json() {
        let json = serde_json::to_value(Measures::default()).unwrap();
        for metric in METRICS {
            assert!(json.get(metric.key).is_some(), "{}", metric.key);
        }
        let keys: std::collections::BTreeSet<&str> = METRICS.iter().map(|metric| metric.key).collect();
        assert_eq!(keys.len(), METRICS.len());
        assert_eq!(shown(&[]).len(), SHOWN.len() - 3);
    }
}
