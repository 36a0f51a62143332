//! The topology of one run: a namespace per sender, one for the receiver, a device in each.

use crate::emulator::{Emulator, EmulatorReport, Port, address};
use crate::error::Result;
use crate::host::netns::Netns;
use crate::host::run_id::{PREFIX, RunId};
use crate::host::tun::{self, Tun};
use ccactl_scenario::{FlowSpec, LinkSpec, Scenario};

/// Ceiling of the socket buffers. Windows of the shipped scenarios are below 10 MB; it must never be the
/// buffers that limit a flow.
const TCP_MEMORY: &str = "4096 262144 67108864";

/// Settings of every namespace: what one run learns must not help the next, and buffers must not limit.
const SYSCTLS: &[(&str, &str)] = &[
    ("ipv4/tcp_no_metrics_save", "1"),
    ("ipv4/tcp_rmem", TCP_MEMORY),
    ("ipv4/tcp_wmem", TCP_MEMORY),
    ("ipv4/conf/all/rp_filter", "0"),
    ("ipv4/conf/default/rp_filter", "0"),
];

/// Namespaces with a running emulator between them.
pub struct Dumbbell {
    // The order of the fields is that of the removal: the emulator and its devices before the namespaces.
    emulator: Emulator,
    senders: Vec<Netns>,
    receiver: Netns,
}

impl Dumbbell {
    /// Makes it for run `run` (from 1) of a scenario.
    pub fn create(id: RunId, scenario: &Scenario, run: u32) -> Result<Dumbbell> {
        let link = &scenario.link;
        let receiver = namespace(id, "rx")?;
        let receiver_tun = Tun::create(&receiver, address::RECEIVER, link.mtu)?;
        let mut senders = Vec::new();
        let mut ports = Vec::new();
        for (i, flow) in scenario.flows.iter().enumerate() {
            let sender = namespace(id, &format!("tx{i}"))?;
            let tun = Tun::create(&sender, address::sender(i), link.mtu)?;
            ports.push(Port { tun, one_way: one_way_ns(link, flow) });
            senders.push(sender);
        }
        for i in scenario.flows.len()..scenario.flows.len() + scenario.udp.len() {
            let sender = namespace(id, &format!("tx{i}"))?;
            let tun = Tun::create(&sender, address::sender(i), link.mtu)?;
            ports.push(Port { tun, one_way: link.base_rtt.ns / 2 });
            senders.push(sender);
        }
        let emulator = Emulator::start(ports, receiver_tun, link, run)?;
        Ok(Dumbbell { emulator, senders, receiver })
    }

    /// Namespace of a sender: the flows first, then the UDP sources.
    pub fn sender(&self, index: usize) -> &Netns {
        &self.senders[index]
    }

    /// Namespace of the receiver.
    pub fn receiver(&self) -> &Netns {
        &self.receiver
    }

    /// Stops the emulator; gives its report and the packets that the devices dropped.
    pub fn finish(self) -> Result<(EmulatorReport, u64)> {
        let mut drops = tun::dropped_packets(&self.receiver)?;
        for sender in &self.senders {
            drops += tun::dropped_packets(sender)?;
        }
        Ok((self.emulator.finish()?, drops))
    }
}

/// Propagation delay of a flow in each direction.
fn one_way_ns(link: &LinkSpec, flow: &FlowSpec) -> u64 {
    (link.base_rtt.ns + flow.extra_rtt.ns) / 2
}

fn namespace(id: RunId, role: &str) -> Result<Netns> {
    let netns = Netns::create(format!("{PREFIX}-{id}-{role}"))?;
    for (path, value) in SYSCTLS {
        netns.sysctl(path, value)?;
    }
    Ok(netns)
}
