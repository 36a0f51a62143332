//! A proxy on the way between two hosts that know nothing of it.

use super::place::{NATIVE, Proxy, accept, eventually, has_root, ip, read, read_up_to, write};
use ccactl_testbed::host::netns::Netns;
use ccactl_testbed::host::run_id::{PREFIX, RunId};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::process::Command;
use std::time::Duration;

/// client ── router ── server, the proxy on the router; both protocols.
pub struct Path {
    pub client: Netns,
    pub router: Netns,
    pub server: Netns,
}

const CLIENT: [&str; 2] = ["10.1.0.1", "fd00:1::1"];
pub const SERVER: [&str; 2] = ["10.2.0.1", "fd00:2::1"];
const TARGETS: &str = "10.2.0.0/16:80,[fd00:2::/32]:80";

impl Path {
    /// Through a router that forwards, and has a bottleneck towards the server.
    pub fn bottleneck(tbf: &str) -> Self {
        let path = Self::new();
        for subnet in [1, 2] {
            ip(&path.router, &format!("rule del iif to{subnet} lookup 100"));
        }
        path.router.sysctl("ipv4/ip_forward", "1").unwrap();
        let set =
            || Command::new("tc").args(["qdisc", "add", "dev", "to2", "root", "tbf"]).args(tbf.split(' ')).status();
        assert!(path.router.run(set).unwrap().success(), "a token bucket (CONFIG_NET_SCH_TBF)");
        path
    }

    fn new() -> Self {
        let id = RunId::new();
        let [client, router, server] =
            ["c", "r", "s"].map(|end| Netns::create(format!("{PREFIX}-{id}-{end}")).unwrap());
        for (end, subnet) in [(&client, 1), (&server, 2)] {
            ip(&router, &format!("link add to{subnet} type veth peer name ccactl0 netns {}", end.name()));
            for (netns, device, host) in [(&router, format!("to{subnet}"), 2), (end, "ccactl0".to_owned(), 1)] {
                ip(netns, "link set lo up");
                ip(netns, &format!("addr add 10.{subnet}.0.{host}/24 dev {device}"));
                ip(netns, &format!("addr add fd00:{subnet}::{host}/64 dev {device} nodad"));
                ip(netns, &format!("link set {device} up"));
            }
            ip(end, &format!("route add default via 10.{subnet}.0.2"));
            ip(end, &format!("-6 route add default via fd00:{subnet}::2"));
            // What comes in from either side is for this host; what this host sends goes on as ever.
            for family in ["-4", "-6"] {
                ip(&router, &format!("{family} rule add iif to{subnet} lookup 100"));
            }
        }
        for family in ["-4", "-6"] {
            ip(&router, &format!("{family} route add local default dev lo table 100"));
        }
        Self { client, router, server }
    }

    fn listen(&self, at: &str) -> TcpListener {
        let at = SocketAddr::new(at.parse().unwrap(), 80);
        self.server.run(|| TcpListener::bind(at)).unwrap()
    }

    fn connect(&self, to: &str) -> TcpStream {
        let to = SocketAddr::new(to.parse().unwrap(), 80);
        self.client.run(|| TcpStream::connect(to)).unwrap()
    }
}

#[test]
fn connections_to_others_are_split_and_keep_the_clients_address_where_asked() {
    if !has_root() {
        return;
    }
    let path = Path::new();
    for keeps in [false, true] {
        let keep: &[&str] = if keeps { &["--keep-client-address"] } else { &[] };
        let args = [&["--listen", "[::]:0", "--transparent", TARGETS][..], &NATIVE, keep].concat();
        let proxy = Proxy::start(&path.router, &args);
        for family in 0..2 {
            let listener = path.listen(SERVER[family]);
            let client = path.connect(SERVER[family]);
            let server = accept(&listener);
            let named: IpAddr = SERVER[family].parse().unwrap();
            assert_eq!(client.peer_addr().unwrap().ip(), named, "the client sees the server");
            let seen = server.peer_addr().unwrap().ip();
            assert_eq!(seen == CLIENT[family].parse::<IpAddr>().unwrap(), keeps, "the server sees {seen}");
            write(&client, 1, 0, 1_000_000).unwrap();
            client.shutdown(Shutdown::Write).unwrap();
            assert_eq!(read(&server, 1).bytes, 1_000_000);
            write(&server, 2, 0, 1_000_000).unwrap();
            assert_eq!(read_up_to(&client, 2, 1_000_000).bytes, 1_000_000);
        }
        let tally = proxy.end();
        assert_eq!((&tally["connections"], &tally["bytes_up"]), (&2.into(), &2_000_000.into()), "{tally}");
    }
}

#[test]
fn other_ports_are_left_alone_and_the_steering_goes_with_the_process() {
    if !has_root() {
        return;
    }
    let path = Path::new();
    let args = [&["--listen", "[::]:0", "--transparent", "10.2.0.1:81"][..], &NATIVE].concat();
    let proxy = Proxy::start(&path.router, &args);
    // The router does not answer for an address that is not its own.
    let answers = |port: u16| {
        let to = SocketAddr::new(SERVER[0].parse().unwrap(), port);
        path.client.run(|| TcpStream::connect_timeout(&to, Duration::from_secs(1))).is_ok()
    };
    assert!(!answers(80));
    eventually("the other port is steered", || answers(81));
    proxy.signal(nix::sys::signal::Signal::SIGKILL);
    eventually("nothing is steered any more", || !answers(81));
}
