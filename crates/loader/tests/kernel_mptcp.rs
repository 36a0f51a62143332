//! Coupled algorithms on the real kernel: an MPTCP connection over two veth paths whose subflows find each other.

mod common;

use ccactl_abi::Algorithm;
use common::Host;
use common::net::{PATIENCE, algorithm_of, in_own_netns, moved, one_way};
use libbpf_rs::query::MapInfoIter;
use libbpf_rs::{MapCore, MapFlags, MapHandle};
use nix::sys::socket::{SockaddrIn, bind, connect};
use nix::unistd::gettid;
use std::env;
use std::fs;
use std::io;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::process::Command;
use std::sync::Barrier;
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

const COUPLED: [&str; 4] = ["lia", "olia", "balia", "wvegas"];
const PATHS: [u8; 2] = [1, 2];
const PORT: u16 = 5001;
const BYTES: usize = 500_000;

/// `struct cc_path_key` and `struct cc_path` of `bpf/include/mptcp_coupling.bpf.h`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Element {
    token: u32,
    number: u32,
    owner: u64,
    cwnd_pkts: u32,
}

/// What all loaded coupled algorithms keep of a connection.
fn elements(token: u32) -> Vec<Element> {
    let mut found = Vec::new();
    for info in MapInfoIter::default().filter(|info| info.name.to_str() == Some("cc_path_map")) {
        // It may be gone by now.
        let Ok(map) = MapHandle::from_map_id(info.id) else { continue };
        for key in map.keys() {
            let Ok(Some(value)) = map.lookup(&key, MapFlags::ANY) else { continue };
            let word = |bytes: &[u8], at: usize| u32::from_ne_bytes(bytes[at..at + 4].try_into().unwrap());
            let owner = u64::from_ne_bytes(value[..8].try_into().unwrap());
            let element = Element { token: word(&key, 0), number: word(&key, 4), owner, cwnd_pkts: word(&value, 20) };
            assert_eq!(word(&value, 16), element.token, "{element:?}");
            found.extend((element.token == token).then_some(element));
        }
    }
    found.sort_by_key(|element| element.number);
    found
}

/// A socket of `IPPROTO_MPTCP`.
fn socket() -> io::Result<OwnedFd> {
    // SAFETY: the call takes no pointer.
    let fd = unsafe { libc::socket(libc::AF_INET, libc::SOCK_STREAM | libc::SOCK_CLOEXEC, libc::IPPROTO_MPTCP) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: a fresh descriptor that nobody else owns.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Whether the kernel has MPTCP; where it has not the test says so, and fails in CI.
fn has_mptcp() -> bool {
    let Err(error) = socket() else { return true };
    assert!(env::var("CI").is_ok_and(|ci| ci == "true").eq(&false), "CI runs the tests of MPTCP: {error}");
    eprintln!("not run: this kernel has no MPTCP (CONFIG_MPTCP, net.mptcp.enabled): {error}");
    false
}

/// Further subflows and the token of a connection: `struct mptcp_info` of linux/mptcp.h.
fn subflows_and_token(stream: &TcpStream) -> (u8, u32) {
    const SOL_MPTCP: libc::c_int = 284;
    const MPTCP_INFO: libc::c_int = 1;
    let mut info = [0_u8; 48];
    let mut length = info.len() as libc::socklen_t;
    let fd = stream.as_raw_fd();
    // SAFETY: the kernel writes at most `length` bytes to `info`.
    let ret = unsafe { libc::getsockopt(fd, SOL_MPTCP, MPTCP_INFO, info.as_mut_ptr().cast(), &raw mut length) };
    assert_eq!(ret, 0, "MPTCP_INFO: {}", io::Error::last_os_error());
    (info[0], u32::from_ne_bytes(info[12..16].try_into().unwrap()))
}

fn ip(arguments: &str) {
    let output = Command::new("ip").args(arguments.split(' ')).output().unwrap();
    assert!(output.status.success(), "ip {arguments}: {}", String::from_utf8_lossy(&output.stderr));
}

fn address(path: u8, end: u8) -> Ipv4Addr {
    Ipv4Addr::new(10, 99, path, end)
}

/// In the namespace of the thread, before it has devices: a subflow's packets come by a path that no route leads to.
fn allow_detours() {
    for of in ["all", "default"] {
        fs::write(format!("/proc/sys/net/ipv4/conf/{of}/rp_filter"), "0").unwrap();
    }
}

/// The paths of this end, in the namespace of the thread.
fn set_up(end: u8) {
    for path in PATHS {
        ip(&format!("addr add {}/24 dev path{path}", address(path, end)));
        ip(&format!("link set path{path} up"));
    }
    ip("mptcp limits set subflows 8");
}

/// Both ends of a connection between two namespaces joined by two veth pairs. `options` may set up the client's socket.
fn connected<T: Send>(options: impl Fn(&OwnedFd) + Send, action: impl FnOnce(TcpStream, TcpStream) -> T + Send) -> T {
    let (say_thread, hear_thread) = channel();
    let (say_passive, hear_passive) = channel();
    let (joined, listening) = (Barrier::new(2), Barrier::new(2));
    let (joined, listening) = (&joined, &listening);
    thread::scope(|scope| {
        scope.spawn(move || {
            in_own_netns(move || {
                allow_detours();
                say_thread.send(gettid()).unwrap();
                joined.wait();
                set_up(2);
                let fd = socket().unwrap();
                bind(fd.as_raw_fd(), &SockaddrIn::from(std::net::SocketAddrV4::new(address(1, 2), PORT))).unwrap();
                // SAFETY: the call takes no pointer.
                assert_eq!(unsafe { libc::listen(fd.as_raw_fd(), 1) }, 0, "{}", io::Error::last_os_error());
                listening.wait();
                let listener = TcpListener::from(fd);
                let (stream, _) = listener.accept().unwrap();
                // Further subflows are taken while something listens at the port.
                say_passive.send((stream, listener)).unwrap();
            });
        });
        in_own_netns(move || {
            allow_detours();
            let peer = hear_thread.recv_timeout(PATIENCE).unwrap();
            for path in PATHS {
                ip(&format!("link add path{path} type veth peer name path{path} netns {peer}"));
            }
            joined.wait();
            set_up(1);
            ip(&format!("mptcp endpoint add {} dev path2 subflow", address(2, 1)));
            listening.wait();
            let fd = socket().unwrap();
            options(&fd);
            connect(fd.as_raw_fd(), &SockaddrIn::from(std::net::SocketAddrV4::new(address(1, 2), PORT))).unwrap();
            let active = TcpStream::from(fd);
            let (passive, _listener) = hear_passive.recv_timeout(PATIENCE).unwrap();
            for end in [&active, &passive] {
                end.set_read_timeout(Some(PATIENCE)).unwrap();
                end.set_write_timeout(Some(PATIENCE)).unwrap();
            }
            action(active, passive)
        })
    })
}

/// Moves bytes and does not look at them: Linux 6.18 got them wrong in one of 98 800 connections whose second subflow
/// joined meanwhile, with its own CUBIC and no BPF at all.
fn unread(from: &TcpStream, to: &TcpStream) {
    moved(from, to, BYTES, |_| 0, |_, _| {});
}

/// Moves data until something holds. How much a subflow gets, and when the second one joins, is the kernel's affair.
fn move_until(from: &TcpStream, to: &TcpStream, what: &str, holds: impl Fn() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < deadline, "{what} within {PATIENCE:?}");
        unread(from, to);
    }
}

fn assert_coupled(token: u32, of: &str) {
    let [first, second] = elements(token)[..] else { panic!("{of}: {:?}", elements(token)) };
    assert_eq!((first.number, second.number), (0, 1), "{of}");
    assert!(first.owner != second.owner && first.cwnd_pkts > 0 && second.cwnd_pkts > 0, "{of}: {first:?} {second:?}");
}

fn assert_gone(token: u32, of: &str) {
    let deadline = Instant::now() + PATIENCE;
    while !elements(token).is_empty() {
        assert!(Instant::now() < deadline, "{of}: {:?} after both ends were closed", elements(token));
        thread::sleep(Duration::from_millis(20));
    }
}

/// Both directions: each end is a connection of its own with a token of its own.
fn couples(host: &Host, algorithm: &str, options: impl Fn(&OwnedFd) + Send) {
    let name = host.load_into(algorithm, Algorithm::by_name(algorithm).unwrap());
    let tokens = host.inside(algorithm, || {
        connected(options, |active, passive| {
            let tokens = [&active, &passive].map(|end| subflows_and_token(end).1);
            for (from, to, token) in [(&active, &passive, tokens[0]), (&passive, &active, tokens[1])] {
                move_until(from, to, "two subflows with data", || elements(token).len() == 2);
                assert_eq!(subflows_and_token(from).0, 1, "subflows beside the first");
                assert_eq!(algorithm_of(&from.as_fd()), name);
                assert_coupled(token, algorithm);
            }
            tokens
        })
    });
    tokens.into_iter().for_each(|token| assert_gone(token, algorithm));
}

#[test]
fn the_subflows_of_a_connection_share_their_state_and_leave_nothing_behind() {
    for algorithm in COUPLED {
        let Some(host) = Host::new().filter(|_| has_mptcp()) else { return };
        couples(&host, algorithm, |_| {});
    }
}

/// The kernel then gives each new subflow the connection's algorithm, as if the application had chosen it.
#[test]
fn an_application_that_sets_any_option_has_chosen_no_algorithm() {
    let Some(host) = Host::new().filter(|_| has_mptcp()) else { return };
    couples(&host, "lia", |fd| nix::sys::socket::setsockopt(fd, nix::sys::socket::sockopt::KeepAlive, &true).unwrap());
}

#[test]
fn a_plain_algorithm_on_subflows_shares_nothing() {
    let Some(host) = Host::new().filter(|_| has_mptcp()) else { return };
    let name = host.load_into("a", Algorithm::by_name("reno").unwrap());
    host.inside("a", || {
        connected(
            |_| {},
            |active, passive| {
                move_until(&active, &passive, "a second subflow", || subflows_and_token(&active).0 == 1);
                unread(&active, &passive);
                assert_eq!((algorithm_of(&active), elements(subflows_and_token(&active).1)), (name, Vec::new()));
            },
        );
    });
}

/// TCP, and an MPTCP socket whose peer has none: it falls back.
#[test]
fn plain_tcp_and_a_fallback_are_single_paths() {
    let Some(host) = Host::new().filter(|_| has_mptcp()) else { return };
    let name = host.load_into("a", Algorithm::by_name("lia").unwrap());
    host.inside("a", || {
        in_own_netns(|| {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let std::net::SocketAddr::V4(at) = listener.local_addr().unwrap() else { panic!("IPv4") };
            let fd = socket().unwrap();
            connect(fd.as_raw_fd(), &SockaddrIn::from(at)).unwrap();
            let (active, (passive, _)) = (TcpStream::from(fd), listener.accept().unwrap());
            one_way(&active, &passive, BYTES);
            one_way(&passive, &active, BYTES);
            assert_eq!([algorithm_of(&active), algorithm_of(&passive)], [name.as_str(), name.as_str()]);
        });
    });
}
