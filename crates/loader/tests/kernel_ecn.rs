//! The algorithms that take marks as their signal, on the real kernel: ECN is negotiated, and each mark is echoed once.

mod common;

use ccactl_abi::{ALGORITHMS, Algorithm, Family};
use ccactl_loader::LoadRequest;
use common::drops::{Drop, Loss};
use common::net::{Connection, LOOPBACK, algorithm_of, in_own_netns, one_way, tcp_info};
use common::{Host, named};
use std::net::TcpListener;
use std::process::Command;

/// `TCPI_OPT_ECN` of include/uapi/linux/tcp.h.
const OPT_ECN: u8 = 8;

fn of_the_family() -> impl Iterator<Item = (usize, &'static Algorithm)> {
    ALGORITHMS.iter().enumerate().filter(|(_, algorithm)| algorithm.family == Family::Ecn)
}

#[test]
fn both_ends_negotiate_ecn_over_both_families_because_the_policy_has_the_syn_ask() {
    let Some(host) = Host::new() else { return };
    for (index, algorithm) in of_the_family() {
        let name = host.name(&index.to_string());
        host.loader.load(&LoadRequest::new(named(algorithm.name, &name), host.cgroup("a")).create(true)).unwrap();
        for address in LOOPBACK {
            let ends = host.inside("a", || {
                in_own_netns(|| {
                    let connection = Connection::over(address);
                    assert_eq!(connection.algorithms(), [name.as_str(); 3]);
                    [&connection.active, &connection.passive].map(|end| tcp_info(end).tcpi_options & OPT_ECN)
                })
            });
            assert_eq!(ends, [OPT_ECN; 2], "{} over {address}", algorithm.name);
        }
        host.loader.unload(&host.cgroup("a")).unwrap();
    }
}

#[test]
fn the_sender_learns_the_share_of_marked_packets_over_both_families() {
    let Some(host) = Host::new() else { return };
    for (index, algorithm) in of_the_family() {
        let name = host.name(&index.to_string());
        host.loader.load(&LoadRequest::new(named(algorithm.name, &name), host.cgroup("a")).create(true)).unwrap();
        for address in LOOPBACK {
            let (all, marked) = host.inside("a", || {
                in_own_netns(|| {
                    let connection = Connection::over(address);
                    let marks = Loss::start(Drop::MarkOneIn(4));
                    one_way(&connection.active, &connection.passive, 20_000_000);
                    std::mem::drop(marks);
                    let info = tcp_info(&connection.active);
                    (info.tcpi_delivered, info.tcpi_delivered_ce)
                })
            });
            let share = f64::from(marked) / f64::from(all);
            // An RFC 3168 receiver would repeat the echo until the sender's answer, and the share would be near 1.
            assert!((0.15..0.35).contains(&share), "{} over {address}: {marked} of {all}", algorithm.name);
        }
        host.loader.unload(&host.cgroup("a")).unwrap();
    }
}

#[test]
fn a_socket_whose_peer_refuses_ecn_goes_to_the_kernels_reno() {
    let Some(host) = Host::new() else { return };
    for (index, algorithm) in of_the_family() {
        let name = host.name(&index.to_string());
        host.loader.load(&LoadRequest::new(named(algorithm.name, &name), host.cgroup("a")).create(true)).unwrap();
        // 0: the peer never does ECN. 2, the default: it does, but not when the SYN carries ECT, unless its own algorithm
        // needs ECN; its listener is outside.
        for tcp_ecn in ["0", "2"] {
            in_own_netns(|| {
                std::fs::write("/proc/sys/net/ipv4/tcp_ecn", tcp_ecn).unwrap();
                let listener = TcpListener::bind((LOOPBACK[0], 0)).unwrap();
                host.inside("a", || {
                    let connection = Connection::to(listener);
                    let context = format!("{}, tcp_ecn {tcp_ecn}", algorithm.name);
                    assert_eq!(tcp_info(&connection.active).tcpi_options & OPT_ECN, 0, "{context}");
                    connection.move_both_ways(1_000_000);
                    assert_eq!(algorithm_of(&connection.active), "reno", "{context}");
                    assert_eq!(tcp_info(&connection.active).tcpi_delivered_ce, 0, "{context}");
                });
            });
        }
        host.loader.unload(&host.cgroup("a")).unwrap();
    }
}

#[test]
fn nobody_asks_for_ecn_on_behalf_of_an_algorithm_that_a_route_keeps_away() {
    let Some(host) = Host::new() else { return };
    for (index, algorithm) in of_the_family() {
        let name = host.name(&index.to_string());
        host.loader.load(&LoadRequest::new(named(algorithm.name, &name), host.cgroup("a")).create(true)).unwrap();
        let (names, options) = host.inside("a", || {
            in_own_netns(|| {
                let route = "route replace local 127.0.0.1 dev lo table local proto kernel scope host src 127.0.0.1 \
                             congctl lock reno";
                assert!(Command::new("ip").args(route.split(' ')).status().unwrap().success());
                let connection = Connection::over(LOOPBACK[0]);
                (connection.algorithms(), tcp_info(&connection.active).tcpi_options)
            })
        });
        assert_eq!((&names[0], options & OPT_ECN), (&"reno".to_owned(), 0), "{}", algorithm.name);
        host.loader.unload(&host.cgroup("a")).unwrap();
    }
}
