//! What the flows did together: how full the link was and how evenly they shared it.

use super::fold::{Flow, Folded};
use super::{BITS_PER_BYTE, US_PER_S};
use crate::measure::intervals::PerInterval;
use crate::recording::Metadata;
use crate::stats::jain;
use crate::summary::{Fairness, LinkSummary};

/// IP and TCP headers, and the timestamps that Linux sends by default: 20 + 20 + 12.
const HEADER_BYTES_IPV4: f64 = 52.0;
/// 40 + 20 + 12.
const HEADER_BYTES_IPV6: f64 = 72.0;

/// The bottleneck, when the recording knows it.
pub fn link_summary(metadata: &Metadata, flows: &[Flow], run_us: u64) -> Option<LinkSummary> {
    let link = metadata.link.as_ref().filter(|link| link.rate_bps > 0.0)?;
    let wire_bytes: f64 = flows
        .iter()
        .map(|flow| {
            let ipv6 = flow.parts[0].totals.endpoints.src.contains(':');
            let per_packet = link.overhead_bytes + if ipv6 { HEADER_BYTES_IPV6 } else { HEADER_BYTES_IPV4 };
            flow.sum(|t| t.acked_bytes) as f64 + flow.sum(|t| t.delivered_pkts) as f64 * per_packet
        })
        .sum();
    let bdp_bytes = link.base_rtt_us.map(|rtt_us| link.rate_bps * rtt_us / US_PER_S / BITS_PER_BYTE);
    Some(LinkSummary {
        rate_bps: link.rate_bps,
        base_rtt_us: link.base_rtt_us,
        buffer_bytes: link.buffer_bytes,
        buffer_bdp: link.buffer_bytes.zip(bdp_bytes.filter(|&bdp| bdp > 0.0)).map(|(buffer, bdp)| buffer / bdp),
        utilisation: (run_us > 0).then(|| wire_bytes * BITS_PER_BYTE * US_PER_S / (link.rate_bps * run_us as f64)),
    })
}

/// Jain's index of the run and of its intervals; `None` for a single flow.
pub fn fairness(folded: &Folded, interval_us: u64) -> Option<Fairness> {
    if folded.flows.len() < 2 {
        return None;
    }
    let acked: Vec<f64> = folded.flows.iter().map(|flow| flow.sum(|t| t.acked_bytes) as f64).collect();
    let per_interval = interval_jain(&folded.flows, &folded.intervals, interval_us);
    let mean = (!per_interval.is_empty()).then(|| per_interval.iter().sum::<f64>() / per_interval.len() as f64);
    Some(Fairness {
        jain: jain(&acked),
        jain_interval_mean: mean,
        intervals: per_interval.len() as u64,
        interval_s: interval_us as f64 / US_PER_S,
    })
}

/// Jain's index of each interval in which at least two flows were active from edge to edge.
fn interval_jain(flows: &[Flow], bytes: &PerInterval, interval_us: u64) -> Vec<f64> {
    let last = flows.iter().map(Flow::progress_us).max().unwrap_or(0) / interval_us;
    (0..last)
        .filter_map(|interval| {
            let (start_us, end_us) = (interval * interval_us, (interval + 1) * interval_us);
            let active = flows.iter().filter(|flow| flow.first_us() <= start_us && flow.progress_us() >= end_us);
            let shares: Vec<f64> = active
                .map(|flow| bytes.get(&flow.key).and_then(|b| b.get(&interval)).copied().unwrap_or(0.0))
                .collect();
            jain(&shares)
        })
        .collect()
}
