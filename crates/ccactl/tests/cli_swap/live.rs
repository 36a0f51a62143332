//! Live connections of a cgroup, held by the test itself.

use crate::host::{Host, cgroup2};
use nix::sys::socket::{getsockopt, sockopt::TcpCongestion};
use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// A test moves its whole process between cgroups while it opens its sockets, so only one at a time.
static SERIAL: Mutex<()> = Mutex::new(());
const PATIENCE: Duration = Duration::from_secs(30);
const CHUNK: usize = 64 * 1024;

/// Connections over loopback, half IPv6, whose sockets belong to the cgroup of a host.
pub struct Live {
    listeners: Vec<TcpListener>,
    ends: Vec<(TcpStream, TcpStream)>,
    sent: u64,
    _serial: MutexGuard<'static, ()>,
}

impl Live {
    /// Opens them; the cgroup must exist.
    pub fn open(host: &Host, connections: usize) -> Self {
        let serial = SERIAL.lock().unwrap_or_else(PoisonError::into_inner);
        let home = own_cgroup();
        enter(&host.directory());
        let addresses: [IpAddr; 2] = [Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()];
        let listeners: Vec<_> =
            addresses.into_iter().map(|ip| TcpListener::bind(SocketAddr::new(ip, 0)).unwrap()).collect();
        let ends = (0..connections).map(|index| connect(&listeners[index % listeners.len()])).collect();
        enter(&home);
        Self { listeners, ends, sent: 0, _serial: serial }
    }

    /// Opens more of them.
    pub fn open_more(&mut self, host: &Host, connections: usize) {
        let home = own_cgroup();
        enter(&host.directory());
        self.ends.extend((0..connections).map(|index| connect(&self.listeners[index % self.listeners.len()])));
        enter(&home);
    }

    /// How many sockets there are.
    pub fn sockets(&self) -> u64 {
        (self.listeners.len() + 2 * self.ends.len()) as u64
    }

    /// What they really have, by name, as `ss -ti` would show it.
    pub fn by_algorithm(&self) -> BTreeMap<String, u64> {
        let mut counts = BTreeMap::new();
        let mut count = |name: String| *counts.entry(name).or_insert(0) += 1;
        self.listeners.iter().for_each(|listener| count(algorithm_of(listener)));
        for (active, passive) in &self.ends {
            count(algorithm_of(active));
            count(algorithm_of(passive));
        }
        counts
    }

    /// Moves bytes over every connection, both ways, and checks each of them.
    pub fn move_bytes(&mut self) {
        for (active, passive) in &self.ends {
            for (from, to) in [(active, passive), (passive, active)] {
                one_way(from, to, self.sent);
            }
        }
        self.sent += CHUNK as u64;
    }

    /// Moves bytes over every connection from the side that connected to the other, which sends none.
    pub fn upload(&mut self) {
        self.ends.iter().for_each(|(active, passive)| one_way(active, passive, self.sent));
        self.sent += CHUNK as u64;
    }
}

fn connect(listener: &TcpListener) -> (TcpStream, TcpStream) {
    let active = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (passive, _) = listener.accept().unwrap();
    for end in [&active, &passive] {
        end.set_read_timeout(Some(PATIENCE)).unwrap();
        end.set_write_timeout(Some(PATIENCE)).unwrap();
    }
    (active, passive)
}

/// Every byte depends on its position in the stream.
fn one_way(mut from: &TcpStream, mut to: &TcpStream, position: u64) {
    let chunk: Vec<u8> = (0..CHUNK as u64).map(|offset| ((position + offset) % 251) as u8).collect();
    let expected = chunk.clone();
    thread::scope(|scope| {
        scope.spawn(move || from.write_all(&chunk).unwrap());
        let mut received = vec![0; CHUNK];
        to.read_exact(&mut received).unwrap();
        assert!(received == expected, "wrong bytes after {position}");
    });
}

fn algorithm_of(socket: &impl AsFd) -> String {
    getsockopt(socket, TcpCongestion).unwrap().to_string_lossy().trim_end_matches('\0').to_owned()
}

fn own_cgroup() -> PathBuf {
    let text = fs::read_to_string("/proc/self/cgroup").unwrap();
    let path = text.lines().find_map(|line| line.strip_prefix("0::")).expect("cgroup2 is mounted");
    cgroup2().join(path.trim_start_matches('/'))
}

fn enter(directory: &Path) {
    fs::write(directory.join("cgroup.procs"), "0").unwrap_or_else(|e| panic!("entering {}: {e}", directory.display()));
}
