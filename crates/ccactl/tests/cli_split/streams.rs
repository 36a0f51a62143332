//! Every byte through the proxy, both ways; what is slow, and which algorithm the legs have.

use super::place::{
    NATIVE, PATIENCE, Proxy, accept, alone, connect, connected, eventually, has_root, listen, read, read_up_to, write,
};
use nix::sys::socket::{MsgFlags, send};
use serde_json::Value;
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::process::Command;
use std::thread;

const CONNECTIONS: u64 = 160;
const AT_A_TIME: u64 = 40;
/// Uneven, so that nothing ends where a pipe or a segment does.
const UP_BYTES: u64 = 300_007;
const DOWN_BYTES: u64 = 400_009;

/// Reads to the end of what the client sends, and answers then: only a half-closed connection carries that.
fn answer(mut server: TcpStream) {
    let mut name = [0; 8];
    server.read_exact(&mut name).unwrap();
    let stream = u64::from_le_bytes(name);
    let came = read(&server, 2 * stream);
    assert_eq!((came.bytes, came.error), (UP_BYTES, None), "stream {stream}");
    write(&server, 2 * stream + 1, 0, DOWN_BYTES).unwrap();
}

fn ask(mut client: TcpStream, stream: u64) {
    client.write_all(&stream.to_le_bytes()).unwrap();
    write(&client, 2 * stream, 0, UP_BYTES).unwrap();
    client.shutdown(Shutdown::Write).unwrap();
    let came = read(&client, 2 * stream + 1);
    assert_eq!((came.bytes, came.error), (DOWN_BYTES, None), "stream {stream}");
}

#[test]
fn every_byte_arrives_both_ways_after_a_half_close_over_ipv4_and_ipv6() {
    if !has_root() {
        return;
    }
    let netns = alone();
    let (listener, server) = listen(&netns, "127.0.0.1:0");
    let to = server.to_string();
    let proxy = Proxy::start(&netns, &[&["--listen", "[::]:0", "--to", &to][..], &NATIVE].concat());
    let port = proxy.address.port();
    let places: [SocketAddr; 2] =
        [format!("127.0.0.1:{port}").parse().unwrap(), format!("[::1]:{port}").parse().unwrap()];
    thread::scope(|scope| {
        scope.spawn(|| (0..CONNECTIONS).for_each(|_| drop(scope.spawn(|| answer(accept(&listener))))));
        for first in (0..CONNECTIONS).step_by(AT_A_TIME as usize) {
            let clients: Vec<_> = (first..first + AT_A_TIME)
                .map(|stream| {
                    let client = connect(&netns, places[stream as usize % 2]);
                    scope.spawn(move || ask(client, stream))
                })
                .collect();
            clients.into_iter().for_each(|client| client.join().unwrap());
        }
    });
    let tally = proxy.end();
    assert_eq!(tally["connections"], CONNECTIONS);
    assert_eq!(tally["bytes_up"], CONNECTIONS * (UP_BYTES + 8));
    assert_eq!(tally["bytes_down"], CONNECTIONS * DOWN_BYTES);
    assert!(tally["peak"].as_u64().unwrap() <= CONNECTIONS);
    let sum: u64 = ["completed", "resets_by_client", "resets_by_server", "resets_at_end"]
        .iter()
        .map(|name| tally[name].as_u64().unwrap())
        .sum();
    assert_eq!((sum, &tally["completed"]), (CONNECTIONS, &Value::from(CONNECTIONS)), "{tally}");
}

#[test]
fn an_urgent_byte_stays_where_it_is_in_the_stream() {
    if !has_root() {
        return;
    }
    let netns = alone();
    let (listener, server) = listen(&netns, "127.0.0.1:0");
    let to = server.to_string();
    let proxy = Proxy::start(&netns, &[&["--listen", "127.0.0.1:0", "--to", &to][..], &NATIVE].concat());
    let (mut client, mut server) = connected(&netns, proxy.address, &listener);
    for (part, flags) in [(b"abc", MsgFlags::empty()), (b"def", MsgFlags::MSG_OOB), (b"ghi", MsgFlags::empty())] {
        assert_eq!(send(client.as_raw_fd(), part, flags).unwrap(), 3);
    }
    let mut first = [0; 9];
    server.read_exact(&mut first).unwrap();
    assert_eq!(&first, b"abcdefghi");
    // With the end right behind it.
    send(client.as_raw_fd(), b"xyz", MsgFlags::MSG_OOB).unwrap();
    client.shutdown(Shutdown::Write).unwrap();
    let mut last = Vec::new();
    server.read_to_end(&mut last).unwrap();
    assert_eq!(last, b"xyz");
    drop(server);
    assert_eq!(client.read(&mut first).unwrap(), 0);
    assert_eq!(proxy.end()["completed"], 1);
}

/// Writes until nothing more is taken, however long one waits.
fn fill(mut to: &TcpStream, stream: u64) -> u64 {
    to.set_write_timeout(Some(PATIENCE / 30)).unwrap();
    let mut written = 0;
    loop {
        let piece: Vec<u8> = (written..written + 4096).map(|position| super::place::byte(stream, position)).collect();
        match to.write(&piece) {
            Ok(length) => written += length as u64,
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => return written,
            Err(error) => panic!("{error}"),
        }
    }
}

#[test]
fn a_client_that_does_not_read_stops_the_server_after_bounded_bytes() {
    if !has_root() {
        return;
    }
    let netns = alone();
    // The ends' own buffers: as small as the proxy's.
    netns.sysctl("ipv4/tcp_rmem", "4096 65536 65536").unwrap();
    netns.sysctl("ipv4/tcp_wmem", "4096 65536 65536").unwrap();
    let (listener, server) = listen(&netns, "127.0.0.1:0");
    let to = server.to_string();
    let args = [&["--listen", "127.0.0.1:0", "--to", &to, "--buffer", "64KiB"][..], &NATIVE].concat();
    let proxy = Proxy::start(&netns, &args);
    let (client, server) = connected(&netns, proxy.address, &listener);
    let written = fill(&server, 1);
    // Four buffers and the pipe, each a little more in truth than in name, as the kernel counts its own overhead apart.
    let bound = 2 * (4 * 64 * 1024 + 256 * 1024);
    assert!((64 * 1024..bound).contains(&written), "{written} bytes were taken, expected less than {bound}");
    server.shutdown(Shutdown::Write).unwrap();
    let came = read(&client, 1);
    assert_eq!((came.bytes, came.error), (written, None));
    drop(client);
    drop(server);
    assert_eq!(proxy.end()["bytes_down"], written);
}

/// Algorithms of the sockets of a process, by the port at the far end.
fn algorithm_towards(netns: &ccactl_testbed::host::netns::Netns, local: Option<u16>, remote: u16) -> String {
    let filter = match local {
        Some(port) => format!("sport = :{port} and dport = :{remote}"),
        None => format!("dport = :{remote}"),
    };
    let output = netns.run(|| Command::new("ss").args(["-Htin", "state", "established", &filter]).output()).unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let details: Vec<&str> = text.lines().filter(|line| line.starts_with(['\t', ' '])).collect();
    assert_eq!(details.len(), 1, "{text}");
    details[0].split_whitespace().next().unwrap().to_owned()
}

#[test]
fn each_leg_has_its_own_algorithm_and_what_was_registered_for_it_goes() {
    if !has_root() {
        return;
    }
    let netns = alone();
    let (listener, server) = listen(&netns, "127.0.0.1:0");
    let to = server.to_string();
    let args = ["--listen", "127.0.0.1:0", "--to", &to, "--client-algorithm", "bbrv3", "--server-algorithm", "vegas"];
    let proxy = Proxy::start(&netns, &args);
    let names = [0, 1].map(|slot| {
        let stem = ["bbrv3", "vegas"][slot as usize];
        format!("{stem}_{:06x}", proxy.pid() << 1 | slot)
    });
    assert!(names.iter().all(|name| proxy.first_line.contains(&format!("(as {name})"))), "{}", proxy.first_line);
    let (client, server_end) = connected(&netns, proxy.address, &listener);
    write(&client, 1, 0, 100_000).unwrap();
    assert_eq!(read_up_to(&server_end, 1, 100_000).bytes, 100_000);
    let found = [
        algorithm_towards(&netns, Some(proxy.address.port()), client.local_addr().unwrap().port()),
        algorithm_towards(&netns, None, server.port()),
    ];
    assert_eq!(found, names);
    drop(client);
    assert_eq!(read(&server_end, 0).bytes, 0);
    drop(server_end);
    let tally = proxy.end();
    assert_eq!((&tally["completed"], &tally["failures"]["other_algorithm"]), (&1.into(), &0.into()), "{tally}");
    let registered = || std::fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control").unwrap();
    eventually("both are unregistered", || !names.iter().any(|name| registered().contains(name)));
}

#[test]
fn a_connection_with_another_algorithm_is_reset_and_the_command_fails() {
    if !has_root() {
        return;
    }
    let netns = alone();
    let (_listener, server): (TcpListener, _) = listen(&netns, "127.0.0.1:0");
    let to = server.to_string();
    // A route may lock the algorithm of what goes over it.
    super::place::ip(&netns, "route replace local 127.0.0.1 dev lo table local congctl lock reno");
    let args = ["--listen", "127.0.0.1:0", "--to", &to, "--client-algorithm", "native:reno", "--server-algorithm"];
    let proxy = Proxy::start(&netns, &[&args[..], &["native:cubic"]].concat());
    let client = connect(&netns, proxy.address);
    let ended = read(&client, 0);
    assert_eq!((ended.bytes, ended.error), (0, Some(ErrorKind::ConnectionReset)));
    let line = proxy.line();
    assert!(line.contains("expected the congestion control cubic on the server leg, found reno"), "{line}");
    proxy.signal(nix::sys::signal::Signal::SIGTERM);
    let (code, tally) = proxy.outcome();
    assert_eq!((code, &tally["failures"]["other_algorithm"]), (1, &1.into()), "{tally}");
}
