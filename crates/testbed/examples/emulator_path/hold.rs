//! The project's own path.

use crate::{BUFFER_BYTES, ONE_WAY_MS, RATE_BPS, Result};
use ccactl_scenario::Scenario;
use ccactl_testbed::emulator::{Devices, Emulator, Topology, address};
use ccactl_testbed::host::netns::{NETNS_DIR, Netns};
use ccactl_testbed::host::run_id::{PREFIX, RunId};
use ccactl_testbed::host::tun::Tun;
use std::io::Read;

/// Builds the path, says where its ends are, and holds it until standard input ends.
pub fn hold() -> Result<()> {
    // Rates count IP packets, as those of other emulators do. The scenario only describes the link; no flow of it is started.
    let text = format!(
        r#"
        duration = "600s"
        [link]
        rate = "{}Mbit/s"
        base_rtt = "{}ms"
        buffer = {{ bytes = {BUFFER_BYTES} }}
        overhead_bytes = 0
        [[flow]]
        name = "probe"
        algorithm = "native:cubic"
        "#,
        RATE_BPS / 1_000_000,
        2 * ONE_WAY_MS,
    );
    let scenario = Scenario::parse("path.toml", &text)?;
    let id = RunId::new();
    let near = Netns::create(format!("{PREFIX}-{id}-near"))?;
    let far = Netns::create(format!("{PREFIX}-{id}-far"))?;
    let devices = Devices {
        hosts: vec![Tun::create(&near, address::host(0), scenario.link.mtu)?],
        server: Tun::create(&far, address::SERVER, scenario.link.mtu)?,
    };
    let emulator = Emulator::start(devices, Topology::of(&scenario, 1), scenario.duration.ns)?;
    println!("{NETNS_DIR}/{} {NETNS_DIR}/{} {}", near.name(), far.name(), address::SERVER);
    std::io::stdin().read_to_end(&mut Vec::new())?;
    let report = emulator.finish()?;
    if report.realtime { Ok(()) } else { Err("the emulator had no real-time priority or locked memory".into()) }
}
