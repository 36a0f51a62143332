//! The project's own path.

use crate::{BUFFER_BYTES, ONE_WAY_MS, RATE_BPS, Result};
use ccactl_scenario::Scenario;
use ccactl_testbed::bench::Emulated;
use ccactl_testbed::emulator::address;
use ccactl_testbed::host::netns::NETNS_DIR;
use ccactl_testbed::host::run_id::RunId;
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
    let network = Emulated::create(RunId::new(), &scenario, 1)?;
    let (near, far) = (network.host(0).name(), network.server().name());
    println!("{NETNS_DIR}/{near} {NETNS_DIR}/{far} {}", address::SERVER);
    std::io::stdin().read_to_end(&mut Vec::new())?;
    let (report, _) = network.stop()?;
    if report.realtime { Ok(()) } else { Err("the emulator had no real-time priority or locked memory".into()) }
}
