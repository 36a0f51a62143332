//! Hosts with a TUN device each, and the emulator between them.

use super::{Carried, Hosts};
use crate::emulator::{Devices, Emulator, Topology, Way, address};
use crate::error::Result;
use crate::host::run_id::RunId;
use crate::host::tun::{self, Tun};
use ccactl_link::Nanos;
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
    pub fn create(id: RunId, scenario: &Scenario, run: u32) -> Result<Emulated> {
        let topology = Topology::of(scenario, run);
        let hosts = Hosts::create(id, scenario)?;
        let server = Tun::create(&hosts.server, address::SERVER, topology.mtu)?;
        let device = |(i, host)| Tun::create(host, address::host(i), topology.mtu);
        let devices = hosts.hosts.iter().enumerate().map(device).collect::<Result<Vec<_>>>()?;
        let (links, carried_bps) = (topology.names.clone(), topology.carried_bps);
        let emulator = Emulator::start(Devices { hosts: devices, server }, topology, scenario.duration.ns)?;
        Ok(Emulated { emulator, hosts, links, carried_bps })
    }

    /// The run begins at `t0`.
    pub fn set_origin(&self, t0: Nanos) {
        self.emulator.set_origin(t0);
    }

    /// Stops the emulator.
    pub fn finish(self) -> Result<Carried> {
        let drops = self.hosts.all().map(|host| tun::dropped_packets(host, tun::DEVICE)).sum::<Result<u64>>()?;
        Ok(Carried::by_emulator(self.emulator.finish()?, self.links, self.carried_bps, drops))
    }
}
