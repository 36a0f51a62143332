//! What of a scenario the simulator does not have.

use super::algorithm::{Algorithms, Simulated};
use crate::error::{Error, Result};
use crate::unsupported::Lacks;
use ccactl_scenario::{FlowSpec, Scenario, Wanted};

/// As on the command line.
const NAME: &str = "simulator";
/// Which ECN hosts ask for and grant; the simulator knows no other setting.
pub const TCP_ECN: &str = "ipv4/tcp_ecn";

/// The algorithms of a scenario that can be simulated.
///
/// # Errors
/// Everything that cannot.
pub fn check(scenario: &Scenario) -> Result<Algorithms> {
    let mut lacks = Lacks::default();
    let mut simulated = |field: String, wanted: Wanted<'_>| {
        let simulated = Simulated::of(wanted)?;
        lacks.ensure(simulated.is_some(), field, "an algorithm of the catalogue, or a C file", wanted.algorithm);
        Ok::<_, Error>(simulated)
    };
    let (mut flows, mut swaps) = (Vec::new(), Vec::new());
    for flow in &scenario.flows {
        flows.extend(simulated(format!("flow[{}].algorithm", flow.name), flow.wanted())?);
    }
    for swap in &scenario.swaps {
        swaps.extend(simulated(format!("swap[{}].algorithm", swap.flow), swap.wanted())?);
    }
    lacks.ensure(scenario.proxies.is_empty(), "proxy", "none", scenario.proxies.len());
    for (name, link) in scenario.links() {
        lacks.ensure(link.snoop.is_none(), format!("{name}.snoop"), "none", "an agent");
    }
    for flow in &scenario.flows {
        let field = |field: &str| format!("flow[{}].{field}", flow.name);
        lacks.ensure(!flow.is_mptcp(), field("paths"), "one path", flow.paths.join(", "));
        lacks.ensure(flow.command.is_none(), field("command"), "built-in traffic", "a command");
        let receive = flow.receive.as_deref().unwrap_or_default();
        lacks.ensure(receive.is_empty(), field("receive"), "a receiver that offers what is needed", receive);
    }
    let named = scenario.flows.iter().map(|flow: &FlowSpec| flow.name.as_str()).chain([ccactl_scenario::SERVER]);
    for name in named {
        let host = scenario.host(name);
        let field = |field: &str| format!("host.{name}.{field}");
        for sysctl in host.sysctl.keys() {
            lacks.ensure(sysctl == TCP_ECN, field("sysctl"), TCP_ECN, sysctl);
        }
    }
    Ok(lacks.none_or(NAME, Algorithms { flows, swaps })?)
}
