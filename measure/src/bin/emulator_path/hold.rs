//! The project's own path.

use crate::{ONE_WAY_MS, Result, buffer_bytes};
use ccactl_scenario::Scenario;
use ccactl_testbed::bench::Emulated;
use ccactl_testbed::emulator::{Topology, address};
use ccactl_testbed::host::netns::NETNS_DIR;
use ccactl_testbed::host::run_id::RunId;
use std::io::Read;

/// Builds the path, says where its ends are, and holds it until standard input ends. Without `tick_us` the tick is the emulator's own choice.
pub fn hold(rate_mbit: u64, tick_us: Option<u64>) -> Result<()> {
    // Rates count IP packets, as those of other emulators do. The scenario only describes the link; no flow of it is started.
    let text = format!(
        r#"
        duration = "600s"
        [link]
        rate = "{rate_mbit}Mbit/s"
        base_rtt = "{}ms"
        buffer = {{ bytes = {} }}
        overhead_bytes = 0
        [[flow]]
        name = "probe"
        algorithm = "native:cubic"
        "#,
        2 * ONE_WAY_MS,
        buffer_bytes(rate_mbit),
    );
    let scenario = Scenario::parse("path.toml", &text)?;
    let mut topology = Topology::of(&scenario, 1);
    topology.tick = tick_us.map(|tick_us| tick_us * 1000).or(topology.tick);
    let network = Emulated::with(RunId::new(), &scenario, topology)?;
    let (near, far) = (network.host(0).name(), network.server().name());
    println!("{NETNS_DIR}/{near} {NETNS_DIR}/{far} {}", address::SERVER);
    std::io::stdin().read_to_end(&mut Vec::new())?;
    let (report, _) = network.stop()?;
    if report.realtime { Ok(()) } else { Err("the emulator had no real-time priority or locked memory".into()) }
}
