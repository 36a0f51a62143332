//! A proxy's host: two devices, and routes that deliver to it what goes from one side to the other.

use crate::emulator::address;
use crate::error::Result;
use crate::host::netns::Netns;
use crate::host::tun::{self, Tun};
use crate::host::{iproute, offload};
use std::net::Ipv4Addr;

/// Towards the hosts, towards the server.
const DEVICES: [&str; 2] = [tun::DEVICE, "ccactl1"];
const ONE_ADDRESS: Ipv4Addr = Ipv4Addr::BROADCAST;
/// What comes in is looked up in a table that calls every address this host's; what the proxy sends is not.
const TABLE: &str = "100";

/// Makes them.
pub(super) fn devices(netns: &Netns, mtu: u32) -> Result<[Tun; 2]> {
    offload::no_ipv6(netns)?;
    let device = |side: usize| Tun::create_as(netns, DEVICES[side], (address::PROXY[side], ONE_ADDRESS), mtu);
    let devices = [device(0)?, device(1)?];
    let [near, far] = DEVICES;
    let [a, b, c, _] = address::host(0).octets();
    let server = address::SERVER;
    for line in [
        format!("route add {a}.{b}.{c}.0/24 dev {near}"),
        format!("route add {server}/32 dev {far}"),
        format!("rule add iif {near} lookup {TABLE}"),
        format!("rule add iif {far} lookup {TABLE}"),
        format!("route add local default dev lo table {TABLE}"),
    ] {
        let words = ["-n", netns.name()].into_iter().chain(line.split(' ')).map(str::to_owned);
        iproute::run("ip", &words.collect::<Vec<_>>())?;
    }
    Ok(devices)
}
