//! Every algorithm of the registry under what a connection goes through on the real kernel. It is chosen on a listening
//! socket, over IPv6 with losses, idle for longer than a timeout, in mid-connection, and with packets marked by ECN.
//! `kernel_callbacks.rs` has the plain transfer over IPv4, recovery and timeouts.

mod common;

use ccactl_abi::{Algorithm, Family, test_every_algorithm};
use common::Host;
use common::callbacks::{Callbacks, count_runs};
use common::drops::{Drop, Loss};
use common::net::{Connection, LOOPBACK, algorithm_of, ask_for_ecn, choose, in_own_netns, one_way, tcp_info};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

const MEGABYTE: usize = 1_000_000;
/// Longer than the retransmission timeout on a loopback (`TCP_RTO_MIN` = 200 ms).
const IDLE: Duration = Duration::from_millis(450);
/// `TCPI_OPT_ECN` of include/uapi/linux/tcp.h.
const OPT_ECN: u8 = 8;

/// A window that the algorithm may have: not zero, not beyond all bounds.
fn assert_sane(end: &TcpStream, name: &str) {
    assert_eq!(algorithm_of(end), name);
    let info = tcp_info(end);
    assert!((1..1 << 24).contains(&info.tcpi_snd_cwnd), "cwnd {}", info.tcpi_snd_cwnd);
}

/// The callback that every ACK reaches, one way or the other.
fn main_callback(algorithm: &Algorithm) -> &'static str {
    if algorithm.hooks.contains(&"cong_control") { "cong_control" } else { "cong_avoid" }
}

test_every_algorithm!(chosen_on_a_listening_socket_is_what_its_children_have);
fn chosen_on_a_listening_socket_is_what_its_children_have(algorithm: &str) {
    let Some((host, algorithm)) = Host::for_algorithm(algorithm) else { return };
    let name = host.load_into("a", algorithm);
    // Outside of the cgroup: nothing but the application's choice is at work.
    in_own_netns(|| {
        if algorithm.family == Family::Ecn {
            ask_for_ecn();
        }
        for address in LOOPBACK {
            let listener = TcpListener::bind((address, 0)).unwrap();
            let before = Connection::to(listener.try_clone().unwrap());
            choose(&listener, &name);
            // The second child finds private state that the listener got, not that of its elder brother.
            for _ in 0..2 {
                let connection = Connection::to(listener.try_clone().unwrap());
                assert_ne!(algorithm_of(&connection.active), name);
                connection.move_both_ways(2 * MEGABYTE);
                assert_sane(&connection.passive, &name);
            }
            assert_ne!(algorithm_of(&before.passive), name, "accepted before the choice");
        }
    });
}

test_every_algorithm!(moves_10_mb_over_ipv6_with_losses);
fn moves_10_mb_over_ipv6_with_losses(algorithm: &str) {
    let Some((host, algorithm)) = Host::for_algorithm(algorithm) else { return };
    let _counting = count_runs();
    let name = host.load_into("a", algorithm);
    let callbacks = Callbacks::of(host.loader.paths(), &name);
    host.inside("a", || {
        in_own_netns(|| {
            let connection = Connection::over(LOOPBACK[1]);
            let loss = Loss::start(Drop::OneIn(100));
            one_way(&connection.active, &connection.passive, 10 * MEGABYTE);
            std::mem::drop(loss);
            one_way(&connection.passive, &connection.active, MEGABYTE);
            assert_sane(&connection.active, &name);
        });
    });
    let callback = main_callback(algorithm);
    assert!(callbacks.counts()[callback] > 0, "{callback} never ran");
}

test_every_algorithm!(survives_idle_times_longer_than_a_timeout);
fn survives_idle_times_longer_than_a_timeout(algorithm: &str) {
    let Some((host, algorithm)) = Host::for_algorithm(algorithm) else { return };
    let _counting = count_runs();
    let name = host.load_into("a", algorithm);
    let callbacks = Callbacks::of(host.loader.paths(), &name);
    host.inside("a", || {
        in_own_netns(|| {
            let connection = Connection::over(LOOPBACK[0]);
            for _ in 0..2 {
                one_way(&connection.active, &connection.passive, 2 * MEGABYTE);
                thread::sleep(IDLE);
            }
            one_way(&connection.active, &connection.passive, 2 * MEGABYTE);
            // The passive end has sent nothing so far: its first flight is a restart from idle as well.
            one_way(&connection.passive, &connection.active, 2 * MEGABYTE);
            for end in [&connection.active, &connection.passive] {
                assert_sane(end, &name);
            }
        });
    });
    if algorithm.hooks.contains(&"cwnd_event") {
        assert!(callbacks.counts()["cwnd_event"] > 0, "the kernel tells of every restart");
    }
}

test_every_algorithm!(chosen_on_an_idle_connection_takes_over);
fn chosen_on_an_idle_connection_takes_over(algorithm: &str) {
    let Some((host, algorithm)) = Host::for_algorithm(algorithm) else { return };
    let name = host.load_into("a", algorithm);
    in_own_netns(|| {
        if algorithm.family == Family::Ecn {
            ask_for_ecn();
        }
        let connection = Connection::over(LOOPBACK[0]);
        let native = algorithm_of(&connection.active);
        connection.move_both_ways(2 * MEGABYTE);
        thread::sleep(IDLE);
        for end in [&connection.active, &connection.passive] {
            choose(end, &name);
        }
        connection.move_both_ways(2 * MEGABYTE);
        for end in [&connection.active, &connection.passive] {
            assert_sane(end, &name);
            // And back, so that release runs in mid-connection, and in again over what the other one left.
            choose(end, &native);
            choose(end, &name);
        }
        connection.move_both_ways(2 * MEGABYTE);
    });
}

test_every_algorithm!(moves_bytes_when_packets_are_marked);
fn moves_bytes_when_packets_are_marked(algorithm: &str) {
    let Some((host, algorithm)) = Host::for_algorithm(algorithm) else { return };
    let name = host.load_into("a", algorithm);
    host.inside("a", || {
        in_own_netns(|| {
            ask_for_ecn();
            for address in LOOPBACK {
                let connection = Connection::over(address);
                for end in [&connection.active, &connection.passive] {
                    assert_eq!(tcp_info(end).tcpi_options & OPT_ECN, OPT_ECN, "negotiated over {address}");
                }
                let marks = Loss::start(Drop::MarkOneIn(10));
                connection.move_both_ways(5 * MEGABYTE);
                std::mem::drop(marks);
                for end in [&connection.active, &connection.passive] {
                    assert!(tcp_info(end).tcpi_delivered_ce > 0, "no mark arrived over {address}");
                    assert_sane(end, &name);
                }
                connection.move_both_ways(MEGABYTE);
            }
        });
    });
}
