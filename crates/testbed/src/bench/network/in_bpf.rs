//! What the bottleneck in BPF counted, in the words of the link model.

use super::TransmitterResult;
use ccactl_abi::link_queue::{LinkState, LinkTimes};
use ccactl_link::network::{Histogram, LinkCounters, QueueFigures, Way};
use ccactl_scenario::LINK;

/// One direction; `lost_packets` of what was sent did not come through the wire.
pub fn transmitter(state: &LinkState, way: Way, lost_packets: u64) -> TransmitterResult {
    let counters = LinkCounters {
        offered_packets: state.offered_packets,
        delivered_packets: state.sent_packets.saturating_sub(lost_packets),
        sent_wire_bytes: state.sent_bytes,
        dropped_full_packets: state.dropped_full_packets,
        dropped_early_packets: state.dropped_early_packets,
        lost_packets,
        queued_packets: state.tail - state.next + u64::from(state.sending_bytes > 0),
        ..LinkCounters::default()
    };
    let queue = QueueFigures {
        queue_max_bytes: state.queue_max_bytes,
        queue_mean_bytes: state.queue_sum_bytes as f64 / state.offered_packets.max(1) as f64,
        queueing: times(&state.sojourn).queueing(),
    };
    TransmitterResult {
        link: LINK.to_owned(),
        way,
        counters,
        queue: Some(queue),
        ecn: Default::default(),
        planned_rate_bps: (state.busy_ns > 0).then(|| state.busy_bytes as f64 * 8e9 / state.busy_ns as f64),
        snoop: None,
    }
}

/// The histogram that the kernel filled.
pub fn times(times: &LinkTimes) -> Histogram {
    Histogram::of_counts(&times.counts, times.sum_ns, times.max_ns)
}
