//! One summary per flow with a receiving algorithm. What a row of such a flow holds is a mean over time or a sum already.

use crate::measure::inner::Held;
use crate::measure::offers::Offers;
use crate::scale::{BITS_PER_BYTE, US_PER_S};
use crate::summary::ReceiverSummary;
use crate::walk::{Endpoints, FlowKey};
use ccactl_recording::read::Metadata;

/// One summary per flow, in their order.
pub fn summaries(flows: &[(FlowKey, Endpoints, Offers)], metadata: &Metadata) -> Vec<ReceiverSummary> {
    flows.iter().map(|(key, ends, offers)| summary(*key, ends, offers, metadata)).collect()
}

fn summary(key: FlowKey, ends: &Endpoints, offers: &Offers, metadata: &Metadata) -> ReceiverSummary {
    let [offered, limit, rtt, min_rtt] = offers.held;
    let [(from_us, from_bytes), (to_us, to_bytes)] = offers.received.unwrap_or_default();
    let received_bytes = to_bytes.saturating_sub(from_bytes);
    let passed_us = to_us.saturating_sub(from_us);
    let (local, remote) = (ends.local(), ends.remote());
    let given = metadata.flows.iter().flatten().find(|f| f.cgroup_id == ends.cgroup_id && !f.name.is_empty());
    ReceiverSummary {
        name: given.map_or_else(|| format!("{local}←{remote}"), |flow| flow.name.clone()),
        flow_id: key.flow_id,
        netns: key.netns,
        cgroup_id: ends.cgroup_id,
        local,
        remote,
        rows: offers.rows,
        received_bytes,
        goodput_bps: (passed_us > 0).then(|| received_bytes as f64 * BITS_PER_BYTE * US_PER_S / passed_us as f64),
        offered_mean_bytes: mean(&offered),
        limit_mean_bytes: mean(&limit),
        limit_min_bytes: limit.range.map(|(least, _)| least.unsigned_abs()),
        limit_max_bytes: limit.range.map(|(_, most)| most.unsigned_abs()),
        rtt_mean_us: mean(&rtt),
        rtt_min_us: min_rtt.range.map(|(least, _)| least.unsigned_abs()),
    }
}

/// Over time; of a value that was seen once, that value.
fn mean(of: &Held) -> Option<f64> {
    match of.time_us {
        0 => of.range.map(|(least, _)| least as f64),
        time_us => Some(of.value_us as f64 / time_us as f64),
    }
}
