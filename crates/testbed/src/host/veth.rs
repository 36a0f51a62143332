//! Two network namespaces joined by a veth pair, with IPv4 and IPv6: the shortest path on which connections leave their host.

use super::netlink::{Request, link_header};
use super::netns::Netns;
use super::qdisc;
use super::run_id::{PREFIX, RunId};
use crate::error::{Error, Result};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::fd::{AsFd, AsRawFd};

/// Name of the device in both namespaces.
pub const DEVICE: &str = "ccactl0";

/// Addresses at the end that connects, IPv4 and IPv6.
pub const CLIENT: [IpAddr; 2] =
    [IpAddr::V4(Ipv4Addr::new(10, 199, 0, 1)), IpAddr::V6(Ipv6Addr::new(0xfd00, 0xcca, 0, 0, 0, 0, 0, 1))];

/// Addresses at the end that listens, IPv4 and IPv6.
pub const SERVER: [IpAddr; 2] =
    [IpAddr::V4(Ipv4Addr::new(10, 199, 0, 2)), IpAddr::V6(Ipv6Addr::new(0xfd00, 0xcca, 0, 0, 0, 0, 0, 2))];

/// `struct veth` of `linux/veth.h`: the other end is described in this attribute.
const VETH_INFO_PEER: u16 = 1;
/// No duplicate address detection: the address is usable at once.
const IFA_F_NODAD: u8 = 0x02;
const IPV4_PREFIX_BITS: u8 = 24;
const IPV6_PREFIX_BITS: u8 = 64;

/// The pair; both namespaces go away with this value.
#[derive(Debug)]
pub struct VethPair {
    /// Where connections begin.
    pub client: Netns,
    /// Where they are accepted.
    pub server: Netns,
}

impl VethPair {
    /// Makes pair number `index` of a run, both ends up.
    ///
    /// # Errors
    /// What the kernel refuses.
    pub fn create(id: RunId, index: usize) -> Result<Self> {
        let client = Netns::create(format!("{PREFIX}-{id}-c{index}"))?;
        let server = Netns::create(format!("{PREFIX}-{id}-s{index}"))?;
        let action = || format!("join the namespaces {} and {} by a veth pair", client.name(), server.name());
        client.run(|| create_devices(&server)).map_err(Error::system(action()))?;
        client.run(|| bring_up(CLIENT)).map_err(Error::system(action()))?;
        server.run(|| bring_up(SERVER)).map_err(Error::system(action()))?;
        Ok(Self { client, server })
    }

    /// Makes both directions a bottleneck: see [`qdisc::set_root_tbf`].
    ///
    /// # Errors
    /// What the kernel refuses; `ENOENT` when it has no token bucket (`CONFIG_NET_SCH_TBF`).
    pub fn limit(&self, rate_bytes_per_s: u32, burst_bytes: u32, limit_bytes: u32) -> Result<()> {
        for end in [&self.client, &self.server] {
            end.run(|| qdisc::set_root_tbf(DEVICE, rate_bytes_per_s, burst_bytes, limit_bytes))
                .map_err(Error::system(format!("set a token bucket on {DEVICE} in namespace {}", end.name())))?;
        }
        Ok(())
    }
}

fn create_devices(peer: &Netns) -> io::Result<()> {
    let name = device_name();
    Request::new(libc::RTM_NEWLINK, libc::NLM_F_CREATE | libc::NLM_F_EXCL, &link_header(0, 0))
        .attribute(libc::IFLA_IFNAME, &name)
        .nested(libc::IFLA_LINKINFO, |info| {
            info.attribute(libc::IFLA_INFO_KIND, b"veth\0").nested(libc::IFLA_INFO_DATA, |data| {
                data.nested(VETH_INFO_PEER, |other| {
                    other
                        .raw(&link_header(0, 0))
                        .attribute(libc::IFLA_IFNAME, &name)
                        .attribute(libc::IFLA_NET_NS_FD, &peer.as_fd().as_raw_fd().to_ne_bytes())
                })
            })
        })
        .send()
}

fn bring_up(addresses: [IpAddr; 2]) -> io::Result<()> {
    let index = nix::net::if_::if_nametoindex(DEVICE)?;
    for address in addresses {
        let (family, prefix_bits, bytes) = match address {
            IpAddr::V4(address) => (libc::AF_INET, IPV4_PREFIX_BITS, address.octets().to_vec()),
            IpAddr::V6(address) => (libc::AF_INET6, IPV6_PREFIX_BITS, address.octets().to_vec()),
        };
        // struct ifaddrmsg: family, prefix length, flags, scope, index.
        let mut header = vec![family as u8, prefix_bits, IFA_F_NODAD, 0];
        header.extend(index.to_ne_bytes());
        Request::new(libc::RTM_NEWADDR, libc::NLM_F_CREATE | libc::NLM_F_EXCL, &header)
            .attribute(libc::IFA_LOCAL, &bytes)
            .attribute(libc::IFA_ADDRESS, &bytes)
            .send()?;
    }
    let up = libc::IFF_UP as u32;
    Request::new(libc::RTM_NEWLINK, 0, &link_header(index, up)).send()?;
    let loopback = nix::net::if_::if_nametoindex("lo")?;
    Request::new(libc::RTM_NEWLINK, 0, &link_header(loopback, up)).send()
}

fn device_name() -> Vec<u8> {
    let mut name = DEVICE.as_bytes().to_vec();
    name.push(0);
    name
}
