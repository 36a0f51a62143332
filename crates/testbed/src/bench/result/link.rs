//! Links of a run: the bottleneck, and every transmitter.

use super::Measured;
use crate::bench::recording::base_rtt_us;
use crate::bench::validity;
use crate::emulator::{Lateness, LinkReport, QueueingDelay, Way};
use ccactl_report::RecordingSummary;
use ccactl_scenario::{LINK, Scenario};
use serde::{Deserialize, Serialize};

/// What the emulated bottleneck did. Where it has a transmitter in each direction, packets and queue are those of the one that
/// had more to send.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LinkResult {
    /// Rate on the wire at the beginning of the run.
    pub rate_bps: u64,
    /// Base RTT.
    pub base_rtt_us: f64,
    /// Size of the buffer.
    pub buffer_bytes: u64,
    /// Rate on the wire while backlogged, as measured: that of the plan, changed by the error.
    pub achieved_rate_bps: Option<f64>,
    /// How much faster than planned packets came out while backlogged, as a share; like the rate, unknown after a short
    /// backlog.
    pub rate_error: Option<f64>,
    /// How long the bottleneck was backlogged.
    pub backlogged_s: f64,
    /// Share of the link that was used.
    pub utilisation: Option<f64>,
    /// How late packets were given out.
    pub lateness: Lateness,
    /// Whether the emulator had real-time priority.
    pub realtime: bool,
    /// Direction of the transmitter that the following is about.
    pub way: Way,
    /// Packets that arrived at the bottleneck.
    pub packets: u64,
    /// Dropped for want of room in the buffer.
    pub dropped_full_packets: u64,
    /// Dropped by active queue management before the buffer was full.
    pub dropped_early_packets: u64,
    /// Marked "congestion experienced" instead of dropped.
    pub marked_packets: u64,
    /// Lost at random.
    pub lost_packets: u64,
    /// Lost after all retries of a wireless link.
    pub lost_wireless_packets: u64,
    /// Most bytes in the queue.
    pub queue_max_bytes: u64,
    /// Mean that packets found, themselves included where there was room.
    pub queue_mean_bytes: f64,
    /// Time that packets waited in the queue: what the sender's RTT says of it, without the sender.
    pub queueing: QueueingDelay,
    /// Dropped by the TUN devices.
    pub device_drops: u64,
    /// Refused by the TUN devices.
    pub write_failures: u64,
}

/// One transmitter of the scenario.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TransmitterResult {
    /// Name of its link.
    pub link: String,
    /// Its direction.
    pub way: Way,
    /// What it did.
    #[serde(flatten)]
    pub report: LinkReport,
}

pub(super) fn transmitters(measured: &Measured) -> Vec<TransmitterResult> {
    let named = measured.links.iter().zip(&measured.emulator.links);
    named.map(|((link, way), report)| TransmitterResult { link: link.clone(), way: *way, report: *report }).collect()
}

pub(super) fn link_result(scenario: &Scenario, measured: &Measured, summary: &RecordingSummary) -> LinkResult {
    let emulator = &measured.emulator;
    let bottleneck = transmitters(measured)
        .into_iter()
        .filter(|transmitter| transmitter.link == LINK)
        .max_by_key(|transmitter| (transmitter.report.counters.sent_wire_bytes, transmitter.way == Way::Up))
        .expect("every scenario has a link");
    let counters = bottleneck.report.counters;
    let rate_error = validity::rate_error(emulator);
    LinkResult {
        rate_bps: scenario.link.rate.bps,
        base_rtt_us: base_rtt_us(scenario.link.base_rtt),
        buffer_bytes: scenario.link.buffer_bytes(),
        achieved_rate_bps: bottleneck.report.planned_rate_bps.zip(rate_error).map(|(bps, error)| bps * (1.0 + error)),
        rate_error,
        backlogged_s: emulator.backlogged_s,
        utilisation: summary.link.as_ref().and_then(|link| link.utilisation),
        lateness: emulator.lateness,
        realtime: emulator.realtime,
        way: bottleneck.way,
        packets: counters.offered_packets,
        dropped_full_packets: counters.dropped_full_packets,
        dropped_early_packets: counters.dropped_early_packets,
        marked_packets: counters.marked_packets,
        lost_packets: counters.lost_packets,
        lost_wireless_packets: counters.lost_wireless_packets,
        queue_max_bytes: counters.queue_max_bytes,
        queue_mean_bytes: bottleneck.report.queue_mean_bytes,
        queueing: bottleneck.report.queueing,
        device_drops: measured.device_drops,
        write_failures: emulator.troubles.write_failures,
    }
}
