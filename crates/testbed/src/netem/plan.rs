//! The plan of a scenario: what is to be done, in order, as commands of iproute2.

use crate::netem::layout::{Addresses, Cable, End, Node, cables};
use crate::netem::need::Need;
use crate::netem::{bpf, queue, shaper, wire};
use crate::unsupported::{Lacks, Unsupported};
use ccactl_scenario::{LinkSpec, Scenario};
use std::fmt;

/// What transmits at the bottleneck.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transmitter<'a> {
    /// A token bucket of the kernel, with one of its disciplines below.
    TokenBucket,
    /// A discipline in BPF, by the names that the kernel has for the one towards the server and the one from it.
    Bpf([&'a str; 2]),
}

impl Transmitter<'_> {
    /// As on the command line.
    fn backend(self) -> &'static str {
        match self {
            Transmitter::TokenBucket => "netem",
            Transmitter::Bpf(_) => "bpf",
        }
    }
}

/// The shaper of a transmitter has this handle, and the discipline below it the other one.
const SHAPER: &str = "1:";
const QUEUE: &str = "2:";

/// A command of iproute2.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tool {
    /// Devices, addresses, neighbours, routes.
    Ip,
    /// Queue disciplines.
    Tc,
}

impl Tool {
    /// Name of the program.
    #[must_use]
    pub fn program(self) -> &'static str {
        match self {
            Tool::Ip => "ip",
            Tool::Tc => "tc",
        }
    }
}

/// One step; the namespace that a cable also ends in is named in the words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// Which program.
    pub tool: Tool,
    /// In which namespace.
    pub node: Node,
    words: String,
    /// A further namespace, that ends the words.
    peer: Option<Node>,
}

impl Line {
    /// Arguments of the program, with the namespaces named by `name`.
    pub fn arguments(&self, name: impl Fn(Node) -> String) -> Vec<String> {
        let own = ["-n".to_owned(), name(self.node)].into_iter();
        own.chain(self.words.split(' ').map(str::to_owned)).chain(self.peer.map(name)).collect()
    }
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.tool.program(), self.arguments(|node| node.to_string()).join(" "))
    }
}

/// A device whose queue disciplines count what passes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Watched {
    /// Namespace.
    pub node: Node,
    /// Device in it.
    pub device: String,
}

/// One direction of the bottleneck.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Direction {
    /// Where the rate and the buffer are.
    pub transmitter: Watched,
    /// Where netem is, if something happens on the wire.
    pub wire: Option<Watched>,
}

/// What is to be made for one scenario.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// Commands, in order; the namespaces are there before.
    pub lines: Vec<Line>,
    /// Disciplines of the kernel, each kind once.
    pub needs: Vec<Need>,
    /// The bottleneck towards the server.
    pub up: Direction,
    /// The bottleneck from the server, where it has a transmitter there.
    pub down: Option<Direction>,
}

impl Plan {
    /// The plan of a scenario. Flows come first among the hosts, then UDP sources.
    ///
    /// # Errors
    /// [`Unsupported`] with everything that would not be as the scenario says.
    pub fn of(scenario: &Scenario, addresses: &Addresses, transmitter: Transmitter<'_>) -> Result<Plan, Unsupported> {
        let mut lacks = Lacks::default();
        let link = &scenario.link;
        let found = scenario.hops.len();
        lacks.ensure(found == 0, "hop", "the bottleneck alone", format!("{found} further links"));
        let found = scenario.paths.len();
        lacks.ensure(found == 0, "path", "flows with one path", format!("{found} paths"));
        lacks.ensure(scenario.warm_up.is_none(), "warm_up", "none", scenario.warm_up.unwrap_or_default());
        let transmitters = match transmitter {
            Transmitter::TokenBucket => {
                lacks.ensure(link.down_buffer.is_none(), "link.down_buffer", "none: both directions alike", "one");
                let both = [shaper::shaper(link, &mut lacks), queue::queue(link, &mut lacks)].map(Discipline::Kernel);
                [Vec::from(both.clone()), Vec::from(both)]
            }
            Transmitter::Bpf(names) => {
                bpf::check(link, &mut lacks);
                names.map(|name| vec![Discipline::Bpf(name.to_owned())])
            }
        };
        let wire = wire::wire(link, &mut lacks);
        let extra = extra(scenario);
        lacks.none_or(transmitter.backend(), ())?;

        let cables = cables(addresses);
        let queues = Queues { link, transmitters, wire, extra };
        let placed = queues.placed(&cables);
        let mut lines = connect(&cables, link.mtu);
        lines.extend(placed.iter().map(Placed::line));
        let direction = |transmitter: &End, wire: &End| Direction {
            transmitter: watched(transmitter),
            wire: queues.wire.is_some().then(|| watched(wire)),
        };
        let [access_near, near_far, far_server] = last_three(&cables);
        Ok(Plan {
            lines,
            needs: kinds(placed.into_iter().filter_map(|placed| placed.discipline.need())),
            up: direction(&near_far[0], &far_server[0]),
            down: link.duplex.then(|| direction(&near_far[1], &access_near[1])),
        })
    }
}

/// Of each host: what its flow adds to the round trip.
fn extra(scenario: &Scenario) -> Vec<Option<Need>> {
    let of_flows = scenario.flows.iter().map(|flow| wire::extra(&scenario.link, flow.extra_rtt));
    of_flows.chain(scenario.udp.iter().map(|_| None)).collect()
}

fn watched(end: &End) -> Watched {
    Watched { node: end.node, device: end.device.clone() }
}

fn last_three(cables: &[Cable]) -> [&Cable; 3] {
    let [.., a, b, c] = cables else { unreachable!("there are three cables beside those of the hosts") };
    [a, b, c]
}

/// Devices, neighbours and routes.
fn connect(cables: &[Cable], mtu: u32) -> Vec<Line> {
    let ip = |node, words: String| Line { tool: Tool::Ip, node, words, peer: None };
    let mut lines = Vec::new();
    for [a, b] in cables {
        let of = |end: &End| format!("name {} address {} mtu {mtu}", end.device, end.mac);
        let words = format!("link add {} type veth peer {} netns", of(a), of(b));
        lines.push(Line { peer: Some(b.node), ..ip(a.node, words) });
    }
    for [a, b] in cables {
        // A host has the address that the other end leads to.
        for (end, other) in [(a, b), (b, a)] {
            if matches!(end.node, Node::Host(_) | Node::Server) {
                lines.push(ip(end.node, format!("address add {}/32 dev {}", other.leads_to[0], end.device)));
                lines.push(ip(end.node, "link set lo up".to_owned()));
            }
            lines.push(ip(end.node, format!("link set {} up", end.device)));
        }
    }
    for [a, b] in cables {
        for (end, other) in [(a, b), (b, a)] {
            for to in &end.leads_to {
                let device = &end.device;
                lines.push(ip(end.node, format!("route add {to}/32 dev {device}")));
                lines.push(ip(end.node, format!("neighbour add {to} lladdr {} nud permanent dev {device}", other.mac)));
            }
        }
    }
    lines
}

/// What is put at a device.
#[derive(Debug, Clone)]
enum Discipline {
    Kernel(Need),
    /// Ours, which is registered before.
    Bpf(String),
}

impl Discipline {
    fn need(self) -> Option<Need> {
        match self {
            Discipline::Kernel(need) => Some(need),
            Discipline::Bpf(_) => None,
        }
    }
}

impl fmt::Display for Discipline {
    /// In the words of `tc`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Discipline::Kernel(Need { kind, words, .. }) => write!(f, "{kind} {words}"),
            Discipline::Bpf(name) => f.write_str(name),
        }
    }
}

/// The queue disciplines of a plan.
struct Queues<'a> {
    link: &'a LinkSpec,
    /// Towards the server and from it: what is at the device, and what is below that.
    transmitters: [Vec<Discipline>; 2],
    wire: Option<Need>,
    extra: Vec<Option<Need>>,
}

/// One of them at its place.
struct Placed {
    end: Watched,
    /// `root handle 1:`
    place: String,
    discipline: Discipline,
}

impl Placed {
    fn line(&self) -> Line {
        let Placed { end, place, discipline } = self;
        let words = format!("qdisc add dev {} {place} {discipline}", end.device);
        Line { tool: Tool::Tc, node: end.node, words, peer: None }
    }
}

impl Queues<'_> {
    fn placed(&self, cables: &[Cable]) -> Vec<Placed> {
        let places = [format!("root handle {SHAPER}"), format!("parent {SHAPER}1 handle {QUEUE}")];
        let at = |end: &End, disciplines: &[Discipline]| -> Vec<Placed> {
            let placed = |(place, discipline): (&String, &Discipline)| Placed {
                end: watched(end),
                place: place.clone(),
                discipline: discipline.clone(),
            };
            places.iter().zip(disciplines).map(placed).collect()
        };
        let of_kernel = |end: &End, need: &Option<Need>| at(end, need.clone().map(Discipline::Kernel).as_slice());
        let [access_near, near_far, far_server] = last_three(cables);
        let [up, down] = &self.transmitters;
        let mut placed = at(&near_far[0], up);
        placed.extend(of_kernel(&far_server[0], &self.wire));
        if self.link.duplex {
            placed.extend(at(&near_far[1], down));
        }
        // Without a transmitter there the way back has neither jitter nor loss.
        let back = if self.link.duplex { self.wire.clone() } else { wire::way_back(self.link) };
        placed.extend(of_kernel(&access_near[1], &back));
        let hosts = cables.iter().zip(&self.extra);
        placed.extend(hosts.flat_map(|(cable, extra)| of_kernel(&cable[1], extra)));
        placed
    }
}

/// Each kind once, with the first field that needs it.
fn kinds(needs: impl Iterator<Item = Need>) -> Vec<Need> {
    let mut kinds: Vec<Need> = Vec::new();
    for need in needs {
        if kinds.iter().all(|other| other.kind != need.kind) {
            kinds.push(need);
        }
    }
    kinds
}
