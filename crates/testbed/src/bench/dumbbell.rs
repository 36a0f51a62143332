//! The hosts of one run: a namespace with a device for the server and for each flow and UDP source, and the emulator between them.

use crate::emulator::{Devices, Emulator, EmulatorReport, Topology, Way, address};
use crate::error::Result;
use crate::host::netns::Netns;
use crate::host::run_id::{PREFIX, RunId};
use crate::host::tun::{self, Tun};
use ccactl_link::Nanos;
use ccactl_scenario::{HostSpec, SERVER, Scenario};

/// Ceiling of the socket buffers. Windows of the shipped scenarios are below 10 MB; unless a scenario says so it must never be
/// the buffers that limit a flow.
const TCP_MEMORY_MAX: u64 = 64 << 20;
/// What a socket begins with.
const TCP_MEMORY_DEFAULT: u64 = 256 << 10;
const TCP_MEMORY_MIN: u64 = 4096;

/// Settings of every namespace: what one run learns must not help the next.
const SYSCTLS: &[(&str, &str)] =
    &[("ipv4/tcp_no_metrics_save", "1"), ("ipv4/conf/all/rp_filter", "0"), ("ipv4/conf/default/rp_filter", "0")];

/// Hosts with a running emulator between them.
pub struct Dumbbell {
    // The order of the fields is that of the removal: the emulator and its devices before the namespaces.
    emulator: Emulator,
    hosts: Vec<Netns>,
    server: Netns,
    /// Names of the transmitters.
    pub links: Vec<(String, Way)>,
    /// Highest rate at which packets can come through for long, in bit/s.
    pub carried_bps: u64,
}

impl Dumbbell {
    /// Makes it for run `run` (from 1) of a scenario.
    ///
    /// # Errors
    /// When the kernel refuses a namespace, a device, a setting or the emulator's thread.
    pub fn create(id: RunId, scenario: &Scenario, run: u32) -> Result<Dumbbell> {
        let topology = Topology::of(scenario, run);
        let server = namespace(id, "rx", &scenario.host(SERVER))?;
        let server_device = Tun::create(&server, address::SERVER, topology.mtu)?;
        let names = scenario.flows.iter().map(|flow| &flow.name).chain(scenario.udp.iter().map(|udp| &udp.name));
        let mut hosts = Vec::new();
        let mut devices = Vec::new();
        for (i, name) in names.enumerate() {
            let host = namespace(id, &format!("tx{i}"), &scenario.host(name))?;
            devices.push(Tun::create(&host, address::host(i), topology.mtu)?);
            hosts.push(host);
        }
        let (links, carried_bps) = (topology.names.clone(), topology.carried_bps);
        let devices = Devices { hosts: devices, server: server_device };
        let emulator = Emulator::start(devices, topology, scenario.duration.ns)?;
        Ok(Dumbbell { emulator, hosts, server, links, carried_bps })
    }

    /// Namespace of a host: those of the flows first, then those of the UDP sources.
    #[must_use]
    pub fn host(&self, index: usize) -> &Netns {
        &self.hosts[index]
    }

    /// Namespace of the server.
    #[must_use]
    pub fn server(&self) -> &Netns {
        &self.server
    }

    /// The run begins at `t0`.
    pub fn set_origin(&self, t0: Nanos) {
        self.emulator.set_origin(t0);
    }

    /// Stops the emulator; gives its report and the packets that the devices dropped.
    ///
    /// # Errors
    /// When the counters of a device cannot be read, or the emulator's thread has failed.
    pub fn finish(self) -> Result<(EmulatorReport, u64)> {
        let mut drops = tun::dropped_packets(&self.server)?;
        for host in &self.hosts {
            drops += tun::dropped_packets(host)?;
        }
        Ok((self.emulator.finish()?, drops))
    }
}

fn namespace(id: RunId, role: &str, settings: &HostSpec) -> Result<Netns> {
    let netns = Netns::create(format!("{PREFIX}-{id}-{role}"))?;
    for (path, value) in SYSCTLS {
        netns.sysctl(path, value)?;
    }
    netns.sysctl("ipv4/tcp_rmem", &memory(settings.rcvbuf_max))?;
    netns.sysctl("ipv4/tcp_wmem", &memory(settings.sndbuf_max))?;
    // Last, so that a scenario has the last word.
    for (path, value) in &settings.sysctl {
        netns.sysctl(path, value)?;
    }
    Ok(netns)
}

/// Smallest, first and largest size of a buffer.
fn memory(max: Option<u64>) -> String {
    let max = max.unwrap_or(TCP_MEMORY_MAX);
    format!("{} {} {max}", TCP_MEMORY_MIN.min(max), TCP_MEMORY_DEFAULT.min(max))
}
