//! Runs in the simulator: the same scenario, recording and figures, in virtual time and without any right.
//!
//! ```text
//!   Scenario ──Topology──▶ World (crates/sim) ──Observed──▶ Rows ──▶ recording.parquet
//!              Course: connections, swaps, stops ──▶            └──▶ Measured, as of a run on the host
//! ```

mod algorithm;
mod check;
mod course;
mod file;
mod rows;
mod totals;
mod watch;

pub use check::check;
pub use totals::{Totals, totals};

use crate::bench::{Carried, Interrupt, Measured, Reports, UDP_HEADER_BYTES, metadata};
use crate::clock;
use crate::emulator::Topology;
use crate::error::Result;
use crate::host::cpu::CpuUse;
use crate::traffic::{UdpCount, UdpSendReport};
use ccactl_collector::{Every, Summary};
use ccactl_recording::{DropReasons, Metadata, SCHEMA_VERSION};
use ccactl_scenario::Scenario;
use ccactl_sim::World;
use course::Course;
use file::RecordingFile;
use rows::Rows;
use std::path::Path;
use std::time::Duration;

/// What stands where a recording has the kernel's release.
const KERNEL: &str = "simulator, after Linux 6.18";

/// Simulates run `run` (from 1) of a scenario that [`check`] has passed, and records it into `file`.
pub fn measure(
    scenario: &Scenario,
    file: &Path,
    run: u32,
    interrupt: Interrupt<'_>,
    observe: &mut dyn FnMut(Duration, u64),
) -> Result<Measured> {
    let cpu_s = clock::thread_cpu_s();
    let algorithms = check(scenario)?;
    let topology = Topology::of(scenario, run);
    let mut world = World::new(topology.transmitters, topology.paths, scenario.duration.ns);
    let recording = RecordingFile::create(file, metadata_of(scenario, run), algorithms.known())?;
    let every = scenario.every.parse::<Every>().expect("checked with the scenario");
    let mut course = Course::start(scenario, run, &algorithms, &mut world, Rows::new(every, recording), interrupt)?;
    course.run(&mut world, interrupt, observe)?;
    let (reports, swaps, watch) = course.into_results();
    let rows = watch.into_file().finish(scenario.duration.ns)?;
    let reports = Reports { flows: reports, udp: udp_reports(scenario, &world) };
    let carried = Carried::by_simulator(world.into_network(), topology.names, topology.carried_bps);
    let recorded = Summary {
        rows,
        flows: reports.flows.iter().map(|flow| flow.transfers.len() as u64).sum(),
        drops: DropReasons::default(),
        clock: file::CLOCK,
        duration: Duration::from_nanos(scenario.duration.ns),
        has_half_closed_samples: true,
        path: Some(file.to_owned()),
    };
    // No process waited for a CPU, and none was late.
    let cpu = CpuUse { processes_s: clock::thread_cpu_s() - cpu_s, ..CpuUse::default() };
    Ok(Measured {
        t0: 0,
        carried,
        cpu,
        recorded,
        reports,
        cgroup_ids: cgroup_ids(scenario),
        kernel_names: algorithms.at_start(),
        swaps,
    })
}

/// In place of cgroups: numbers of the flows, from 1.
fn cgroup_ids(scenario: &Scenario) -> Vec<u64> {
    (1..).take(scenario.flows.len()).collect()
}

fn udp_reports(scenario: &Scenario, world: &World) -> Vec<(UdpSendReport, UdpCount)> {
    let report = |source: usize| {
        let count = world.source(source);
        let payload_bytes = u64::from(scenario.udp[source].packet_bytes - UDP_HEADER_BYTES);
        let received = UdpCount { packets: count.received_pkts, bytes: count.received_pkts * payload_bytes };
        (UdpSendReport { packets: count.sent_pkts, refused_packets: 0 }, received)
    };
    (0..scenario.udp.len()).map(report).collect()
}

/// The same scenario and run give the same pairs: no clock, no host.
fn metadata_of(scenario: &Scenario, run: u32) -> Metadata {
    let text = scenario.to_toml();
    let identity = format!("{:08x}-{run:08x}", crc32fast::hash(text.as_bytes()));
    Metadata {
        schema_version: SCHEMA_VERSION,
        writer: Some(env!("CARGO_PKG_VERSION").to_owned()),
        kernel: Some(KERNEL.to_owned()),
        host: Some("simulator".to_owned()),
        boot_id: Some(identity),
        started: Some(file::CLOCK.started_rfc3339()),
        every: Some(scenario.every.clone()),
        half_closed_samples: Some(true),
        ..metadata(scenario, &cgroup_ids(scenario), &[])
    }
}
