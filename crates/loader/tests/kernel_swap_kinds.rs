//! Swaps of every kind of socket: not yet connected, closing, orphaned, route-locked, MPTCP, born in the middle of it, and
//! those of a cgroup that was removed.

mod common;

use ccactl_loader::{Counts, LoadRequest, SocketReport, SwapOutcome, SwapRequest};
use common::drops::{Drop, Loss};
use common::net::{Connection, LOOPBACK, PATIENCE, algorithm_of, in_own_netns};
use common::{Host, named};
use nix::errno::Errno;
use nix::sys::socket::{AddressFamily, SockFlag, SockType, SockaddrIn, connect, socket};
use std::collections::BTreeSet;
use std::fs;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

const IPPROTO_MPTCP: i32 = 262;

fn swap(host: &Host, name: &str) -> SwapOutcome {
    host.loader.swap(&SwapRequest::of(LoadRequest::new(named("reno", name), host.cgroup("a")))).unwrap()
}

fn load(host: &Host, name: &str) {
    host.loader.load(&LoadRequest::new(named("reno", name), host.cgroup("a")).create(true)).unwrap();
}

fn sockets(host: &Host) -> Vec<SocketReport> {
    host.loader.sockets(&host.cgroup("a")).unwrap()
}

fn assert_all_moved(host: &Host, outcome: &SwapOutcome, count: u64) {
    assert_eq!(outcome.counts, Counts { moved: count, ..Counts::default() }, "{outcome:?}");
    assert!(outcome.is_complete(), "{outcome:?}");
    assert!(sockets(host).iter().all(|socket| socket.after == outcome.kernel_name && socket.cwnd_pkts > 0));
}

#[test]
fn a_connection_that_waits_for_its_syn_ack_is_moved_and_established_with_the_new_algorithm() {
    let Some(host) = Host::new() else { return };
    let (first, second) = (host.name("a"), host.name("b"));
    load(&host, &first);
    host.inside("a", || {
        in_own_netns(|| {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let port = listener.local_addr().unwrap().port();
            let loss = Loss::start(Drop::FromPort(port));
            let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
            let client = socket(AddressFamily::Inet, SockType::Stream, flags, None).unwrap();
            let address = SockaddrIn::new(127, 0, 0, 1, port);
            assert_eq!(connect(client.as_raw_fd(), &address), Err(Errno::EINPROGRESS));
            assert!(sockets(&host).iter().any(|socket| socket.state == "SYN-SENT"));
            assert_all_moved(&host, &swap(&host, &second), 2);
            assert_eq!(algorithm_of(&client), second);

            std::mem::drop(loss);
            let (accepted, _) = listener.accept().unwrap();
            let active = TcpStream::from(client);
            active.set_nonblocking(false).unwrap();
            assert_eq!([algorithm_of(&active), algorithm_of(&accepted)], [second.as_str(); 2]);
            (&active).write_all(b"hello").unwrap();
            let mut received = [0; 5];
            (&accepted).read_exact(&mut received).unwrap();
            assert_eq!(&received, b"hello");
        });
    });
}

#[test]
fn half_closed_connections_and_orphans_are_moved() {
    let Some(host) = Host::new() else { return };
    let (first, second) = (host.name("a"), host.name("b"));
    load(&host, &first);
    host.inside("a", || {
        in_own_netns(|| {
            let half = Connection::over(LOOPBACK[0]);
            half.active.shutdown(Shutdown::Write).unwrap();
            let mut orphan = Connection::over(LOOPBACK[1]);
            let sent = fill(&orphan.active);
            // Closed with data that the peer has not taken yet: the kernel alone holds it now.
            let unused = TcpStream::connect(orphan.listener.local_addr().unwrap()).unwrap();
            drop_end(&mut orphan.active, unused);
            eventually("the states are there", || {
                let states: BTreeSet<_> = sockets(&host).into_iter().map(|socket| socket.state).collect();
                ["FIN-WAIT-2", "CLOSE-WAIT", "FIN-WAIT-1"].iter().all(|state| states.contains(state))
            });
            let count = sockets(&host).len() as u64;
            assert_all_moved(&host, &swap(&host, &second), count);

            // All that the orphan had to say arrives.
            let mut received = Vec::new();
            (&orphan.passive).read_to_end(&mut received).unwrap();
            assert_eq!(received.len(), sent);
            assert!(received.iter().enumerate().all(|(at, byte)| *byte == (at % 251) as u8));
        });
    });
}

/// Writes until the peer's buffer and ours are full; returns how many bytes that were.
fn fill(mut stream: &TcpStream) -> usize {
    stream.set_nonblocking(true).unwrap();
    let mut sent = 0;
    loop {
        let chunk: Vec<u8> = (sent..sent + 4096).map(|at| (at % 251) as u8).collect();
        match stream.write(&chunk) {
            Ok(length) => sent += length,
            Err(error) => {
                assert_eq!(error.kind(), std::io::ErrorKind::WouldBlock);
                return sent;
            }
        }
    }
}

/// Closes one end of a connection.
fn drop_end(end: &mut TcpStream, unused: TcpStream) {
    std::mem::drop(std::mem::replace(end, unused));
}

fn eventually(what: &str, condition: impl Fn() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !condition() {
        assert!(Instant::now() < deadline, "not in time: {what}");
        thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_connection_whose_route_fixes_the_algorithm_is_told_and_makes_the_swap_incomplete() {
    let Some(host) = Host::new() else { return };
    let (first, second) = (host.name("a"), host.name("b"));
    load(&host, &first);
    host.inside("a", || {
        in_own_netns(|| {
            let free = Connection::over(LOOPBACK[0]);
            let route = "route replace local 127.0.0.1 dev lo table local proto kernel scope host src 127.0.0.1 \
                         congctl lock reno";
            assert!(Command::new("ip").args(route.split(' ')).status().unwrap().success());
            let locked = Connection::over(LOOPBACK[0]);
            assert_eq!(locked.algorithms()[..2], ["reno"; 2]);
            let outcome = swap(&host, &second);
            assert_eq!(outcome.counts, Counts { moved: 4, locked: 2, ..Counts::default() }, "{outcome:?}");
            assert!(!outcome.is_complete());
            let verification = outcome.verification.unwrap();
            assert_eq!((verification.sockets, verification.verified), (4, 4));
            assert_eq!(outcome.left.len(), 2);
            assert_eq!(locked.algorithms(), ["reno", "reno", second.as_str()]);
            assert_eq!(free.algorithms(), [second.as_str(); 3]);
            locked.move_both_ways(50_000);
        });
    });
}

#[test]
fn the_subflows_of_an_mptcp_connection_are_moved() {
    let Some(host) = Host::new() else { return };
    let (first, second) = (host.name("a"), host.name("b"));
    load(&host, &first);
    host.inside("a", || {
        in_own_netns(|| {
            let Some(listener) = mptcp_listener() else {
                eprintln!("not run: this kernel has no MPTCP");
                return;
            };
            let client = mptcp_socket().unwrap();
            let port = listener.local_addr().unwrap().port();
            connect(client.as_raw_fd(), &SockaddrIn::new(127, 0, 0, 1, port)).unwrap();
            let (passive, _) = listener.accept().unwrap();
            let active = TcpStream::from(client);
            assert!(is_mptcp(), "not fallen back to TCP");
            assert_all_moved(&host, &swap(&host, &second), 3);
            assert_eq!([algorithm_of(&active), algorithm_of(&passive)], [second.as_str(); 2]);
            common::net::one_way(&active, &passive, 300_000);
        });
    });
}

fn mptcp_socket() -> Option<OwnedFd> {
    // SAFETY: a plain system call; the descriptor is checked and belongs to nobody else.
    let fd = unsafe { libc::socket(libc::AF_INET, libc::SOCK_STREAM | libc::SOCK_CLOEXEC, IPPROTO_MPTCP) };
    // SAFETY: as above.
    (fd >= 0).then(|| unsafe { OwnedFd::from_raw_fd(fd) })
}

fn mptcp_listener() -> Option<TcpListener> {
    use nix::sys::socket::{Backlog, bind, listen};
    let socket = mptcp_socket()?;
    bind(socket.as_raw_fd(), &SockaddrIn::new(127, 0, 0, 1, 0)).unwrap();
    listen(&socket, Backlog::new(8).unwrap()).unwrap();
    Some(TcpListener::from(socket))
}

/// Whether this namespace has a connection with a second protocol level.
fn is_mptcp() -> bool {
    let counters = fs::read_to_string("/proc/thread-self/net/netstat").unwrap();
    let mut lines = counters.lines().filter(|line| line.starts_with("MPTcpExt:"));
    let (Some(names), Some(values)) = (lines.next(), lines.next()) else { return false };
    let mut pairs = names.split(' ').zip(values.split(' '));
    pairs.any(|(name, value)| name == "MPCapableACKRX" && value != "0")
}

#[test]
fn a_socket_that_is_born_during_a_swap_is_not_lost() {
    let Some(host) = Host::new() else { return };
    let names = [host.name("a"), host.name("b")];
    load(&host, &names[0]);
    host.inside("a", || {
        in_own_netns(|| {
            let listeners = LOOPBACK.map(|ip| TcpListener::bind((ip, 0)).unwrap());
            let is_over = AtomicBool::new(false);
            thread::scope(|scope| {
                let openers: Vec<_> = listeners
                    .iter()
                    .map(|listener| {
                        scope.spawn(|| {
                            let mut open = Vec::new();
                            while !is_over.load(Ordering::Relaxed) && open.len() < 4000 {
                                let active = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
                                open.push((active, listener.accept().unwrap().0));
                            }
                            open
                        })
                    })
                    .collect();
                let mut born = 0;
                for round in 0..12 {
                    let outcome = swap(&host, &names[(round + 1) % 2]);
                    assert!(outcome.is_complete(), "round {round}: {outcome:?}");
                    born = outcome.counts.total();
                }
                is_over.store(true, Ordering::Relaxed);
                let open: Vec<_> = openers.into_iter().flat_map(|opener| opener.join().unwrap()).collect();
                assert!(born > 100, "only {born} sockets to be moved");
                // The last swap went to the first name; whatever was opened before, during or after it has that.
                for (active, passive) in &open {
                    assert_eq!([algorithm_of(active), algorithm_of(passive)], [names[0].as_str(); 2]);
                }
            });
        });
    });
}

#[test]
fn sockets_that_outlive_their_cgroup_get_back_what_they_had() {
    let Some(host) = Host::new() else { return };
    let (first, other) = (host.name("a"), host.name("o"));
    load(&host, &first);
    let connection = host.inside("a", || in_own_netns(|| Connection::over(LOOPBACK[0])));
    fs::remove_dir(host.directory("a")).unwrap();
    assert_eq!(connection.algorithms(), [first.as_str(); 3]);
    // Whatever is changed next, anywhere, notices.
    host.loader.load(&LoadRequest::new(named("reno", &other), host.cgroup("b")).create(true)).unwrap();
    assert!(!connection.algorithms().contains(&first), "{:?}", connection.algorithms());
    let status = host.loader.status().unwrap();
    assert_eq!(status.iter().map(|row| row.kernel_name.as_str()).collect::<Vec<_>>(), [other.as_str()]);
    assert!(!common::registered().contains(&first));
    connection.move_both_ways(50_000);
}
