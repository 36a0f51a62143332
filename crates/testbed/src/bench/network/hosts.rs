//! The hosts of one run: a namespace for the server and for each flow and UDP source, whatever lies between them.

use crate::emulator::{Access, address};
use crate::error::{Error, Result};
use crate::host::netns::Netns;
use crate::host::run_id::{PREFIX, RunId};
use crate::host::{mptcp, offload, tun};
use ccactl_abi::EcnNeed;
use ccactl_loader::Ect1;
use ccactl_scenario::{FlowPath, FlowSpec, HostSpec, LinkSpec, SERVER, Scenario, SwapSpec, Wanted};

/// Ceiling of the socket buffers, at least.
const TCP_MEMORY_MAX: u64 = 64 << 20;
/// And at most: the kernel counts them in an int.
const TCP_MEMORY_LIMIT: u64 = 1 << 30;
/// A window is at most half of the receive buffer (`tcp_adv_win_scale`), and a buffer holds the packets' own memory as well.
const TCP_MEMORY_PER_BYTE: u64 = 4;
/// What a socket begins with.
pub const TCP_MEMORY_DEFAULT: u64 = 256 << 10;
const TCP_MEMORY_MIN: u64 = 4096;

/// Settings of every namespace: what one run learns must not help the next.
const SYSCTLS: &[(&str, &str)] =
    &[("ipv4/tcp_no_metrics_save", "1"), ("ipv4/conf/all/rp_filter", "0"), ("ipv4/conf/default/rp_filter", "0")];

/// Settings after a warm-up, whose purpose is that the run knows what it has learnt.
const REMEMBER: &[(&str, &str)] = &[("ipv4/tcp_no_metrics_save", "0"), ("ipv4/tcp_no_ssthresh_metrics_save", "0")];

/// Ceiling of the socket buffers of a scenario that does not say: unless it does, it must never be the buffers that limit a flow.
pub fn tcp_memory_max(scenario: &Scenario) -> u64 {
    let paths = scenario.flows.iter().flat_map(|flow| scenario.paths_of(flow));
    let needed = paths.map(|path| TCP_MEMORY_PER_BYTE.saturating_mul(held_bytes(scenario, &path))).max();
    needed.unwrap_or(0).min(TCP_MEMORY_LIMIT).next_power_of_two().max(TCP_MEMORY_MAX)
}

/// What a path holds when all its queues are full, in bytes on the wire: its narrowest link decides how much is on the way.
fn held_bytes(scenario: &Scenario, path: &FlowPath) -> u64 {
    let links = || path.links.iter().filter_map(|name| scenario.link_named(name));
    let narrowest_bps = links().map(|link| link.rate.bps).min().unwrap_or(0);
    let rtt_ns = scenario.path_rtt(path.links).ns.saturating_add(path.extra_rtt.ns);
    let on_the_way = u128::from(narrowest_bps) * u128::from(rtt_ns) / 8_000_000_000;
    links().map(LinkSpec::buffer_bytes).fold(on_the_way as u64, u64::saturating_add)
}

/// Namespaces of the hosts, without devices.
pub struct Hosts {
    /// Those of the flows first, then those of the UDP sources.
    pub hosts: Vec<Netns>,
    /// The common server.
    pub server: Netns,
    /// Of the proxy, if there is one.
    pub proxy: Option<Netns>,
}

impl Hosts {
    /// Makes them with their settings.
    pub fn create(id: RunId, scenario: &Scenario) -> Result<Hosts> {
        let namespace = |role: &str, name: &str| {
            let remember = if scenario.warm_up.is_some() { REMEMBER } else { &[] };
            namespace(id, role, remember, &scenario.host(name), tcp_memory_max(scenario))
        };
        let server = namespace("rx", SERVER)?;
        let proxy = scenario.proxies.first().map(|proxy| namespace("px", &proxy.name)).transpose()?;
        let hosts = names(scenario).enumerate().map(|(i, name)| namespace(&format!("tx{i}"), name));
        Ok(Hosts { hosts: hosts.collect::<Result<_>>()?, server, proxy })
    }

    /// What a scenario says about their devices, which are there by now.
    pub fn set_up_devices(&self, scenario: &Scenario) -> Result<()> {
        let limit = |netns: &Netns, name: &str| match scenario.host(name).gso_max_segs {
            Some(most) => offload::limit_segments(netns, most),
            None => Ok(()),
        };
        limit(&self.server, SERVER)?;
        self.hosts.iter().zip(names(scenario)).try_for_each(|(netns, name)| limit(netns, name))
    }

    /// Subflows of MPTCP flows: the server takes them, and a flow's host opens one on each further path.
    pub fn set_up_mptcp(&self, scenario: &Scenario, accesses: &[Access]) -> Result<()> {
        if !scenario.flows.iter().any(FlowSpec::is_mptcp) {
            return Ok(());
        }
        mptcp::allow_subflows(&self.server)?;
        for (netns, flow) in self.hosts.iter().zip(&scenario.flows) {
            if flow.is_mptcp() {
                mptcp::allow_subflows(netns)?;
            }
        }
        for (i, access) in accesses.iter().enumerate().filter(|(_, access)| access.device > 0) {
            mptcp::add_endpoint(&self.hosts[access.host], address::host(i), &tun::device_name(access.device))?;
        }
        Ok(())
    }

    /// L4S senders of every host send ECT(1), as long as the result lives.
    pub fn send_ect1(&self, scenario: &Scenario) -> Result<Vec<Ect1>> {
        let wanted = scenario.flows.iter().map(FlowSpec::wanted).chain(scenario.swaps.iter().map(SwapSpec::wanted));
        let needs_accecn = |wanted: Wanted<'_>| wanted.choice().is_ok_and(|choice| choice.ecn() == EcnNeed::Accurate);
        if !wanted.into_iter().any(needs_accecn) {
            return Ok(Vec::new());
        }
        let at_exits = |netns: &Netns| {
            let action = || format!("set a program at the exits of namespace {}", netns.name());
            netns.run(|| Ok(Ect1::in_this_namespace())).map_err(Error::system(action()))?.map_err(Error::Loader)
        };
        self.all().map(at_exits).collect()
    }

    /// All of them but the proxy's, which is not like the others.
    pub fn all(&self) -> impl Iterator<Item = &Netns> {
        self.hosts.iter().chain([&self.server])
    }
}

/// Of the flows, then of the UDP sources.
fn names(scenario: &Scenario) -> impl Iterator<Item = &str> {
    let flows = scenario.flows.iter().map(|flow| flow.name.as_str());
    flows.chain(scenario.udp.iter().map(|udp| udp.name.as_str()))
}

fn namespace(id: RunId, role: &str, remember: &[(&str, &str)], settings: &HostSpec, memory_max: u64) -> Result<Netns> {
    let netns = Netns::create(format!("{PREFIX}-{id}-{role}"))?;
    for (path, value) in SYSCTLS.iter().chain(remember) {
        netns.sysctl(path, value)?;
    }
    netns.sysctl("ipv4/tcp_rmem", &memory(settings.rcvbuf_max.unwrap_or(memory_max)))?;
    netns.sysctl("ipv4/tcp_wmem", &memory(settings.sndbuf_max.unwrap_or(memory_max)))?;
    // Last, so that a scenario has the last word.
    for (path, value) in &settings.sysctl {
        netns.sysctl(path, value)?;
    }
    Ok(netns)
}

/// Smallest, first and largest size of a buffer.
fn memory(max: u64) -> String {
    format!("{} {} {max}", TCP_MEMORY_MIN.min(max), TCP_MEMORY_DEFAULT.min(max))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ccactl_scenario::{SHIPPED, ScenarioFile};

    fn scenario(rate: &str, base_rtt: &str) -> Scenario {
        let text = format!(
            "duration = '1s'\n[link]\nrate = '{rate}'\nbase_rtt = '{base_rtt}'\nbuffer = '3bdp'\n[[flow]]\nname = 'a'\nalgorithm = 'reno'\n"
        );
        Scenario::parse("x.toml", &text).unwrap()
    }

    #[test]
    fn the_shipped_scenarios_have_what_they_always_had() {
        let files = SHIPPED.iter().map(|shipped| ScenarioFile::open(shipped.name, &[]).unwrap());
        for scenario in files.flat_map(|file| file.cells().iter().map(|cell| cell.scenario.clone()).collect::<Vec<_>>())
        {
            assert_eq!(tcp_memory_max(&scenario), TCP_MEMORY_MAX, "{}", scenario.name);
        }
    }

    #[test]
    fn buffers_of_sockets_hold_what_the_path_holds() {
        assert_eq!(tcp_memory_max(&scenario("100Mbit/s", "10ms")), 64 << 20);
        // 12.5 MB on the wire and 37.5 in the queue.
        assert_eq!(tcp_memory_max(&scenario("1000Mbit/s", "100ms")), 256 << 20);
        assert_eq!(tcp_memory_max(&scenario("10000Mbit/s", "100ms")), 1 << 30);
    }
}
