//! Namespaces, cables between them, addresses and routes.

use std::fmt;
use std::net::Ipv4Addr;

/// Name of the device of every host.
pub const HOST_DEVICE: &str = "ccactl0";

/// A namespace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Node {
    /// Of a flow or UDP source, by its number.
    Host(usize),
    /// The router that all hosts are connected to.
    Access,
    /// The router before the bottleneck, seen from the hosts.
    Near,
    /// The router behind it.
    Far,
    /// The common server.
    Server,
}

impl Node {
    /// Those that forward.
    pub const ROUTERS: [Node; 3] = [Node::Access, Node::Near, Node::Far];
}

impl fmt::Display for Node {
    /// As in names of namespaces; hosts and server are called as those of the emulator.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Node::Host(number) => write!(f, "tx{number}"),
            Node::Access => f.write_str("access"),
            Node::Near => f.write_str("near"),
            Node::Far => f.write_str("far"),
            Node::Server => f.write_str("rx"),
        }
    }
}

/// Addresses of hosts and server; they exist inside the namespaces only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Addresses {
    /// By number of the host.
    pub hosts: Vec<Ipv4Addr>,
    /// The server's.
    pub server: Ipv4Addr,
}

/// One end of a cable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct End {
    pub node: Node,
    pub device: String,
    /// Fixed, so that nobody asks for it: an ARP exchange would pass the queues and delays.
    pub mac: String,
    /// What is sent through this end.
    pub leads_to: Vec<Ipv4Addr>,
}

/// Two ends of a veth pair: the first is the one nearer to the hosts.
pub(crate) type Cable = [End; 2];

/// All cables: those of the hosts first, then access–near, near–far, far–server.
pub(crate) fn cables(addresses: &Addresses) -> Vec<Cable> {
    let of_hosts = (0..addresses.hosts.len()).map(|number| (Node::Host(number), Node::Access));
    let others = [(Node::Access, Node::Near), (Node::Near, Node::Far), (Node::Far, Node::Server)];
    let cable = |(number, (a, b)): (usize, (Node, Node))| {
        let down = match a {
            Node::Host(host) => vec![addresses.hosts[host]],
            _ => addresses.hosts.clone(),
        };
        let end = |node, towards, side, leads_to| End {
            node,
            device: device(node, towards),
            mac: mac(number, side),
            leads_to,
        };
        [end(a, b, 1, vec![addresses.server]), end(b, a, 2, down)]
    };
    of_hosts.chain(others).enumerate().map(cable).collect()
}

/// Devices of routers are called after what they lead to.
fn device(node: Node, towards: Node) -> String {
    match node {
        Node::Host(_) | Node::Server => HOST_DEVICE.to_owned(),
        _ => towards.to_string(),
    }
}

/// Locally administered.
fn mac(cable: usize, side: u8) -> String {
    let [high, low] = u16::try_from(cable).expect("a scenario has fewer hosts").to_be_bytes();
    format!("02:cc:ac:{high:02x}:{low:02x}:{side:02x}")
}
