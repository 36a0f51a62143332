//! A proxy that is killed: connections end, and none of them looks complete that is not.

use super::place::{NATIVE, Proxy, accept, alone, connect, eventually, has_root, listen, read, write};
use nix::sys::signal::Signal;
use std::io::ErrorKind;
use std::net::Shutdown;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

const CONNECTIONS: u64 = 40;
/// More than all buffers on the way, so that no stream is complete when its end is cut off.
const BYTES: u64 = 200_000_000;

#[test]
fn a_kill_resets_every_connection_and_leaves_nothing() {
    if !has_root() {
        return;
    }
    let netns = alone();
    let (listener, server) = listen(&netns, "127.0.0.1:0");
    let to = server.to_string();
    let args = ["--listen", "127.0.0.1:0", "--to", &to, "--client-algorithm", "cubic", "--server-algorithm", NATIVE[3]];
    let proxy = Proxy::start(&netns, &args);
    let begun = AtomicU64::new(0);
    thread::scope(|scope| {
        for stream in 0..CONNECTIONS {
            let client = connect(&netns, proxy.address);
            let server = accept(&listener);
            let (up, begun) = (stream % 2 == 0, &begun);
            let (from, to) = if up { (client, server) } else { (server, client) };
            let sender = from.try_clone().unwrap();
            // The sender's end breaks, too, and its error is not the point.
            scope.spawn(move || write(&sender, stream, 0, BYTES).and_then(|()| sender.shutdown(Shutdown::Write)));
            scope.spawn(move || {
                assert_eq!(super::place::read_up_to(&to, stream, 1).error, None);
                begun.fetch_add(1, Ordering::Relaxed);
                drop(from);
            });
        }
        eventually("data flows on every connection", || begun.load(Ordering::Relaxed) == CONNECTIONS);
        proxy.signal(Signal::SIGKILL);
    });
    let registered = || std::fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control").unwrap();
    let name = format!("_{:06x}", proxy.pid() << 1);
    eventually("its algorithm is unregistered", || !registered().contains(&name));
}

#[test]
fn no_stream_ends_early_in_order() {
    if !has_root() {
        return;
    }
    let netns = alone();
    let (listener, server) = listen(&netns, "127.0.0.1:0");
    let to = server.to_string();
    let proxy = Proxy::start(&netns, &[&["--listen", "127.0.0.1:0", "--to", &to][..], &NATIVE].concat());
    let begun = AtomicU64::new(0);
    thread::scope(|scope| {
        let readers: Vec<_> = (0..CONNECTIONS)
            .map(|stream| {
                let client = connect(&netns, proxy.address);
                let server = accept(&listener);
                let (from, to) = if stream % 2 == 0 { (client, server) } else { (server, client) };
                scope.spawn(move || write(&from, stream, 0, BYTES).and_then(|()| from.shutdown(Shutdown::Write)));
                let begun = &begun;
                scope.spawn(move || {
                    let mut first = [0];
                    to.peek(&mut first).unwrap();
                    begun.fetch_add(1, Ordering::Relaxed);
                    // Every byte is looked at on the way.
                    read(&to, stream)
                })
            })
            .collect();
        eventually("data flows on every connection", || begun.load(Ordering::Relaxed) == CONNECTIONS);
        proxy.signal(Signal::SIGKILL);
        for reader in readers {
            let came = reader.join().unwrap();
            assert_eq!(came.error, Some(ErrorKind::ConnectionReset), "after {} bytes", came.bytes);
            assert!(came.bytes < BYTES);
        }
    });
}
