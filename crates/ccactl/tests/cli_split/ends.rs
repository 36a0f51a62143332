//! How connections end when an end, a server or the proxy does not go on.

use super::place::{
    NATIVE, PATIENCE, Proxy, accept, alone, connect, connected, has_root, listen, read, read_up_to, write,
};
use nix::sys::signal::Signal;
use std::io::ErrorKind;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::unix::process::CommandExt;

const RESET: Option<ErrorKind> = Some(ErrorKind::ConnectionReset);

fn between(netns: &ccactl_testbed::host::netns::Netns, more: &[&str]) -> (Proxy, TcpListener, SocketAddr) {
    let (listener, server) = listen(netns, "127.0.0.1:0");
    let to = server.to_string();
    let args = [&["--listen", "127.0.0.1:0", "--to", &to][..], &NATIVE, more].concat();
    (Proxy::start(netns, &args), listener, server)
}

/// Closes with a reset.
fn abort(stream: TcpStream) {
    nix::sys::socket::setsockopt(&stream, nix::sys::socket::sockopt::Linger, &libc::linger { l_onoff: 1, l_linger: 0 })
        .unwrap();
}

#[test]
fn a_reset_is_carried_over_both_ways() {
    if !has_root() {
        return;
    }
    let netns = alone();
    let (proxy, listener, _) = between(&netns, &[]);
    let (client, server) = connected(&netns, proxy.address, &listener);
    write(&client, 1, 0, 1000).unwrap();
    assert_eq!(read_up_to(&server, 1, 1000).bytes, 1000);
    abort(client);
    assert_eq!(read(&server, 0).error, RESET);

    let (client, server) = connected(&netns, proxy.address, &listener);
    write(&server, 1, 0, 1000).unwrap();
    assert_eq!(read_up_to(&client, 1, 1000).bytes, 1000);
    // After a half-close as well.
    client.shutdown(Shutdown::Write).unwrap();
    assert_eq!(read(&server, 0).bytes, 0);
    abort(server);
    assert_eq!(read(&client, 0).error, RESET);
    let tally = proxy.end();
    let counts = ["resets_by_client", "resets_by_server", "completed"].map(|name| tally[name].as_u64().unwrap());
    assert_eq!(counts, [1, 1, 0], "{tally}");
}

#[test]
fn a_server_that_refuses_or_does_not_answer_resets_the_client_with_one_line() {
    if !has_root() {
        return;
    }
    let netns = alone();
    let (proxy, listener, server) = between(&netns, &[]);
    drop(listener);
    for _ in 0..5 {
        assert_eq!(read(&connect(&netns, proxy.address), 0).error, RESET);
    }
    let expected = format!("{server}: it refuses connections; the connection was reset");
    assert_eq!(proxy.line(), expected);
    let tally = proxy.end();
    assert_eq!((&tally["failures"]["refused"], &tally["connections"]), (&5.into(), &5.into()), "{tally}");

    let (proxy, listener, server) = between(&netns, &["--connect-timeout", "300ms"]);
    // Its backlog is full, so that it answers no more.
    nix::sys::socket::listen(&listener, nix::sys::socket::Backlog::new(0).unwrap()).unwrap();
    let _waiting = connect(&netns, server);
    assert_eq!(read(&connect(&netns, proxy.address), 0).error, RESET);
    assert_eq!(proxy.line(), format!("{server}: it did not answer in time; the connection was reset"));
    assert_eq!(proxy.end()["failures"]["timed_out"], 1);

    let args = [&["--listen", "127.0.0.1:0", "--to", "192.0.2.1:80"][..], &NATIVE].concat();
    let proxy = Proxy::start(&netns, &args);
    assert_eq!(read(&connect(&netns, proxy.address), 0).error, RESET);
    assert!(proxy.line().starts_with("192.0.2.1:80: there is no way to it: "), "no route in this namespace");
    assert_eq!(proxy.end()["failures"]["unreachable"], 1);
}

#[test]
fn a_signal_lets_open_connections_end_and_takes_no_new_ones() {
    if !has_root() {
        return;
    }
    let netns = alone();
    let (proxy, listener, _) = between(&netns, &["--drain", "1m"]);
    let address = proxy.address;
    let (client, server) = connected(&netns, address, &listener);
    proxy.signal(Signal::SIGTERM);
    let line = proxy.line();
    assert!(line.starts_with("no more connections; 1 open ones have 60s to end"), "{line}");
    assert!(netns.run(|| TcpStream::connect(address)).is_err());
    write(&client, 1, 0, 100_000).unwrap();
    client.shutdown(Shutdown::Write).unwrap();
    assert_eq!((read(&server, 1).bytes, drop(server)), (100_000, ()));
    assert_eq!(read(&client, 0).error, None);
    let tally = proxy.tally();
    assert_eq!((&tally["completed"], &tally["resets_at_end"]), (&1.into(), &0.into()), "{tally}");

    for end in ["the time of --drain", "a second signal"] {
        let drain = if end == "a second signal" { "1m" } else { "100ms" };
        let (proxy, listener, _) = between(&netns, &["--drain", drain]);
        let (client, server) = connected(&netns, proxy.address, &listener);
        proxy.signal(Signal::SIGINT);
        proxy.line();
        if end == "a second signal" {
            proxy.signal(Signal::SIGINT);
        }
        assert_eq!((read(&client, 0).error, read(&server, 0).error), (RESET, RESET), "{end}");
        assert_eq!(proxy.tally()["resets_at_end"], 1, "{end}");
    }
}

#[test]
fn a_proxy_with_a_duration_ends_by_itself() {
    if !has_root() {
        return;
    }
    let netns = alone();
    let (proxy, _listener, _) = between(&netns, &["--duration", "200ms"]);
    assert_eq!(proxy.tally()["connections"], 0);
}

#[test]
fn without_file_descriptors_clients_wait_and_one_line_says_so() {
    if !has_root() {
        return;
    }
    let netns = alone();
    let (listener, server) = listen(&netns, "127.0.0.1:0");
    let to = server.to_string();
    let args = [&["--listen", "127.0.0.1:0", "--to", &to][..], &NATIVE].concat();
    let mut command = super::place::command(&args);
    // 256 for everything, and six for each of two connections.
    let few = || {
        nix::sys::resource::setrlimit(nix::sys::resource::Resource::RLIMIT_NOFILE, 268, 268)
            .map_err(std::io::Error::from)
    };
    // SAFETY: between fork and exec only setrlimit runs, which is async-signal-safe.
    unsafe { command.pre_exec(few) };
    let proxy = Proxy::spawn(&netns, command.arg("--json"));
    let [first, second] = [(); 2].map(|()| connected(&netns, proxy.address, &listener));
    let third = connect(&netns, proxy.address);
    let line = proxy.line();
    assert!(line.starts_with("accepting pauses while 2 connections are open") && line.contains("=268"), "{line}");
    write(&third, 3, 0, 1000).unwrap();
    drop(first);
    // Only now does it come through.
    let third_server = accept(&listener);
    assert_eq!(read_up_to(&third_server, 3, 1000).bytes, 1000);
    drop((second, third, third_server));
    let begin = std::time::Instant::now();
    let tally = proxy.end();
    assert!(begin.elapsed() < PATIENCE);
    assert_eq!((&tally["connections"], &tally["peak"]), (&3.into(), &2.into()), "{tally}");
    assert!(tally["pauses"].as_u64().unwrap() >= 1, "{tally}");
}
