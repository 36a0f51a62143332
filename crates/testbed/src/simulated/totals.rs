//! What a run comes to, without a recording of it: for those who make thousands of runs and look at a few figures of each.

use super::check;
use super::course::Course;
use super::watch::Nobody;
use crate::bench::{Interrupt, LINK_FILE, RunResult, link_rows};
use crate::emulator::Topology;
use crate::error::Result;
use ccactl_link::network::{INTERVAL, Interval, Way};
use ccactl_scenario::{LINK, Scenario};
use ccactl_sim::World;
use std::path::Path;

/// The bottleneck's transmitter is the first.
const BOTTLENECK: usize = 0;

/// What a run comes to.
#[derive(Debug, Clone, PartialEq)]
pub struct Totals {
    /// Payload received, by flow of the scenario.
    pub received_bytes: Vec<u64>,
    /// Packets received, by UDP source of the scenario.
    pub udp_received_pkts: Vec<u64>,
    /// Mean time that packets waited at the bottleneck.
    pub queueing_mean_us: f64,
    /// Rate on the wire at which the bottleneck sent upwards, in each interval of [`INTERVAL`].
    pub sent_bps: Vec<u64>,
}

/// Simulates run `run` (from 1) of a scenario.
///
/// # Errors
/// When the simulator does not have what the scenario asks for, or the run is interrupted.
pub fn totals(scenario: &Scenario, run: u32, interrupt: Interrupt<'_>) -> Result<Totals> {
    let algorithms = check(scenario)?;
    let topology = Topology::of(scenario, run);
    let mut world = World::new(topology.transmitters, topology.paths, scenario.duration.ns);
    let mut course = Course::start(scenario, run, &algorithms, &mut world, Nobody, interrupt)?;
    course.run(&mut world, interrupt, &mut |_, _| {})?;
    let (flows, _, Nobody) = course.into_results();
    let udp_received_pkts = (0..scenario.udp.len()).map(|source| world.source(source).received_pkts).collect();
    let report = world.into_network().into_report();
    let of_bottleneck = report.series.iter().filter(|row| row.transmitter as usize == BOTTLENECK);
    Ok(Totals {
        received_bytes: flows.iter().map(|flow| flow.received_bytes).collect(),
        udp_received_pkts,
        queueing_mean_us: report.links[BOTTLENECK].queue.queueing.mean_us,
        sent_bps: of_bottleneck.map(Interval::sent_bps).collect(),
    })
}

impl Totals {
    /// The same of a run that a bench has made, with its series in the folder of the run.
    ///
    /// # Errors
    /// When the series cannot be read.
    pub fn of_run(folder: &Path, run: &RunResult) -> Result<Totals> {
        let rows = link_rows(&folder.join(LINK_FILE), LINK, Way::Up)?;
        let queue = run.transmitters.iter().find(|of| of.link == LINK && of.way == Way::Up).and_then(|of| of.queue);
        Ok(Totals {
            received_bytes: run.flows.iter().map(|flow| flow.received_bytes).collect(),
            udp_received_pkts: run.udp.iter().map(|udp| udp.received_packets).collect(),
            queueing_mean_us: queue.map_or(0.0, |queue| queue.queueing.mean_us),
            sent_bps: rows.iter().map(|row| row.sent_bps).collect(),
        })
    }

    /// Length of the intervals of [`Totals::sent_bps`], s.
    #[must_use]
    pub fn interval_s() -> f64 {
        INTERVAL as f64 / 1e9
    }
}
