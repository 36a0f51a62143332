//! The forwarding loop: packets from the TUN devices through the network in virtual time, and to the devices when they are due.
//! Nothing here allocates once the loop runs.

use super::Troubles;
use super::address;
use super::ecn;
use super::frame::{self, VirtioHeader};
use super::header::Header;
use super::outbox::{Outbox, Plan};
use super::pool::{Packet, Pool};
use super::rate_meter::Pace;
use super::readiness::Readiness;
use super::split::Packets;
use super::tcp;
use crate::clock;
use crate::host::tun::Tun;
use ccactl_link::Nanos;
use ccactl_link::network::{Event, Histogram, Network, Transit, Way};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// The stop flag is looked at this often when no packet comes.
const IDLE: Nanos = 20_000_000;
/// Packets taken from one device, at least, before others get their turn.
const BATCH: usize = 256;

/// What others tell the loop while it runs.
#[derive(Debug, Clone, Default)]
pub struct Controls {
    /// Ends the loop.
    pub stop: Arc<AtomicBool>,
    /// Beginning of the run; 0 until it is known.
    pub origin: Arc<AtomicU64>,
}

/// The devices of a thread.
pub struct Devices {
    /// By path; none where another thread has it.
    pub hosts: Vec<Option<Tun>>,
    /// The server's towards those hosts.
    pub server: Tun,
    /// Of a proxy on the way: towards the hosts, towards the server.
    pub proxy: Option<[Tun; 2]>,
}

/// Whose device it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
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
    /// None where packets are handled one by one.
    tick: Option<Nanos>,
    pool: Pool,
    /// What a device hands over comes here first.
    incoming: Vec<u8>,
    outbox: Outbox<(Place, u32)>,
    readiness: Readiness,
    /// When packets were last looked for, and how many came or left since.
    turn: Nanos,
    moved: usize,
    origin: Nanos,
    pub(super) troubles: Troubles,
    /// Packets for an address that nobody has.
    pub(super) stray_packets: u64,
    pub(super) lateness: Histogram,
    /// Of the bottleneck, to the server and from it.
    pub(super) paces: [Pace; 2],
}

impl Devices {
    /// With their places.
    pub(super) fn all(&self) -> impl Iterator<Item = (Place, &Tun)> {
        let hosts =
            self.hosts.iter().enumerate().filter_map(|(path, device)| Some((Place::Host(path), device.as_ref()?)));
        let of_proxy = self.proxy.iter().flat_map(|[near, far]| [(Place::ProxyNear, near), (Place::ProxyFar, far)]);
        hosts.chain([(Place::Server, &self.server)]).chain(of_proxy)
    }

    fn at(&self, place: Place) -> &Tun {
        let of_proxy = || self.proxy.as_ref().expect("only paths of a proxy lead there");
        match place {
            Place::Host(path) => self.hosts[path].as_ref().expect("what is for others was stray"),
            Place::Server => &self.server,
            Place::ProxyNear => &of_proxy()[0],
            Place::ProxyFar => &of_proxy()[1],
        }
    }
}

impl Engine {
    /// Allocates everything. `readiness` is that of [`Devices::all`]; `beyond` and `tick` are those of the
    /// [`Topology`](super::Topology); `mtu` is that of the devices, and `slots` is how many packets have room.
    pub fn new(
        devices: Devices,
        readiness: Readiness,
        network: Network<Packet>,
        beyond: Vec<Option<usize>>,
        tick: Option<Nanos>,
        mtu: u32,
        slots: usize,
    ) -> Self {
        let places = devices.all().map(|(place, _)| place).collect();
        Engine {
            devices,
            places,
            beyond,
            network,
            tick,
            pool: Pool::new(slots, mtu as usize),
            incoming: vec![0xa5; frame::MOST_BYTES],
            outbox: Outbox::new(tick.unwrap_or_default(), (Place::Server, 0)),
            readiness,
            turn: 0,
            moved: 0,
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
            self.flush();
            self.wait(more);
        }
    }

    /// The network as the loop left it.
    pub(super) fn into_network(self) -> Network<Packet> {
        self.network
    }

    /// Reads what the devices have; true when a device may have more.
    fn take_in(&mut self) -> bool {
        let mut more = false;
        for i in 0..self.readiness.count() {
            more |= self.take_from(self.places[self.readiness.device(i)]);
        }
        more
    }

    /// Reads from a device.
    fn take_from(&mut self, place: Place) -> bool {
        let mut packets = 0;
        while packets < BATCH {
            // Slots only become free when packets are given out.
            if self.pool.is_exhausted() {
                self.troubles.pool_exhausted += 1;
                return false;
            }
            let length = match self.devices.at(place).receive(&mut self.incoming) {
                Ok(Some(length)) => length,
                // The device is left alone until the next wake-up.
                Ok(None) => return false,
                Err(_) => {
                    self.troubles.read_failures += 1;
                    return false;
                }
            };
            packets += self.inject(length, place);
        }
        true
    }

    /// Lets the packets of the frame that was read into the network; gives their number.
    fn inject(&mut self, length: usize, place: Place) -> usize {
        let now = clock::now();
        self.give_out(now);
        // The packets are copied out of it while the rest of the engine takes them.
        let incoming = std::mem::take(&mut self.incoming);
        let packets = Packets::of(&incoming[..length]);
        self.troubles.read_failures += u64::from(packets.is_none());
        let count = packets.map_or(0, |packets| packets.count());
        for (packets, index) in packets.iter().flat_map(|packets| (0..count).map(move |index| (packets, index))) {
            let Some(packet) = self.pool.take(|slot| packets.write(index, slot)) else {
                self.troubles.pool_exhausted += 1;
                break;
            };
            match self.transit(packet, place) {
                Some(transit) => self.network.inject(now, transit),
                None => {
                    self.stray_packets += 1;
                    self.pool.release(packet);
                }
            }
        }
        self.incoming = incoming;
        self.moved += count;
        count.max(1)
    }

    /// Where a packet belongs; `None` for one that goes to nobody.
    fn transit(&self, packet: Packet, place: Place) -> Option<Transit<Packet>> {
        let header = Header::read(self.pool.bytes(packet))?;
        let hosts = &self.devices.hosts;
        let host = |address| address::host_index(address, hosts.len()).filter(|path| hosts[*path].is_some());
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
                Event::Stripped(packet) => {
                    let header = VirtioHeader::read(self.pool.frame(packet)).expect("every frame has one");
                    tcp::strip_sack(self.pool.bytes_mut(packet), header.has_partial_checksum());
                }
                Event::Arrived { transit, due, marked, back_to_back } => {
                    if marked {
                        ecn::mark(self.pool.bytes_mut(transit.packet));
                    }
                    self.deliver(&transit, Plan { due, way: transit.way, back_to_back });
                }
            }
        }
        // What is in the outbox waits for more, but not for long.
        if self.tick.is_some_and(|tick| now > self.turn + tick) {
            self.flush();
        }
    }

    fn deliver(&mut self, transit: &Transit<Packet>, plan: Plan) {
        let path = transit.path as usize;
        let place = match transit.way {
            Way::Up if self.beyond.get(path).is_some_and(Option::is_some) => Place::ProxyNear,
            Way::Up => Place::Server,
            Way::Down if path >= self.devices.hosts.len() => Place::ProxyFar,
            Way::Down => Place::Host(path),
        };
        let key = (place, transit.flow);
        while let Err(number) = self.outbox.add(&self.pool, key, transit.packet, plan) {
            self.write(number);
        }
        // A slow link's packets are far apart, so that each is written for itself.
        if self.tick.is_none() {
            self.write(0);
        }
    }

    /// Writes all that leaves.
    fn flush(&mut self) {
        while self.outbox.count() > 0 {
            self.write(0);
        }
    }

    /// Writes a bundle of the outbox to its device.
    fn write(&mut self, number: usize) {
        let actual = clock::now();
        let leaving = self.outbox.take(number);
        self.moved += leaving.plans.len();
        for Plan { due, way, back_to_back } in leaving.plans.drain(..) {
            self.lateness.add(actual.saturating_sub(due));
            if let Some(back_to_back) = back_to_back {
                self.paces[usize::from(way == Way::Down)].add(due, actual, back_to_back);
            }
        }
        let device = self.devices.at(leaving.key.0);
        if leaving.bundle.frame(&self.pool, |parts| device.send(parts)).is_err() {
            self.troubles.write_failures += leaving.bundle.packets().len() as u64;
        }
        leaving.bundle.drain().for_each(|packet| self.pool.release(packet));
    }

    /// Until something is due or comes; not at all when a device may have more. On a fast link that is busy, a tick goes by before.
    fn wait(&mut self, more: bool) {
        let mut now = clock::now();
        let is_busy = std::mem::take(&mut self.moved) > 1;
        if let Some(tick) = self.tick.filter(|tick| is_busy && !more && now < self.turn + tick) {
            std::thread::sleep(Duration::from_nanos(self.turn + tick - now));
            now = clock::now();
        }
        let until_due = self.network.next_due().map_or(IDLE, |due| due.saturating_sub(now)).min(IDLE);
        if !self.readiness.wait(if more { 0 } else { until_due }) {
            self.troubles.read_failures += 1;
        }
        self.turn = clock::now();
    }
}
