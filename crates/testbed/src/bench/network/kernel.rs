//! Hosts joined by veth pairs and routers, with queue disciplines inside the kernel: the plan of [`crate::netem`] carried out.

use super::counters::{self, Counted};
use super::in_bpf;
use super::{Carried, Hosts, TransmitterResult};
use crate::emulator::{Topology, address};
use crate::error::{Error, Result};
use crate::host::netns::Netns;
use crate::host::run_id::{PREFIX, RunId};
use crate::host::{iproute, offload, tun};
use crate::netem::{Addresses, Direction, Node, Plan, Transmitter, Watched, bpf_config};
use ccactl_link::Capacity;
use ccactl_link::network::{Histogram, LinkCounters, Way};
use ccactl_loader::LinkQueue;
use ccactl_scenario::{LINK, Scenario};
use std::collections::BTreeMap;

/// Settings of a namespace that forwards.
const ROUTER_SYSCTLS: &[(&str, &str)] =
    &[("ipv4/ip_forward", "1"), ("ipv4/conf/all/rp_filter", "0"), ("ipv4/conf/default/rp_filter", "0")];

/// The network; its devices go away with the namespaces.
pub struct Kernel {
    plan: Plan,
    carried_bps: u64,
    pub(super) hosts: Hosts,
    routers: BTreeMap<Node, Netns>,
    /// Towards the server and from it, if they are in BPF.
    queues: Vec<LinkQueue>,
}

/// The plan of a scenario with the addresses of the testbed.
pub fn plan(scenario: &Scenario, transmitter: Transmitter<'_>) -> Result<Plan> {
    let hosts = (0..scenario.flows.len() + scenario.udp.len()).map(address::host).collect();
    Ok(Plan::of(scenario, &Addresses { hosts, server: address::SERVER }, transmitter)?)
}

impl Kernel {
    /// Makes it with the kernel's own disciplines; what it lacks of them was found out by [`super::Backend::check`].
    pub fn create(id: RunId, scenario: &Scenario) -> Result<Kernel> {
        Kernel::carry_out(id, scenario, plan(scenario, Transmitter::TokenBucket)?, Vec::new())
    }

    /// The same with the bottleneck in BPF.
    pub fn create_in_bpf(id: RunId, scenario: &Scenario) -> Result<Kernel> {
        let link = &scenario.link;
        let names = ["u", "d"].map(|way| format!("ccl{}{way}", id.short()));
        let capacities = [link.capacity(), link.down_capacity()];
        let ways = if link.duplex { 2 } else { 1 };
        let register = |(name, capacity): (&String, Capacity)| {
            LinkQueue::register(name, &bpf_config(link, capacity)).map_err(Error::Loader)
        };
        let queues = names.iter().zip(capacities).take(ways).map(register).collect::<Result<_>>()?;
        let plan = plan(scenario, Transmitter::Bpf(names.each_ref().map(String::as_str)))?;
        Kernel::carry_out(id, scenario, plan, queues)
    }

    fn carry_out(id: RunId, scenario: &Scenario, plan: Plan, queues: Vec<LinkQueue>) -> Result<Kernel> {
        let hosts = Hosts::create(id, scenario)?;
        let router = |node: Node| {
            let netns = Netns::create(format!("{PREFIX}-{id}-{node}"))?;
            ROUTER_SYSCTLS.iter().try_for_each(|(path, value)| netns.sysctl(path, value))?;
            Ok((node, netns))
        };
        let routers = Node::ROUTERS.into_iter().map(router).collect::<Result<BTreeMap<_, _>>>()?;
        let carried_bps = Topology::of(scenario, 1).carried_bps;
        let network = Kernel { plan, carried_bps, hosts, routers, queues };
        network.namespaces().try_for_each(offload::no_ipv6)?;
        for line in &network.plan.lines {
            iproute::run(line.tool.program(), &line.arguments(|node| network.namespace(node).name().to_owned()))?;
        }
        // A queue holds packets, not bundles of them: the sending host segments before it gives them out.
        network.namespaces().try_for_each(offload::single_packets)?;
        network.hosts.set_up_devices(scenario)?;
        Ok(network)
    }

    fn namespaces(&self) -> impl Iterator<Item = &Netns> {
        self.hosts.all().chain(self.routers.values())
    }

    fn namespace(&self, node: Node) -> &Netns {
        match node {
            Node::Host(number) => &self.hosts.hosts[number],
            Node::Server => &self.hosts.server,
            Node::Access | Node::Near | Node::Far => &self.routers[&node],
        }
    }

    /// Reads what the queue disciplines counted.
    pub fn finish(self) -> Result<Carried> {
        let ways = [(&self.plan.up, Way::Up)].into_iter().chain(self.plan.down.as_ref().map(|down| (down, Way::Down)));
        let mut late = Histogram::new();
        let mut transmitters = Vec::new();
        let mut device_drops = self.device_drops()?;
        for (number, (direction, way)) in ways.enumerate() {
            let Some(queue) = self.queues.get(number) else {
                transmitters.push(self.transmitter(direction, way)?);
                continue;
            };
            let state = queue.state().map_err(Error::Loader)?;
            let lost_packets = self.lost_packets(direction)?;
            transmitters.push(in_bpf::transmitter(&state, way, lost_packets));
            late.merge(&in_bpf::times(&state.lateness));
            device_drops += state.without_slot_packets;
        }
        let lateness = (!self.queues.is_empty()).then(|| late.lateness());
        Ok(Carried {
            transmitters,
            device_drops,
            lateness,
            carried_bps: self.carried_bps,
            flows: Vec::new(),
            series: Vec::new(),
            inside_packets: None,
            emulator: None,
        })
    }

    fn transmitter(&self, direction: &Direction, way: Way) -> Result<TransmitterResult> {
        let counted = self.counted(&direction.transmitter)?;
        let lost_packets = self.lost_packets(direction)?;
        let counters = LinkCounters {
            offered_packets: counted.offered_packets(),
            delivered_packets: counted.sent_packets.saturating_sub(lost_packets),
            sent_wire_bytes: counted.sent_bytes,
            dropped_full_packets: counted.dropped_full_packets,
            dropped_early_packets: counted.dropped_early_packets,
            marked_packets: counted.marked_packets,
            lost_packets,
            lost_wireless_packets: 0,
            queued_packets: counted.queued_packets,
        };
        Ok(TransmitterResult {
            link: LINK.to_owned(),
            way,
            counters,
            queue: None,
            ecn: Default::default(),
            planned_rate_bps: None,
            snoop: None,
        })
    }

    /// Those that netem lost.
    fn lost_packets(&self, direction: &Direction) -> Result<u64> {
        let wire = direction.wire.as_ref().map(|wire| self.counted(wire)).transpose()?;
        Ok(wire.map_or(0, |wire| wire.dropped_full_packets + wire.dropped_early_packets))
    }

    fn counted(&self, watched: &Watched) -> Result<Counted> {
        let namespace = self.namespace(watched.node).name();
        let arguments = ["-n", namespace, "-s", "-j", "qdisc", "show", "dev", &watched.device].map(str::to_owned);
        let text = iproute::run("tc", &arguments)?;
        counters::parse(&text).map_err(|found| Error::Command {
            line: format!("tc {}", arguments.join(" ")),
            expected: "the counters of a queue discipline in JSON",
            found,
        })
    }

    /// Of all cables: their queues are to drop, their devices are not.
    fn device_drops(&self) -> Result<u64> {
        let mut drops = 0;
        for netns in self.namespaces() {
            for device in offload::devices(netns)? {
                drops += tun::dropped_packets(netns, &device)?;
            }
        }
        Ok(drops)
    }
}
