//! Every algorithm of the registry on the real kernel: it moves 10 MB each way, and the kernel calls each callback that
//! it registers.

mod common;

use ccactl_abi::{Algorithm, test_every_algorithm};
use common::Host;
use common::callbacks::{Callbacks, count_runs};
use common::drops::{Drop, Loss};
use common::net::{Connection, LOOPBACK, in_own_netns, one_way, tcp_info};
use std::net::TcpStream;
use std::thread;
use std::time::{Duration, Instant};

const BYTES: usize = 10_000_000;
/// `TCP_CA_Loss` of include/net/inet_connection_sock.h.
const CA_LOSS: u8 = 4;

test_every_algorithm!(moves_10_mb_each_way_and_each_of_its_callbacks_runs);
fn moves_10_mb_each_way_and_each_of_its_callbacks_runs(algorithm: &str) {
    let Some((host, algorithm)) = Host::for_algorithm(algorithm) else { return };
    let _counting = count_runs();
    let name = host.load_into("a", algorithm);
    let callbacks = Callbacks::of(host.loader.paths(), &name);
    let mut expected = algorithm.hooks.to_vec();
    expected.sort_unstable();
    assert_eq!(callbacks.names(), expected, "the registry says what the object fills");

    host.inside("a", || in_own_netns(|| exercise(algorithm, &name, &callbacks)));
    let counts = callbacks.counts();
    eprintln!("{}: {counts:?}", algorithm.name);
    let idle: Vec<_> = counts.iter().filter(|(_, runs)| **runs == 0).map(|(hook, _)| *hook).collect();
    assert_eq!(idle, Vec::<&str>::new(), "callbacks that never ran");
}

fn exercise(algorithm: &Algorithm, name: &str, callbacks: &Callbacks) {
    for address in LOOPBACK {
        let connection = Connection::over(address);
        assert_eq!(connection.algorithms(), [name; 3], "{} over {address}", algorithm.name);
        connection.move_both_ways(BYTES);
    }
    lose_some();
    // Whether the kernel finds a timeout spurious depends on which packet was under way, so several attempts.
    for _ in 0..10 {
        time_out_spuriously();
        if callbacks.counts().get("undo_cwnd").is_none_or(|runs| *runs > 0) {
            break;
        }
    }
}

/// Real losses: fast recovery.
fn lose_some() {
    let connection = Connection::over(LOOPBACK[0]);
    let loss = Loss::start(Drop::OneIn(50));
    one_way(&connection.active, &connection.passive, BYTES);
    std::mem::drop(loss);
    // A pause, so that the next burst restarts from idle.
    thread::sleep(Duration::from_millis(300));
    one_way(&connection.active, &connection.passive, BYTES / 10);
}

/// The data arrives but its ACKs do not: a timeout that the kernel afterwards finds to have been spurious.
fn time_out_spuriously() {
    let connection = Connection::over(LOOPBACK[0]);
    let port = connection.passive.local_addr().unwrap().port();
    one_way(&connection.active, &connection.passive, BYTES / 10);
    let loss = Loss::start(Drop::FromPort(port));
    thread::scope(|scope| {
        scope.spawn(|| one_way(&connection.active, &connection.passive, BYTES / 10));
        wait_for_timeout(&connection.active);
        std::mem::drop(loss);
    });
    // Further traffic brings the ACKs that tell.
    one_way(&connection.active, &connection.passive, BYTES / 10);
}

fn wait_for_timeout(sender: &TcpStream) {
    let deadline = Instant::now() + Duration::from_secs(10);
    while tcp_info(sender).tcpi_ca_state != CA_LOSS {
        assert!(Instant::now() < deadline, "no retransmission timeout though every ACK is lost");
        thread::sleep(Duration::from_millis(5));
    }
}
