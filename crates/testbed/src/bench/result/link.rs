//! Links of a run: the bottleneck, and every transmitter.

use super::measured::Measured;
use crate::bench::network::TransmitterResult;
use crate::bench::recording::base_rtt_us;
use crate::bench::validity;
use crate::emulator::EmulatorReport;
use ccactl_link::network::{Lateness, QueueFigures, Way};
use ccactl_report::RecordingSummary;
use ccactl_scenario::{LINK, Scenario};
use serde::{Deserialize, Serialize};

/// What the bottleneck did. Where it has a transmitter in each direction, packets and queue are those of the one that had more to
/// send.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LinkResult {
    /// Rate on the wire at the beginning of the run.
    pub rate_bps: u64,
    /// Base RTT.
    pub base_rtt_us: f64,
    /// Size of the buffer.
    pub buffer_bytes: u64,
    /// Share of the link that was used.
    pub utilisation: Option<f64>,
    /// How late packets were given out; absent where nobody knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lateness: Option<Lateness>,
    /// How well the emulator kept time otherwise; absent without it.
    #[serde(flatten)]
    pub timekeeping: Option<Timekeeping>,
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
    /// Its queue as the link model saw it; absent where nobody saw it.
    #[serde(flatten)]
    pub queue: Option<QueueFigures>,
    /// Dropped by the devices.
    pub device_drops: u64,
}

/// How well the emulator kept time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Timekeeping {
    /// Rate on the wire while backlogged, as measured: that of the plan, changed by the error.
    pub achieved_rate_bps: Option<f64>,
    /// How much faster than planned packets came out while backlogged, as a share; like the rate, unknown after a short
    /// backlog.
    pub rate_error: Option<f64>,
    /// How long the bottleneck was backlogged.
    pub backlogged_s: f64,
    /// Whether the emulator had real-time priority.
    pub realtime: bool,
    /// Whether the emulator's thread had reserved CPU time (`SCHED_DEADLINE`) rather than a fixed priority.
    #[serde(default)]
    pub reserved: bool,
    /// Packets refused by the TUN devices.
    pub write_failures: u64,
}

impl LinkResult {
    /// How much faster than planned packets came out while backlogged, as a share; where somebody measured it.
    #[must_use]
    pub fn rate_error(&self) -> Option<f64> {
        self.timekeeping.and_then(|kept| kept.rate_error)
    }

    pub(super) fn new(scenario: &Scenario, measured: &Measured, summary: &RecordingSummary) -> Self {
        let carried = &measured.carried;
        let bottleneck = carried
            .transmitters
            .iter()
            .filter(|transmitter| transmitter.link == LINK)
            .max_by_key(|transmitter| (transmitter.counters.sent_wire_bytes, transmitter.way == Way::Up))
            .expect("every scenario has a link");
        let counters = bottleneck.counters;
        LinkResult {
            rate_bps: scenario.link.rate.bps,
            base_rtt_us: base_rtt_us(scenario.link.base_rtt),
            buffer_bytes: scenario.link.buffer_bytes(),
            utilisation: summary.link.as_ref().and_then(|link| link.utilisation),
            lateness: carried.lateness,
            timekeeping: carried.emulator.as_ref().map(|emulator| Timekeeping::new(emulator, bottleneck)),
            way: bottleneck.way,
            packets: counters.offered_packets,
            dropped_full_packets: counters.dropped_full_packets,
            dropped_early_packets: counters.dropped_early_packets,
            marked_packets: counters.marked_packets,
            lost_packets: counters.lost_packets,
            lost_wireless_packets: counters.lost_wireless_packets,
            queue: bottleneck.queue,
            device_drops: carried.device_drops,
        }
    }
}

impl Timekeeping {
    fn new(emulator: &EmulatorReport, bottleneck: &TransmitterResult) -> Self {
        let rate_error = validity::rate_error(emulator);
        Timekeeping {
            achieved_rate_bps: bottleneck.planned_rate_bps.zip(rate_error).map(|(bps, error)| bps * (1.0 + error)),
            rate_error,
            backlogged_s: emulator.backlogged_s,
            realtime: emulator.realtime,
            reserved: emulator.reserved,
            write_failures: emulator.troubles.write_failures,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ccactl_link::network::LinkCounters;
    use ccactl_link::network::QueueingDelay;
    use serde_json::{Value, json};

    fn transmitter(queue: Option<QueueFigures>) -> Value {
        let of = TransmitterResult {
            link: LINK.to_owned(),
            way: Way::Up,
            counters: LinkCounters::default(),
            queue,
            ecn: Default::default(),
            planned_rate_bps: None,
            snoop: None,
        };
        let text = serde_json::to_value(&of).unwrap();
        assert_eq!(serde_json::from_value::<TransmitterResult>(text.clone()).unwrap(), of);
        text
    }

    #[test]
    fn what_nobody_saw_is_absent_and_not_zero() {
        let figures = QueueFigures { queue_max_bytes: 5, queue_mean_bytes: 2.5, queueing: QueueingDelay::default() };
        let seen = transmitter(Some(figures));
        assert_eq!((&seen["queue_max_bytes"], &seen["queue_mean_bytes"]), (&json!(5), &json!(2.5)));
        assert_eq!(seen["queueing"]["packets"], 0);
        let unseen = transmitter(None);
        for key in ["queue", "queue_max_bytes", "queue_mean_bytes", "queueing"] {
            assert!(unseen.get(key).is_none(), "{unseen}");
        }
        assert_eq!(unseen["offered_packets"], 0);
    }
}
