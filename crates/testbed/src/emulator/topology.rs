//! From a scenario to the network that emulates it.

use super::shares::Shares;
use ccactl_link::Nanos;
use ccactl_link::network::{Delay, Path, Route, Stage, Transmitter, Way};
use ccactl_link::snoop::Snoop;
use ccactl_scenario::{Direction, FlowSpec, LINK, LinkSpec, Scenario};
use std::collections::BTreeMap;

/// Slots beyond those that queues and wires need: small packets, and packets on the way back.
const SPARE_SLOTS: u64 = 20_000;
/// MTU of the runs that a host is calibrated with.
const CALIBRATED_MTU: u32 = 1500;
/// Keeps the random events of the two directions of a link apart; the link model counts its own streams below this bit.
const DOWN_SEED_BIT: u64 = 1 << 48;

/// The links and paths of a scenario.
#[derive(Debug, Clone)]
pub struct Topology {
    /// All transmitters.
    pub transmitters: Vec<Transmitter>,
    /// Name and direction of each of them.
    pub names: Vec<(String, Way)>,
    /// One per flow and then one per UDP source, each with a host of its own; then the further paths of MPTCP flows. Where a
    /// proxy stands on one, it ends there, and those from a proxy on follow.
    pub paths: Vec<Path>,
    /// Where each path begins, but for those from a proxy on.
    pub accesses: Vec<Access>,
    /// By access, the index of the path from the proxy on, if one stands on the way.
    pub beyond: Vec<Option<usize>>,
    /// Highest rate at which packets can come through a path for long, in bit/s.
    pub carried_bps: u64,
    /// The same through all paths together.
    pub total_bps: u64,
    /// How often packets are handled; none where each is for itself. On many slow links it is a quarter of what a full packet takes.
    pub tick: Option<Nanos>,
    /// MTU of all devices.
    pub mtu: u32,
    /// Most packets inside at the same time.
    pub packets: usize,
}

/// Where a path begins: each has a device of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Access {
    /// Index of the host: those of the flows first, then those of the UDP sources.
    pub host: usize,
    /// Number of the device at the host, and of the path among those of the flow.
    pub device: usize,
}

impl Access {
    /// By path: of each host the first, then the further ones of MPTCP flows.
    #[must_use]
    pub fn all(scenario: &Scenario) -> Vec<Access> {
        let first = (0..scenario.flows.len() + scenario.udp.len()).map(|host| Access { host, device: 0 });
        let of_flow = |(host, flow): (usize, &FlowSpec)| {
            let devices = scenario.paths_of(flow).len();
            (1..devices).map(move |device| Access { host, device })
        };
        first.chain(scenario.flows.iter().enumerate().flat_map(of_flow)).collect()
    }
}

/// A link of the scenario with the indices of its transmitters.
struct Hop<'a> {
    name: &'a str,
    spec: &'a LinkSpec,
    up: usize,
    /// Without a transmitter of its own, the way back is propagation alone.
    down: Option<usize>,
}

impl Topology {
    /// For run `run` of a scenario, from 1.
    #[must_use]
    pub fn of(scenario: &Scenario, run: u32) -> Topology {
        let mut transmitters = Vec::new();
        let mut names = Vec::new();
        let mut hops = Vec::new();
        for (name, spec) in scenario.links() {
            let mut add = |way: Way| {
                transmitters.push(transmitter(name, spec, way, run));
                names.push((name.to_owned(), way));
                transmitters.len() - 1
            };
            let up = add(Way::Up);
            let down = spec.duplex.then(|| add(Way::Down));
            hops.push(Hop { name, spec, up, down });
        }
        let accesses = Access::all(scenario);
        let mut paths = Vec::new();
        let mut far_paths = Vec::new();
        let mut beyond = Vec::new();
        let mut slowest = Vec::new();
        for access in &accesses {
            let (links, data, extra_rtt_ns) = links_of(scenario, access);
            let proxy = scenario.proxies.first().filter(|_| access.host < scenario.flows.len());
            let (near, far) = proxy.and_then(|proxy| proxy.split(links)).unwrap_or((links, &[]));
            paths.push(path(&hops, near, data, extra_rtt_ns));
            slowest.extend(slowest_link(&hops, near));
            beyond.push((!far.is_empty()).then(|| accesses.len() + far_paths.len()));
            if !far.is_empty() {
                far_paths.push(path(&hops, far, data, 0));
                slowest.extend(slowest_link(&hops, far));
            }
        }
        let carried_bps = slowest.iter().map(|(_, bps)| *bps).max().unwrap_or(0);
        // A link that several paths have in common carries its rate once.
        let total_bps = slowest.iter().copied().collect::<BTreeMap<usize, u64>>().into_values().sum();
        Topology {
            carried_bps,
            total_bps,
            tick: tick(total_bps, carried_bps, scenario.link.mtu),
            packets: (hops.iter().map(Hop::packets).sum::<u64>() + SPARE_SLOTS) as usize,
            mtu: scenario.link.mtu,
            paths: paths.into_iter().chain(far_paths).collect(),
            accesses,
            beyond,
            transmitters,
            names,
        }
    }

    /// [`Topology::total_bps`] for a calibration, in which every packet has 1500 bytes: a host is limited by packets, and smaller
    /// ones come the more often.
    #[must_use]
    pub fn calibrated_bps(&self) -> u64 {
        self.total_bps * u64::from(CALIBRATED_MTU) / u64::from(self.mtu.min(CALIBRATED_MTU))
    }
}

/// Above these rates, in bit/s, a wake-up per packet costs more than it gives: packets are handled once in so long.
const TICKS: [(u64, Nanos); 2] = [(100_000_000, 50_000), (1_000_000_000, 100_000)];
/// Above this rate, paths that have nothing in common are carried by several threads. One alone had a p99 of 0.2 ms with 32 links of
/// 16 Mbit/s, and of 18 ms with 64 (docs/performance.md).
const ONE_THREAD_BPS: u64 = 500_000_000;

impl Topology {
    /// Which thread carries which paths on a host with so many CPUs.
    #[must_use]
    pub fn shares(&self, cpus: usize) -> Shares {
        let has_proxy = self.beyond.iter().any(Option::is_some);
        let threads = if has_proxy || self.total_bps <= ONE_THREAD_BPS { 1 } else { cpus };
        Shares::among(threads, &self.paths, self.transmitters.len())
    }
}

fn tick(total_bps: u64, carried_bps: u64, mtu: u32) -> Option<Nanos> {
    let (_, shortest) = *TICKS.iter().rev().find(|(above_bps, _)| total_bps > *above_bps)?;
    let transmission = u64::from(mtu) * 8 * 1_000_000_000 / carried_bps.max(1);
    Some(shortest.max(transmission / 4))
}

impl Hop<'_> {
    fn named<'a>(hops: &'a [Self], name: &str) -> &'a Self {
        hops.iter().find(|hop| hop.name == name).expect("checked with the scenario")
    }

    /// Full packets in the queue and on the wire, both ways.
    fn packets(&self) -> u64 {
        let jitter = self.spec.jitter.map_or(0, |jitter| jitter.max.ns);
        let longest = self.spec.one_way().into_iter().map(|step| step.1).max().unwrap_or(0) + jitter;
        let bits = u128::from(highest_bps(self.spec)) * u128::from(longest) / 1_000_000_000;
        let on_the_wire = (bits / 8) as u64 / self.spec.frame_bytes();
        let down_bytes = if self.down.is_some() { self.spec.down_buffer_bytes() } else { 0 };
        2 * on_the_wire + (self.spec.buffer_bytes() + down_bytes) / self.spec.frame_bytes() + self.snoop_packets()
    }

    /// What the agents of both directions keep at most.
    fn snoop_packets(&self) -> u64 {
        let agents = 1 + u64::from(self.down.is_some());
        self.spec.snoop_bytes().map_or(0, |bytes| agents * Snoop::<()>::most_packets(bytes))
    }

    /// Where the agent ahead of a transmitter of this hop sees what comes back.
    fn snoop(&self, transmitter: Option<usize>) -> Option<Stage> {
        transmitter.filter(|_| self.spec.snoop.is_some()).map(Stage::Snoop)
    }

    /// From the flow's host on: through the hop, then past the agent of the other direction.
    fn up_stages(&self) -> impl Iterator<Item = Stage> + use<> {
        [Some(Stage::Transmitter(self.up)), self.snoop(self.down)].into_iter().flatten()
    }

    /// The same from the server on.
    fn down_stages(&self) -> impl Iterator<Item = Stage> + use<> {
        let back = || {
            let delay = Delay::new(self.spec.one_way()).in_batches(self.spec.ack_batch.unwrap_or_default().ns);
            if self.spec.ack_filter { delay.filtering() } else { delay }
        };
        let hop = self.down.map_or_else(|| Stage::Delay(back()), Stage::Transmitter);
        [Some(hop), self.snoop(Some(self.up))].into_iter().flatten()
    }
}

fn transmitter(name: &str, spec: &LinkSpec, way: Way, run: u32) -> Transmitter {
    let mut config = spec.config(run);
    if way == Way::Down {
        config.seed ^= DOWN_SEED_BIT;
        config.capacity = spec.down_capacity();
    }
    let (overhead_bytes, snoop_bytes) = (spec.overhead_bytes, spec.snoop_bytes());
    Transmitter { config, overhead_bytes, snoop_bytes, hides_marks: spec.hide_marks, is_bottleneck: name == LINK }
}

fn highest_bps(spec: &LinkSpec) -> u64 {
    spec.config(1).rate.highest_rate_bps()
}

/// Its transmitter towards the server, and its rate.
fn slowest_link(hops: &[Hop<'_>], path: &[String]) -> Option<(usize, u64)> {
    let links = path.iter().map(|name| Hop::named(hops, name)).map(|hop| (hop.up, highest_bps(hop.spec)));
    links.min_by_key(|(_, bps)| *bps)
}

/// The links of a path in the order from the host to the server, how its data go and of which class they are, and the RTT
/// that it has besides, in ns.
fn links_of<'a>(scenario: &'a Scenario, access: &Access) -> (&'a [String], (Way, u8), Nanos) {
    match scenario.flows.get(access.host) {
        Some(flow) => {
            let of_it = &scenario.paths_of(flow)[access.device];
            (of_it.links, (data_of(flow), flow.class), of_it.extra_rtt.ns)
        }
        None => {
            let udp = &scenario.udp[access.host - scenario.flows.len()];
            (&udp.path, (Way::Up, udp.class), 0)
        }
    }
}

fn data_of(flow: &FlowSpec) -> Way {
    match flow.direction {
        Direction::Upload => Way::Up,
        Direction::Download => Way::Down,
    }
}

/// `names` are in the order from the host to the server; half of `extra_rtt` lies at the end of each way.
fn path(hops: &[Hop<'_>], names: &[String], (data, class): (Way, u8), extra_rtt: Nanos) -> Path {
    let extra = (extra_rtt > 0).then(|| Stage::Delay(Delay::new(vec![(0, extra_rtt / 2)])));
    let up = names.iter().flat_map(|name| Hop::named(hops, name).up_stages());
    let down = names.iter().rev().flat_map(|name| Hop::named(hops, name).down_stages());
    Path {
        up: Route { stages: up.chain(extra.clone()).collect() },
        down: Route { stages: down.chain(extra).collect() },
        data,
        class,
    }
}
