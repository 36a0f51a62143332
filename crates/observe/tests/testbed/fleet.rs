//! Many connections of one cgroup, as a busy server has, over emulated bottlenecks.

use ccactl_observe::rollout::Share;
use ccactl_scenario::Scenario;
use ccactl_testbed::bench::Emulated;
use ccactl_testbed::emulator::address;
use ccactl_testbed::host::run_id::RunId;
use nix::sys::socket::getsockopt;
use nix::sys::socket::sockopt::TcpCongestion;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::thread::{self, JoinHandle};

/// A link that all flows share; the window of each is some twenty packets.
const SHARED: &str = r#"
duration = "10s"
[link]
rate = "40Mbit/s"
base_rtt = "20ms"
buffer = { bdp = 1 }
[[flow]]
name = "flow"
algorithm = "native:cubic"
"#;

/// A link for one flow alone.
const OWN: &str = r#"
duration = "10s"
[link]
rate = "4Mbit/s"
base_rtt = "20ms"
buffer = { bdp = 2 }
[[flow]]
name = "flow"
algorithm = "native:cubic"
"#;

/// Fewer than a listener keeps waiting.
const AT_ONCE: usize = 32;

/// Connections that send as much as they can until dropped.
pub struct Fleet {
    // In the order of the removal: traffic, devices, namespaces.
    connections: Vec<Connection>,
    _links: Vec<Link>,
}

impl Fleet {
    /// All flows through one queue.
    pub fn on_one_bottleneck(cgroup: &Path, share: Share, per_group: u64) -> Fleet {
        Fleet::on(SHARED, cgroup, share, per_group)
    }

    /// All flows through the queue of this scenario.
    pub fn on(scenario: &str, cgroup: &Path, share: Share, per_group: u64) -> Fleet {
        let link = Link::new(scenario);
        let mut connections = Vec::new();
        let mut groups = Groups::new(share, per_group);
        while groups.are_open() {
            connections.extend(link.connections(cgroup).into_iter().filter_map(|pair| groups.keep(pair)));
        }
        Fleet { connections: start(connections), _links: vec![link] }
    }

    /// Each group through a queue of its own, that of these two scenarios.
    #[allow(dead_code, reason = "what `cargo xtask measure canary` needs")]
    pub fn on_two(canary: &str, baseline: &str, cgroup: &Path, share: Share, per_group: u64) -> Fleet {
        let links = [Link::new(canary), Link::new(baseline)];
        let mut connections = Vec::new();
        let mut groups =
            [Groups { share, canary: per_group, baseline: 0 }, Groups { share, canary: 0, baseline: per_group }];
        for (link, groups) in links.iter().zip(&mut groups) {
            while groups.are_open() {
                connections.extend(link.connections(cgroup).into_iter().filter_map(|pair| groups.keep(pair)));
            }
        }
        Fleet { connections: start(connections), _links: links.into() }
    }

    /// Each flow through a queue of its own.
    pub fn on_own_bottlenecks(cgroup: &Path, share: Share, per_group: u64) -> Fleet {
        let (mut links, mut connections) = (Vec::new(), Vec::new());
        let mut groups = Groups::new(share, per_group);
        let mut link = Link::new(OWN);
        while groups.are_open() {
            if let Some(pair) = groups.keep(link.connection(cgroup)) {
                connections.push(pair);
                links.push(std::mem::replace(&mut link, Link::new(OWN)));
            }
        }
        links.push(link);
        Fleet { connections: start(connections), _links: links }
    }

    /// Congestion control of the sending ends.
    pub fn algorithms(&self) -> BTreeSet<String> {
        self.connections.iter().map(|connection| algorithm_of(&connection.sender)).collect()
    }
}

/// How many connections each group of a canary still needs: which one a socket belongs to is the kernel's draw.
struct Groups {
    share: Share,
    canary: u64,
    baseline: u64,
}

impl Groups {
    fn new(share: Share, per_group: u64) -> Groups {
        Groups { share, canary: per_group, baseline: per_group }
    }

    fn are_open(&self) -> bool {
        self.canary + self.baseline > 0
    }

    /// Gives the connection back if its group needs it.
    fn keep(&mut self, pair: (TcpStream, TcpStream)) -> Option<(TcpStream, TcpStream)> {
        let group = if self.share.covers(cookie(&pair.0)) { &mut self.canary } else { &mut self.baseline };
        *group = group.checked_sub(1)?;
        Some(pair)
    }
}

struct Connection {
    sender: TcpStream,
    receiver: TcpStream,
    threads: Vec<JoinHandle<()>>,
}

impl Drop for Connection {
    fn drop(&mut self) {
        // Either may have ended already.
        let _ = self.sender.shutdown(Shutdown::Both);
        let _ = self.receiver.shutdown(Shutdown::Both);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

fn start(pairs: Vec<(TcpStream, TcpStream)>) -> Vec<Connection> {
    let connection = |(sender, receiver): (TcpStream, TcpStream)| {
        let mut source = sender.try_clone().expect("a descriptor");
        let mut sink = receiver.try_clone().expect("a descriptor");
        let threads = vec![
            thread::spawn(move || while source.write_all(&[7; 16 * 1024]).is_ok() {}),
            thread::spawn(move || {
                let mut buffer = [0; 64 * 1024];
                while matches!(sink.read(&mut buffer), Ok(1..)) {}
            }),
        ];
        Connection { sender, receiver, threads }
    };
    pairs.into_iter().map(connection).collect()
}

/// Two hosts with the emulated link between them.
struct Link(Emulated);

impl Link {
    fn new(scenario: &str) -> Link {
        let scenario = Scenario::parse("test.toml", scenario).unwrap_or_else(|error| panic!("{error}"));
        Link(Emulated::create(RunId::new(), &scenario, 1).unwrap_or_else(|error| panic!("{error}")))
    }

    /// A connection whose sending end belongs to `cgroup`, and whose receiving end does not.
    fn connection(&self, cgroup: &Path) -> (TcpStream, TcpStream) {
        self.some(cgroup, 1).remove(0)
    }

    /// Many of them, opened at the same time: on a long path one after the other takes minutes.
    fn connections(&self, cgroup: &Path) -> Vec<(TcpStream, TcpStream)> {
        self.some(cgroup, AT_ONCE)
    }

    fn some(&self, cgroup: &Path, count: usize) -> Vec<(TcpStream, TcpStream)> {
        let listener = self.0.server().run(|| TcpListener::bind((address::SERVER, 0))).expect("a free port");
        let to = listener.local_addr().expect("it is bound");
        let inside = Inside::enter(cgroup);
        let connect = || self.0.host(0).run(|| TcpStream::connect(to)).expect("the link is up");
        let senders: Vec<TcpStream> = thread::scope(|scope| {
            let threads: Vec<_> = (0..count).map(|_| scope.spawn(connect)).collect();
            threads.into_iter().map(|thread| thread.join().expect("connected")).collect()
        });
        drop(inside);
        let accept = |_| listener.accept().map(|(receiver, from)| (from, receiver)).expect("connected above");
        let mut receivers: BTreeMap<_, _> = (0..count).map(accept).collect();
        let pair = |sender: TcpStream| {
            let from = sender.local_addr().expect("it is connected");
            let receiver = receivers.remove(&from).expect("its other end");
            (sender, receiver)
        };
        senders.into_iter().map(pair).collect()
    }
}

/// This process in a cgroup; dropped, back where it was.
struct Inside {
    home: PathBuf,
}

impl Inside {
    fn enter(cgroup: &Path) -> Inside {
        let own = fs::read_to_string("/proc/self/cgroup").expect("procfs");
        let own = own.lines().find_map(|line| line.strip_prefix("0::/")).expect("cgroup2 is mounted");
        let root = cgroup.parent().expect("the cgroup is below the root");
        let inside = Inside { home: root.join(own) };
        join(cgroup);
        inside
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        join(&self.home);
    }
}

fn join(cgroup: &Path) {
    fs::write(cgroup.join("cgroup.procs"), "0").unwrap_or_else(|error| panic!("{}: {error}", cgroup.display()));
}

fn algorithm_of(stream: &TcpStream) -> String {
    getsockopt(stream, TcpCongestion).expect("it is TCP").to_string_lossy().trim_end_matches('\0').to_owned()
}

fn cookie(stream: &TcpStream) -> u64 {
    let mut cookie = 0u64;
    let mut length = size_of::<u64>() as nix::libc::socklen_t;
    // SAFETY: both pointers are to locals that outlive the call, and `length` is the size of the first.
    let result = unsafe {
        nix::libc::getsockopt(
            stream.as_raw_fd(),
            nix::libc::SOL_SOCKET,
            nix::libc::SO_COOKIE,
            (&raw mut cookie).cast(),
            &raw mut length,
        )
    };
    assert_eq!(result, 0, "{}", io::Error::last_os_error());
    cookie
}
