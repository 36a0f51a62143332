//! The forwarding loop: packets from the TUN devices through the network in virtual time, and to the devices when they are due.
//! Nothing here allocates once the loop runs.

use super::Troubles;
use super::address;
use super::ecn;
use super::header::Header;
use super::pool::{Packet, Pool};
use super::rate_meter::Pace;
use super::tcp;
use crate::clock;
use crate::host::tun::Tun;
use ccactl_link::Nanos;
use ccactl_link::network::{Event, Histogram, Network, Transit, Way};
use std::os::fd::{AsFd, AsRawFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// Above this rate a wake-up per packet costs more than it gives: packets are handled in ticks.
const TICK_ABOVE_BPS: u64 = 100_000_000;
const TICK: Nanos = 50_000;
/// The stop flag is looked at this often when no packet comes.
const IDLE: Nanos = 20_000_000;
/// Packets taken from one device before others get their turn.
const BATCH: usize = 64;

/// What others tell the loop while it runs.
#[derive(Debug, Clone, Default)]
pub struct Controls {
    /// Ends the loop.
    pub stop: Arc<AtomicBool>,
    /// Beginning of the run; 0 until it is known.
    pub origin: Arc<AtomicU64>,
}

/// The devices of all hosts.
pub struct Devices {
    /// One per path.
    pub hosts: Vec<Tun>,
    /// The server's.
    pub server: Tun,
    /// Of a proxy on the way: towards the hosts, towards the server.
    pub proxy: Option<[Tun; 2]>,
}

/// Whose device it is.
#[derive(Debug, Clone, Copy)]
enum Place {
    /// The host's of a path.
    Host(usize),
    Server,
    /// The proxy's, towards the hosts.
    ProxyNear,
    /// The proxy's, towards the server.
    ProxyFar,
}

/// Everything that the loop touches.
pub struct Engine {
    devices: Devices,
    /// All of them.
    places: Vec<Place>,
    /// By host, the path on which its packets go on behind a proxy.
    beyond: Vec<Option<usize>>,
    network: Network<Packet>,
    tick: bool,
    pool: Pool,
    /// All devices, for `ppoll`.
    descriptors: Vec<libc::pollfd>,
    origin: Nanos,
    pub(super) troubles: Troubles,
    /// Packets for an address that nobody has.
    pub(super) stray_packets: u64,
    pub(super) lateness: Histogram,
    /// Of the bottleneck, to the server and from it.
    pub(super) paces: [Pace; 2],
}

impl Devices {
    fn at(&self, place: Place) -> &Tun {
        let of_proxy = || self.proxy.as_ref().expect("only paths of a proxy lead there");
        match place {
            Place::Host(path) => &self.hosts[path],
            Place::Server => &self.server,
            Place::ProxyNear => &of_proxy()[0],
            Place::ProxyFar => &of_proxy()[1],
        }
    }
}

impl Engine {
    /// Allocates and touches everything. `beyond` is [`Topology::beyond`](super::Topology::beyond), `carried_bps` the highest
    /// rate at which packets can come through for long, `mtu` that of the devices, `slots` how many packets have room.
    pub fn new(
        devices: Devices,
        network: Network<Packet>,
        beyond: Vec<Option<usize>>,
        carried_bps: u64,
        mtu: u32,
        slots: usize,
    ) -> Self {
        let all = devices.hosts.iter().chain([&devices.server]).chain(devices.proxy.iter().flatten());
        let of_proxy = devices.proxy.iter().flat_map(|_| [Place::ProxyNear, Place::ProxyFar]);
        let places = (0..devices.hosts.len()).map(Place::Host).chain([Place::Server]).chain(of_proxy).collect();
        let descriptors = all
            .map(|device| libc::pollfd { fd: device.as_fd().as_raw_fd(), events: libc::POLLIN, revents: 0 })
            .collect();
        Engine {
            devices,
            places,
            beyond,
            network,
            tick: carried_bps > TICK_ABOVE_BPS,
            pool: Pool::new(slots, (mtu as usize).next_multiple_of(64)),
            descriptors,
            origin: 0,
            troubles: Troubles::default(),
            stray_packets: 0,
            lateness: Histogram::new(),
            paces: [Pace::default(); 2],
        }
    }

    /// Forwards until it is told to stop.
    pub fn run(&mut self, controls: &Controls) {
        while !controls.stop.load(Ordering::Relaxed) {
            let origin = controls.origin.load(Ordering::Relaxed);
            if origin != self.origin {
                self.origin = origin;
                self.network.set_origin(origin);
            }
            let more = self.take_in();
            self.give_out(clock::now());
            if !more {
                self.wait();
            }
        }
    }

    /// The network as the loop left it.
    pub(super) fn into_network(self) -> Network<Packet> {
        self.network
    }

    /// Reads what the devices have; true when a device may have more.
    fn take_in(&mut self) -> bool {
        let mut more = false;
        for i in 0..self.places.len() {
            more |= self.take_from(self.places[i]);
        }
        more
    }

    /// Reads from a device.
    fn take_from(&mut self, place: Place) -> bool {
        for _ in 0..BATCH {
            let device = self.devices.at(place);
            let packet = match self.pool.fill(|slot| device.receive(slot)) {
                Some(Ok(Some(packet))) => packet,
                // The device is left alone until the next wake-up.
                Some(Ok(None)) => return false,
                Some(Err(_)) => {
                    self.troubles.read_failures += 1;
                    return false;
                }
                // Slots only become free when packets are given out.
                None => {
                    self.troubles.pool_exhausted += 1;
                    return false;
                }
            };
            match self.transit(packet, place) {
                Some(transit) => {
                    let now = clock::now();
                    self.give_out(now);
                    self.network.inject(now, transit);
                }
                None => {
                    self.stray_packets += 1;
                    self.pool.release(packet);
                }
            }
        }
        true
    }

    /// Where a packet belongs; `None` for one that goes to nobody.
    fn transit(&self, packet: Packet, place: Place) -> Option<Transit<Packet>> {
        let header = Header::read(self.pool.bytes(packet))?;
        let host = |address| address::host_index(address, self.devices.hosts.len());
        let to_server = (header.destination == address::SERVER).then_some(());
        // A proxy keeps the addresses of both ends.
        let (path, way) = match place {
            Place::Host(path) => (to_server.map(|()| path)?, Way::Up),
            Place::ProxyFar => (to_server.and_then(|()| self.beyond[host(header.source)?])?, Way::Up),
            Place::ProxyNear => (host(header.destination)?, Way::Down),
            Place::Server => {
                let path = host(header.destination)?;
                (self.beyond[path].unwrap_or(path), Way::Down)
            }
        };
        Some(Transit {
            packet,
            path: path as u32,
            way,
            bytes: packet.bytes,
            flow: header.flow,
            is_ack: header.is_pure_ack,
            ecn: header.ecn,
            tcp: self.network.reads_tcp().then(|| tcp::read(self.pool.bytes(packet), way)).flatten(),
        })
    }

    /// Lets happen in the network what happens by `now`, and writes what is due to the devices.
    fn give_out(&mut self, now: Nanos) {
        while let Some(event) = self.network.step(now) {
            match event {
                Event::Gone(packet) => self.pool.release(packet),
                Event::Kept(packet) => self.pool.hold(packet),
                Event::Stripped(packet) => tcp::strip_sack(self.pool.bytes_mut(packet)),
                Event::Arrived { transit, due, marked, back_to_back } => {
                    if marked {
                        ecn::mark(self.pool.bytes_mut(transit.packet));
                    }
                    let actual = self.deliver(&transit, due);
                    if let Some(back_to_back) = back_to_back {
                        self.paces[usize::from(transit.way == Way::Down)].add(due, actual, back_to_back);
                    }
                }
            }
        }
    }

    fn deliver(&mut self, transit: &Transit<Packet>, due: Nanos) -> Nanos {
        let actual = clock::now();
        self.lateness.add(actual.saturating_sub(due));
        let path = transit.path as usize;
        let place = match transit.way {
            Way::Up if self.beyond.get(path).is_some_and(Option::is_some) => Place::ProxyNear,
            Way::Up => Place::Server,
            Way::Down if path >= self.devices.hosts.len() => Place::ProxyFar,
            Way::Down => Place::Host(path),
        };
        let device = self.devices.at(place);
        if device.send(self.pool.bytes(transit.packet)).is_err() {
            self.troubles.write_failures += 1;
        }
        self.pool.release(transit.packet);
        actual
    }

    fn wait(&mut self) {
        let now = clock::now();
        let until_due = self.network.next_due().map_or(IDLE, |due| due.saturating_sub(now)).min(IDLE);
        if self.tick {
            // Arrivals are looked at every tick, deliveries at their time or at the tick before the next.
            std::thread::sleep(Duration::from_nanos(until_due.min(TICK)));
            return;
        }
        let timeout = libc::timespec { tv_sec: 0, tv_nsec: until_due as libc::c_long };
        // SAFETY: the array and the timeout live across the call, the length is the array's, and the devices
        // stay open as long as `self`. A result needs no look: EINTR is as good as a timeout.
        unsafe {
            libc::ppoll(
                self.descriptors.as_mut_ptr(),
                self.descriptors.len() as libc::nfds_t,
                &raw const timeout,
                std::ptr::null(),
            )
        };
    }
}
