//! TUN devices: the two ends of the emulated path, as IPv4 packets behind a virtio header.

use super::netns::Netns;
use super::{offload, qdisc};
use crate::error::{Error, Result};
use libc::{c_int, c_short, c_ulong};
use std::fs::{File, OpenOptions};
use std::io::{self, IoSlice, Read, Write};
use std::net::Ipv4Addr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::time::{Duration, Instant};

/// Packets between the kernel and the emulator, in the device's ring. The ring is emptied at every wake-up;
/// only a burst of a whole window must fit.
const RING_PACKETS: c_int = 20_000;

/// Network of the testbed, inside its own namespaces only.
const NETMASK: Ipv4Addr = Ipv4Addr::new(255, 255, 0, 0);

/// `TUNSETOFFLOAD` and `TUN_F_CSUM`, `TUN_F_TSO4`, `TUN_F_TSO_ECN` (`linux/if_tun.h`): the kernel leaves checksums to the device,
/// and to cut TCP segments.
const TUNSETOFFLOAD: c_ulong = 0x4004_54d0;
const OFFLOADS: c_ulong = 0x01 | 0x02 | 0x08;

/// Name of the first device in each namespace.
pub const DEVICE: &str = "ccactl0";

/// Name of a device in a namespace, from 0: a host has one for each of its paths.
#[must_use]
pub fn device_name(number: usize) -> String {
    format!("ccactl{number}")
}

/// How long a device may outlive its last user.
const GONE_WITHIN: Duration = Duration::from_secs(5);

/// A TUN device; it goes away when this value does.
#[derive(Debug)]
pub struct Tun {
    file: File,
    namespace: String,
}

impl Tun {
    /// Makes a device in `netns` with an address, brings it and the loopback up.
    pub fn create(netns: &Netns, device: &str, address: Ipv4Addr, mtu: u32) -> Result<Tun> {
        offload::no_ipv6(netns)?;
        Tun::create_as(netns, device, (address, NETMASK), mtu)
    }

    /// The same with the address of a network of its own, and without a word on IPv6.
    pub fn create_as(netns: &Netns, device: &str, (address, mask): (Ipv4Addr, Ipv4Addr), mtu: u32) -> Result<Tun> {
        let file = netns
            .run(|| {
                let file = open_device(device)?;
                let control = control_socket()?;
                let fd = control.as_fd();
                set_int(fd, device, libc::SIOCSIFMTU, mtu as c_int)?;
                set_int(fd, device, libc::SIOCSIFTXQLEN, RING_PACKETS)?;
                set_address(fd, device, libc::SIOCSIFADDR, address)?;
                set_address(fd, device, libc::SIOCSIFNETMASK, mask)?;
                bring_up(fd, device)?;
                bring_up(fd, "lo")?;
                // Whatever the host's default is: no second queue with a mind of its own, no pacing below TCP.
                qdisc::set_root_pfifo(device, RING_PACKETS as u32)?;
                Ok(file)
            })
            .map_err(Error::system(format!("create TUN device {device} in namespace {}", netns.name())))?;
        Ok(Tun { file, namespace: netns.name().to_owned() })
    }

    /// One frame from the kernel (`struct virtio_net_hdr`, then the packet or a TCP segment to be cut), or `None` when there is
    /// none now.
    pub fn receive(&self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        match (&self.file).read(buffer) {
            Ok(length) => Ok(Some(length)),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Gives one frame to the kernel, in parts.
    pub fn send(&self, parts: &[IoSlice<'_>]) -> io::Result<()> {
        (&self.file).write_vectored(parts).map(|_| ())
    }

    /// The kernel cuts and sums from now on before it hands frames over, and takes them as before.
    #[cfg(test)]
    pub fn refuse_offloads(&self) -> io::Result<()> {
        offer(self.file.as_fd(), 0)
    }

    /// Namespace of the device.
    #[must_use]
    pub fn namespace(&self) -> &str {
        &self.namespace
    }
}

impl AsFd for Tun {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

/// Waits until the devices that were dropped have left `netns`, which has no others: a process that this one is just starting has its descriptor too,
/// until it executes its program.
pub fn wait_gone(netns: &Netns) -> Result<()> {
    let until = Instant::now() + GONE_WITHIN;
    while let Some(device) = offload::devices(netns)?.first() {
        if Instant::now() > until {
            let still_there = io::Error::from(io::ErrorKind::ResourceBusy);
            return Err(Error::system(format!("remove TUN device {device} of namespace {}", netns.name()))(
                still_there,
            ));
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    Ok(())
}

/// Packets that a device in `netns` dropped, both directions (`/proc/net/dev`).
pub fn dropped_packets(netns: &Netns, device: &str) -> Result<u64> {
    let counted = || {
        let table = std::fs::read_to_string("/proc/thread-self/net/dev")?;
        let drops = table.lines().find_map(|line| parse_drops(line, device));
        // A run without this count must not pass for one without drops.
        drops
            .ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, format!("no counters of {device} in /proc/net/dev")))
    };
    netns.run(counted).map_err(Error::system(format!("read device counters in namespace {}", netns.name())))
}

/// Received and transmitted drops are columns 4 and 12 after the name.
fn parse_drops(line: &str, device: &str) -> Option<u64> {
    let counters = line.trim_start().strip_prefix(device)?.strip_prefix(':')?;
    let counters: Vec<u64> = counters.split_whitespace().map_while(|word| word.parse().ok()).collect();
    Some(counters.get(3)? + counters.get(11)?)
}

fn open_device(device: &str) -> io::Result<File> {
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .custom_flags(libc::O_NONBLOCK | libc::O_CLOEXEC)
        .open("/dev/net/tun")?;
    let mut request = request_for(device);
    request.ifr_ifru.ifru_flags = (libc::IFF_TUN | libc::IFF_NO_PI | libc::IFF_VNET_HDR) as c_short;
    ioctl(file.as_fd(), libc::TUNSETIFF, &request)?;
    offer(file.as_fd(), OFFLOADS)?;
    Ok(file)
}

fn offer(device: BorrowedFd<'_>, offloads: c_ulong) -> io::Result<()> {
    // SAFETY: TUNSETOFFLOAD takes its flags by value.
    let result = unsafe { libc::ioctl(device.as_raw_fd(), TUNSETOFFLOAD, offloads) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

fn control_socket() -> io::Result<std::os::fd::OwnedFd> {
    use nix::sys::socket::{AddressFamily, SockFlag, SockType, socket};
    Ok(socket(AddressFamily::Inet, SockType::Datagram, SockFlag::SOCK_CLOEXEC, None)?)
}

fn request_for(device: &str) -> libc::ifreq {
    // SAFETY: ifreq is a plain C struct for which all zeroes is a valid value.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(device.bytes()) {
        *to = from.cast_signed();
    }
    request
}

fn ioctl(fd: BorrowedFd<'_>, operation: c_ulong, request: &libc::ifreq) -> io::Result<()> {
    // SAFETY: every operation used here takes a pointer to an ifreq, which outlives the call. The kernel may
    // write the name back; the caller does not read it again.
    let result = unsafe { libc::ioctl(fd.as_raw_fd(), operation, std::ptr::from_ref(request)) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

fn set_int(fd: BorrowedFd<'_>, device: &str, operation: c_ulong, value: c_int) -> io::Result<()> {
    let mut request = request_for(device);
    // MTU and queue length share the place of the first integer of the union.
    request.ifr_ifru.ifru_mtu = value;
    ioctl(fd, operation, &request)
}

fn set_address(fd: BorrowedFd<'_>, device: &str, operation: c_ulong, address: Ipv4Addr) -> io::Result<()> {
    let mut request = request_for(device);
    let [a, b, c, d] = address.octets().map(u8::cast_signed);
    let mut sockaddr = libc::sockaddr { sa_family: libc::AF_INET as libc::sa_family_t, sa_data: [0; 14] };
    // struct sockaddr_in: two bytes of port, then the address.
    sockaddr.sa_data[2..6].copy_from_slice(&[a, b, c, d]);
    request.ifr_ifru.ifru_addr = sockaddr;
    ioctl(fd, operation, &request)
}

fn bring_up(fd: BorrowedFd<'_>, device: &str) -> io::Result<()> {
    let mut request = request_for(device);
    request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as c_short;
    ioctl(fd, libc::SIOCSIFFLAGS, &request)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drops_of_both_directions_are_added() {
        let line = "ccactl0: 100 10 0 3 0 0 0 0 200 20 0 4 0 0 0 0";
        assert_eq!(parse_drops(line, DEVICE), Some(7));
        assert_eq!(parse_drops("    lo: 0 0 0 9 0 0 0 0 0 0 0 9 0 0 0 0", DEVICE), None);
        assert_eq!(parse_drops("Inter-|   Receive", DEVICE), None);
    }
}
