//! What the network of a run did.

use crate::emulator::EmulatorReport;
use ccactl_link::network::{
    EcnFigures, FlowTally, Interval, Lateness, LinkCounters, LinkReport, Network, NetworkReport, QueueFigures,
    SnoopFigures, Way,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// By their bits.
const CODEPOINTS: [&str; 4] = ["not-ect", "ect1", "ect0", "ce"];

/// One transmitter of the scenario.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TransmitterResult {
    /// Name of its link.
    pub link: String,
    /// Its direction.
    pub way: Way,
    /// Packets.
    #[serde(flatten)]
    pub counters: LinkCounters,
    /// Its queue as the link model saw it; absent where nobody saw it.
    #[serde(flatten)]
    pub queue: Option<QueueFigures>,
    /// The same by codepoint of the ECN field (`not-ect`, `ect1`, `ect0`, `ce`) as packets came; those that none had are absent.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub ecn: BTreeMap<String, EcnFigures>,
    /// Rate on the wire that its plan gave while something waited, in bit/s; none when nothing ever waited, or nobody saw it.
    pub planned_rate_bps: Option<f64>,
    /// The Snoop agent ahead of it; absent where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snoop: Option<SnoopFigures>,
}

/// What a network did.
pub struct Carried {
    /// By transmitter, that of the bottleneck first.
    pub transmitters: Vec<TransmitterResult>,
    /// Packets dropped by the devices.
    pub device_drops: u64,
    /// Highest rate at which packets can come through for long, in bit/s.
    pub carried_bps: u64,
    /// By path; none where nobody counts by flow.
    pub flows: Vec<FlowTally>,
    /// What the transmitters did over time; none where nobody saw it.
    pub series: Vec<Interval>,
    /// Packets in queues and on wires at the end, where somebody knows.
    pub inside_packets: Option<u64>,
    /// How late packets were given out, where somebody knows.
    pub lateness: Option<Lateness>,
    /// What else the emulator says of itself; its network's report is in the fields above.
    pub emulator: Option<EmulatorReport>,
}

impl Carried {
    pub(super) fn by_emulator(
        mut report: EmulatorReport,
        names: Vec<(String, Way)>,
        carried_bps: u64,
        device_drops: u64,
    ) -> Carried {
        let network = std::mem::take(&mut report.network);
        let lateness = Some(report.lateness);
        Carried { device_drops, lateness, emulator: Some(report), ..Carried::seen(network, names, carried_bps) }
    }

    /// Nobody had to keep time.
    pub(crate) fn by_simulator(network: Network<u32>, names: Vec<(String, Way)>, carried_bps: u64) -> Carried {
        Carried::seen(network.into_report(), names, carried_bps)
    }

    fn seen(report: NetworkReport, names: Vec<(String, Way)>, carried_bps: u64) -> Carried {
        let transmitter = |((link, way), of_it): ((String, Way), LinkReport)| TransmitterResult {
            link,
            way,
            counters: of_it.counters,
            queue: Some(of_it.queue),
            ecn: by_codepoint(&of_it.ecn),
            planned_rate_bps: of_it.planned_rate_bps,
            snoop: of_it.snoop,
        };
        Carried {
            transmitters: names.into_iter().zip(report.links).map(transmitter).collect(),
            device_drops: 0,
            carried_bps,
            flows: report.flows,
            series: report.series,
            inside_packets: Some(report.inside_packets),
            lateness: None,
            emulator: None,
        }
    }
}

fn by_codepoint(figures: &[EcnFigures; 4]) -> BTreeMap<String, EcnFigures> {
    let seen = CODEPOINTS.into_iter().zip(figures).filter(|(_, figures)| figures.offered_packets > 0);
    seen.map(|(name, figures)| (name.to_owned(), *figures)).collect()
}
