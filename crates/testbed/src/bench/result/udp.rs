//! UDP sources of a run.

use super::Measured;
use ccactl_link::network::FlowCounters;
use ccactl_scenario::Scenario;
use serde::{Deserialize, Serialize};

/// One UDP source of one run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct UdpResult {
    /// Name in the scenario.
    pub name: String,
    /// Packets sent.
    pub sent_packets: u64,
    /// Bytes sent, on the wire.
    pub sent_wire_bytes: u64,
    /// Packets that the sending kernel had no memory for.
    pub refused_packets: u64,
    /// Packets that the receiving process counted.
    pub received_packets: u64,
    /// The same in bytes on the wire.
    pub received_wire_bytes: u64,
    /// What the bottleneck counted; absent where it does not count by source.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<FlowCounters>,
}

pub(super) fn udp_results(scenario: &Scenario, measured: &Measured) -> Vec<UdpResult> {
    let counters = |source: usize| Some(measured.carried.flows.get(scenario.flows.len() + source)?.counters);
    let reports = scenario.udp.iter().zip(&measured.reports.udp).enumerate();
    reports
        .map(|(source, (udp, (sent, received)))| {
            let wire_bytes = u64::from(udp.packet_bytes + scenario.link.overhead_bytes);
            UdpResult {
                name: udp.name.clone(),
                sent_packets: sent.packets,
                sent_wire_bytes: sent.packets * wire_bytes,
                refused_packets: sent.refused_packets,
                received_packets: received.packets,
                received_wire_bytes: received.packets * wire_bytes,
                link: counters(source),
            }
        })
        .collect()
}
