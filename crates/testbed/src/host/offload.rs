//! Devices of a namespace that carry single packets of IPv4 and nothing else.

use super::netlink::{self, Request};
use super::netns::Netns;
use crate::error::{Error, Result};
use nix::sys::socket::{AddressFamily, SockFlag, SockType, socket};
use std::io;
use std::os::fd::AsRawFd;

/// `ETHTOOL_STSO` and `ETHTOOL_SGRO` of `linux/ethtool.h`: segmentation by the device, and bundling by the receiver.
const OFFLOADS: [u32; 2] = [0x1f, 0x2c];

/// `struct ethtool_value`.
#[repr(C)]
struct Setting {
    command: u32,
    value: u32,
}

/// Names of the devices of a namespace, without its loopback.
pub fn devices(netns: &Netns) -> Result<Vec<String>> {
    let table = netns
        .run(|| std::fs::read_to_string("/proc/thread-self/net/dev"))
        .map_err(Error::system(format!("list the devices of namespace {}", netns.name())))?;
    let names = table.lines().filter_map(|line| Some(line.split_once(':')?.0.trim().to_owned()));
    Ok(names.filter(|name| name != "lo").collect())
}

/// Keeps the kernel from bundling packets on any device of the namespace.
pub fn single_packets(netns: &Netns) -> Result<()> {
    for device in devices(netns)? {
        netns
            .run(|| OFFLOADS.into_iter().try_for_each(|command| set(&device, Setting { command, value: 0 })))
            .map_err(Error::system(format!("turn off offloads of {device} in namespace {}", netns.name())))?;
    }
    Ok(())
}

/// The most segments that a sender of the namespace hands to a device at once; the connections to come learn it from their route.
pub fn limit_segments(netns: &Netns, most: u32) -> Result<()> {
    for device in devices(netns)? {
        let limit = || {
            let header = netlink::link_header(nix::net::if_::if_nametoindex(device.as_str())?, 0);
            let request = Request::new(libc::RTM_NEWLINK, 0, &header);
            request.attribute(libc::IFLA_GSO_MAX_SEGS, &most.to_ne_bytes()).send()
        };
        let action = || format!("limit {device} in namespace {} to {most} segments at once", netns.name());
        netns.run(limit).map_err(Error::system(action()))?;
    }
    Ok(())
}

/// To be called before devices are up: from then on they would send neighbour and router solicitations.
pub fn no_ipv6(netns: &Netns) -> Result<()> {
    const SWITCH: &str = "/proc/sys/net/ipv6/conf/all/disable_ipv6";
    const NEW_DEVICES: &str = "/proc/sys/net/ipv6/conf/default/disable_ipv6";
    let off = |path| {
        let missing_is_off = |e: io::Error| if e.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(e) };
        std::fs::write(path, "1").or_else(missing_is_off)
    };
    netns
        .run(|| off(SWITCH).and_then(|()| off(NEW_DEVICES)))
        .map_err(Error::system(format!("turn off IPv6 in namespace {}", netns.name())))
}

fn set(device: &str, mut setting: Setting) -> io::Result<()> {
    let control = socket(AddressFamily::Inet, SockType::Datagram, SockFlag::SOCK_CLOEXEC, None)?;
    // SAFETY: ifreq is a plain C struct for which all zeroes is a valid value.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(device.bytes()) {
        *to = from.cast_signed();
    }
    request.ifr_ifru.ifru_data = (&raw mut setting).cast();
    // SAFETY: SIOCETHTOOL takes an ifreq whose data is an ethtool_value for these two commands; both outlive the call.
    let result = unsafe { libc::ioctl(control.as_raw_fd(), libc::SIOCETHTOOL, &raw const request) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
