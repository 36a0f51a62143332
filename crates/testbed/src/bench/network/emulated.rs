//! Hosts with a TUN device each, and the emulator between them.

use super::{Carried, Hosts, proxy};
use crate::emulator::{Access, Devices, Emulator, EmulatorReport, Topology, address};
use crate::error::Result;
use crate::host::netns::Netns;
use crate::host::offload;
use crate::host::run_id::RunId;
use crate::host::tun::{self, Tun};
use ccactl_link::Nanos;
use ccactl_link::network::Way;
use ccactl_scenario::Scenario;

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
        Emulated::between(Hosts::create(id, scenario)?, scenario, run)
    }

    /// The same path as new, between the same hosts.
    pub(super) fn renewed(self, scenario: &Scenario, run: u32) -> Result<Emulated> {
        let Emulated { emulator, hosts, .. } = self;
        // Its devices go with it, though not at once.
        drop(emulator);
        hosts.all().try_for_each(tun::wait_gone)?;
        Emulated::between(hosts, scenario, run)
    }

    fn between(hosts: Hosts, scenario: &Scenario, run: u32) -> Result<Emulated> {
        let topology = Topology::of(scenario, run);
        let server = Tun::create(&hosts.server, tun::DEVICE, address::SERVER, topology.mtu)?;
        let device = |(i, access): (usize, &Access)| {
            let name = tun::device_name(access.device);
            Tun::create(&hosts.hosts[access.host], &name, address::host(i), topology.mtu)
        };
        let devices = topology.accesses.iter().enumerate().map(device).collect::<Result<Vec<_>>>()?;
        let proxy = hosts.proxy.as_ref().map(|netns| proxy::devices(netns, topology.mtu)).transpose()?;
        hosts.set_up_devices(scenario)?;
        hosts.set_up_mptcp(scenario, &topology.accesses)?;
        let (links, carried_bps) = (topology.names.clone(), topology.carried_bps);
        let emulator = Emulator::start(Devices { hosts: devices, server, proxy }, topology, scenario.duration.ns)?;
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
