//! What the flows did together: how full the link was and how evenly they shared it.

use std::collections::BTreeMap;

use super::fold::Flow;
use super::{BITS_PER_BYTE, US_PER_S, convergence};
use crate::stats::{jain, jain_of_sums};
use crate::summary::{Fairness, JainPoint, LinkSummary};
use crate::walk::Counter;
use ccactl_recording::read::Metadata;

/// IP and TCP headers, and the timestamps that Linux sends by default: 20 + 20 + 12.
const HEADER_BYTES_IPV4: f64 = 52.0;
/// 40 + 20 + 12.
const HEADER_BYTES_IPV6: f64 = 72.0;

/// [`FlowInfo::way`](ccactl_recording::read::FlowInfo::way) of a flow that does not pass the bottleneck.
const BESIDE: &str = "beside";

/// The bottleneck, when the recording knows it.
pub fn link_summary(metadata: &Metadata, flows: &[Flow], run_us: u64) -> Option<LinkSummary> {
    let link = metadata.link.as_ref().filter(|link| link.rate_bps > 0.0)?;
    // Each way has a transmitter of its own: the busier one is the bottleneck.
    let mut wire_bytes: BTreeMap<Option<&str>, f64> = BTreeMap::new();
    for flow in flows {
        let info = metadata.flows.iter().flatten().find(|info| info.cgroup_id == flow.endpoints.cgroup_id);
        let way = info.and_then(|info| info.way.as_deref());
        if way == Some(BESIDE) {
            continue;
        }
        let ipv6 = flow.endpoints.src.contains(':');
        let per_packet = link.overhead_bytes + if ipv6 { HEADER_BYTES_IPV6 } else { HEADER_BYTES_IPV4 };
        *wire_bytes.entry(way).or_default() +=
            flow.grown(Counter::BytesAcked) as f64 + flow.grown(Counter::DeliveredPkts) as f64 * per_packet;
    }
    let wire_bytes = wire_bytes.into_values().fold(0.0, f64::max);
    let mean_rate_bps = link.mean_rate_bps.unwrap_or(link.rate_bps);
    let bdp_bytes = link.base_rtt_us.map(|rtt_us| link.rate_bps * rtt_us / US_PER_S / BITS_PER_BYTE);
    Some(LinkSummary {
        rate_bps: link.rate_bps,
        base_rtt_us: link.base_rtt_us,
        buffer_bytes: link.buffer_bytes,
        buffer_bdp: link.buffer_bytes.zip(bdp_bytes.filter(|&bdp| bdp > 0.0)).map(|(buffer, bdp)| buffer / bdp),
        utilisation: (run_us > 0).then(|| wire_bytes * BITS_PER_BYTE * US_PER_S / (mean_rate_bps * run_us as f64)),
    })
}

/// Jain's index of the run and of its intervals; `None` for a single flow.
pub fn fairness(flows: &[Flow], interval_us: u64) -> Option<Fairness> {
    if flows.len() < 2 {
        return None;
    }
    let acked: Vec<f64> = flows.iter().map(|flow| flow.grown(Counter::BytesAcked) as f64).collect();
    let series = jain_series(flows, interval_us);
    let known: Vec<f64> = series.iter().filter_map(|point| point.jain).collect();
    Some(Fairness {
        jain: jain(&acked),
        jain_interval_mean: (!known.is_empty()).then(|| known.iter().sum::<f64>() / known.len() as f64),
        intervals: known.len() as u64,
        interval_s: interval_us as f64 / US_PER_S,
        convergence: convergence::find(flows, &series, interval_us),
        series,
    })
}

/// What the flows of one interval got, as far as Jain's index needs it.
#[derive(Default, Clone, Copy)]
struct Shares {
    flows: u64,
    sum: f64,
    squares: f64,
}

/// Jain's index of each interval in which at least two flows were active from edge to edge.
fn jain_series(flows: &[Flow], interval_us: u64) -> Vec<JainPoint> {
    let mut intervals: BTreeMap<u64, Shares> = BTreeMap::new();
    for flow in flows {
        let mut amounts = flow.acked.iter().copied().peekable();
        for interval in flow.first_us().div_ceil(interval_us)..flow.progress_us() / interval_us {
            while amounts.next_if(|(earlier, _)| *earlier < interval).is_some() {}
            let share = amounts.next_if(|(number, _)| *number == interval).map_or(0.0, |(_, amount)| amount);
            let shares = intervals.entry(interval).or_default();
            shares.flows += 1;
            shares.sum += share;
            shares.squares += share * share;
        }
    }
    intervals
        .into_iter()
        .filter(|(_, shares)| shares.flows >= 2)
        .map(|(interval, shares)| JainPoint {
            start_s: (interval * interval_us) as f64 / US_PER_S,
            flows: shares.flows,
            jain: jain_of_sums(shares.flows, shares.sum, shares.squares),
        })
        .collect()
}
