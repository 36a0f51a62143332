//! A cgroup or an algorithm as a table has it.

use crate::live::board::{Group, Pace};
use crate::live::labels::Labels;
use ccactl_abi::layout::name_str;
use ccactl_host::units::UNKNOWN;
use serde::Serialize;

const RTT_POINTS: usize = 40;

/// Figures of the flows of a group together. `None` is "not known"; rates are over the window.
#[derive(Debug, Clone, Serialize)]
pub struct GroupRow {
    /// Path of the cgroup, or kernel name of the algorithm.
    pub name: String,
    /// Row of the registry, of an algorithm of ccactl.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub algorithm: Option<&'static str>,
    /// Colour of the registry.
    #[serde(skip)]
    pub color: Option<&'static str>,
    /// Open flows that have sent data.
    pub flows: u64,
    /// Connections that ended, per second.
    pub closes_per_s: f64,
    /// Acknowledged payload.
    pub goodput_bps: f64,
    /// Payload sent, retransmissions included.
    pub throughput_bps: f64,
    /// RTT samples of the window.
    pub rtt_samples: u64,
    /// Their mean.
    pub rtt_mean_us: Option<f64>,
    /// Their median.
    pub rtt_p50_us: Option<f64>,
    /// Their 95th percentile.
    pub rtt_p95_us: Option<f64>,
    /// Average window of the open flows.
    pub cwnd_mean_pkts: Option<f64>,
    /// Packets retransmitted per second.
    pub retrans_pkts_per_s: f64,
    /// Retransmitted of the bytes sent.
    pub retrans_ratio: Option<f64>,
    /// Retransmission timeouts per second.
    pub rtos_per_s: f64,
    /// Marked of the packets delivered.
    pub ce_ratio: Option<f64>,
    /// Which algorithms the open flows have, the most frequent first.
    pub algorithms: Vec<Share>,
    /// In which phases they are, the most frequent first.
    pub phases: Vec<Share>,
    /// RTTs of the last moments, the latest last.
    #[serde(skip)]
    pub rtts_us: Vec<Option<f32>>,
}

/// How many flows have something.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Share {
    /// What they have.
    pub name: String,
    /// How many.
    pub flows: u64,
}

impl GroupRow {
    /// How a cgroup looks at this moment.
    #[must_use]
    pub fn cgroup(id: u64, group: &Group, labels: &Labels, pace: &Pace, now_ns: u64) -> GroupRow {
        GroupRow::new(labels.names().cgroup(id), group, labels, pace, now_ns)
    }

    /// How an algorithm looks at this moment.
    #[must_use]
    pub fn algorithm(kernel_name: &str, group: &Group, labels: &Labels, pace: &Pace, now_ns: u64) -> GroupRow {
        let algorithm = labels.algorithm(kernel_name);
        GroupRow {
            algorithm: algorithm.map(|algorithm| algorithm.name),
            color: algorithm.map(|algorithm| algorithm.color),
            ..GroupRow::new(kernel_name.to_owned(), group, labels, pace, now_ns)
        }
    }

    fn new(name: String, group: &Group, labels: &Labels, pace: &Pace, now_ns: u64) -> GroupRow {
        let counts = group.counts(pace, now_ns);
        let rtts = group.rtts(pace, now_ns);
        let live = group.live();
        let per_s = |count: f64| count / pace.window_s();
        let phase = |(algorithm, mode): &([u8; 16], u32)| labels.phase(name_str(algorithm), *mode);
        GroupRow {
            name,
            algorithm: None,
            color: None,
            flows: live.flows,
            closes_per_s: per_s(counts.closed),
            goodput_bps: per_s(counts.acked_bytes * 8.0),
            throughput_bps: per_s(counts.sent_bytes * 8.0),
            rtt_samples: rtts.samples(),
            rtt_mean_us: rtts.mean_us(),
            rtt_p50_us: rtts.quantile_us(0.5),
            rtt_p95_us: rtts.quantile_us(0.95),
            cwnd_mean_pkts: live.cwnd_mean_pkts(),
            retrans_pkts_per_s: per_s(counts.retrans_pkts),
            retrans_ratio: counts.retrans_ratio(),
            rtos_per_s: per_s(counts.rtos),
            ce_ratio: counts.ce_ratio(),
            algorithms: shares(live.algorithms.iter().map(|(name, flows)| (name_str(name).to_owned(), *flows))),
            phases: shares(live.phases.iter().map(|(key, flows)| (phase(key), *flows))),
            rtts_us: group.history.latest(RTT_POINTS, |point| point.rtt_us),
        }
    }
}

/// Shares by name, the largest first; equal names are one (phases of two algorithms may share a name).
fn shares(named: impl Iterator<Item = (String, u64)>) -> Vec<Share> {
    let mut shares: Vec<Share> = Vec::new();
    for (name, flows) in named {
        match shares.iter_mut().find(|share| share.name == name) {
            Some(share) => share.flows += flows,
            None => shares.push(Share { name, flows }),
        }
    }
    shares.sort_by(|a, b| b.flows.cmp(&a.flows).then_with(|| a.name.cmp(&b.name)));
    shares
}

/// `cruise 3, up 1`; the name alone when there is only one.
pub(super) fn shares_text(shares: &[Share]) -> String {
    match shares {
        [] => UNKNOWN.to_owned(),
        [only] => only.name.clone(),
        shares => shares.iter().map(|share| format!("{} {}", share.name, share.flows)).collect::<Vec<_>>().join(", "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_summed_by_name_and_the_largest_comes_first() {
        let found =
            shares([("up", 1), ("down", 2), ("cruise", 2), ("up", 4)].map(|(n, f)| (n.to_owned(), f)).into_iter());
        assert_eq!(shares_text(&found), "up 5, cruise 2, down 2");
        assert_eq!((shares_text(&found[..1]), shares_text(&[])), ("up".to_owned(), "–".to_owned()));
    }
}
