//! Hosts with a TUN device each, and the emulator between them.

use super::{Carried, Hosts, proxy};
use crate::emulator::{Access, Devices, Emulator, EmulatorReport, Shares, Topology, address};
use crate::error::Result;
use crate::host::netns::Netns;
use crate::host::run_id::RunId;
use crate::host::tun::{self, Tun};
use crate::host::{iproute, offload};
use ccactl_link::Nanos;
use ccactl_link::network::Way;
use ccactl_scenario::Scenario;
use std::net::Ipv4Addr;

/// Hosts with a running emulator between them.
pub struct Emulated {
    // The order of the fields is that of the removal: the emulator and its devices before the namespaces.
    emulator: Emulator,
    pub(super) hosts: Hosts,
    /// Names of the transmitters.
    links: Vec<(String, Way)>,
    carried_bps: u64,
}

impl Emulated {
    /// Makes it for run `run` (from 1) of a scenario.
    ///
    /// # Errors
    /// When the kernel refuses a namespace, a device, a setting or the emulator's thread.
    pub fn create(id: RunId, scenario: &Scenario, run: u32) -> Result<Emulated> {
        Emulated::with(id, scenario, Topology::of(scenario, run))
    }

    /// Makes it with a topology of the scenario that was changed, as in its tick.
    ///
    /// # Errors
    /// As [`create`](Emulated::create).
    pub fn with(id: RunId, scenario: &Scenario, topology: Topology) -> Result<Emulated> {
        Emulated::between(Hosts::create(id, scenario)?, scenario, topology)
    }

    /// The same path as new, between the same hosts.
    pub(super) fn renewed(self, scenario: &Scenario, run: u32) -> Result<Emulated> {
        let Emulated { emulator, hosts, .. } = self;
        // Its devices go with it, though not at once.
        drop(emulator);
        hosts.all().try_for_each(tun::wait_gone)?;
        Emulated::between(hosts, scenario, Topology::of(scenario, run))
    }

    fn between(hosts: Hosts, scenario: &Scenario, topology: Topology) -> Result<Emulated> {
        let cpus = std::thread::available_parallelism().map_or(1, usize::from);
        let shares = topology.shares(cpus);
        let mut devices = Vec::new();
        for thread in 0..shares.threads() {
            let host = |(i, access): (usize, &Access)| {
                let name = tun::device_name(access.device);
                let create = || Tun::create(&hosts.hosts[access.host], &name, address::host(i), topology.mtu);
                (shares.paths[i] == thread).then(create).transpose()
            };
            devices.push(Devices {
                hosts: topology.accesses.iter().enumerate().map(host).collect::<Result<_>>()?,
                server: server_device(&hosts.server, thread, &shares, topology.mtu)?,
                proxy: hosts.proxy.as_ref().map(|netns| proxy::devices(netns, topology.mtu)).transpose()?,
            });
        }
        hosts.set_up_devices(scenario)?;
        hosts.set_up_mptcp(scenario, &topology.accesses)?;
        let emulator = Emulator::start(devices, shares, &topology, scenario.duration.ns)?;
        let (links, carried_bps) = (topology.names, topology.carried_bps);
        Ok(Emulated { emulator, hosts, links, carried_bps })
    }

    /// The run begins at `t0`.
    pub fn set_origin(&self, t0: Nanos) {
        self.emulator.set_origin(t0);
    }

    /// Namespace of a host: those of the flows first, then those of the UDP sources.
    #[must_use]
    pub fn host(&self, index: usize) -> &Netns {
        &self.hosts.hosts[index]
    }

    /// Namespace of the server.
    #[must_use]
    pub fn server(&self) -> &Netns {
        &self.hosts.server
    }

    /// Stops the emulator; gives its report and the packets that the devices dropped.
    ///
    /// # Errors
    /// When the counters of a device cannot be read, or the emulator's thread has failed.
    pub fn stop(self) -> Result<(EmulatorReport, u64)> {
        let mut drops = 0;
        for host in self.hosts.all().chain(&self.hosts.proxy) {
            for device in offload::devices(host)? {
                drops += tun::dropped_packets(host, &device)?;
            }
        }
        Ok((self.emulator.finish()?, drops))
    }

    /// The same, as what any network did.
    pub(super) fn finish(self) -> Result<Carried> {
        let (links, carried_bps) = (self.links.clone(), self.carried_bps);
        let (report, drops) = self.stop()?;
        Ok(Carried::by_emulator(report, links, carried_bps, drops))
    }
}

/// The server's device towards the hosts of a thread. The first has the route to all, every further one a route to each of its own.
fn server_device(server: &Netns, thread: usize, shares: &Shares, mtu: u32) -> Result<Tun> {
    if thread == 0 {
        return Tun::create(server, tun::DEVICE, address::SERVER, mtu);
    }
    let name = tun::device_name(thread);
    let device = Tun::create_as(server, &name, (address::SERVER, Ipv4Addr::BROADCAST), mtu)?;
    for path in (0..shares.paths.len()).filter(|path| shares.paths[*path] == thread) {
        let line = format!("-n {} route add {}/32 dev {name}", server.name(), address::host(path));
        iproute::run("ip", &line.split(' ').map(str::to_owned).collect::<Vec<_>>())?;
    }
    Ok(device)
}
