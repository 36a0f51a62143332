//! Which sockets get the algorithm of a policy: on the real kernel, in an own cgroup and network namespace.

mod common;

use ccactl_loader::LoadRequest;
use common::net::{Connection, LOOPBACK, algorithm_of, choose, in_own_netns};
use common::{Host, named, plain};
use std::fs;
use std::net::TcpListener;

fn default_algorithm() -> String {
    in_own_netns(|| algorithm_of(&TcpListener::bind("127.0.0.1:0").unwrap()))
}

#[test]
fn new_sockets_inside_get_it_active_and_passive_over_both_families_and_those_outside_do_not() {
    let Some(host) = Host::new() else { return };
    let name = host.name("r");
    host.loader.load(&LoadRequest::new(named("reno", &name), host.cgroup("a")).create(true)).unwrap();
    for address in LOOPBACK {
        let inside = host.inside("a", || in_own_netns(|| Connection::over(address).algorithms()));
        assert_eq!(inside, [name.as_str(); 3], "{address}");
        let outside = in_own_netns(|| Connection::over(address).algorithms());
        assert!(!outside.contains(&name), "{address}: {outside:?}");
    }
}

#[test]
fn a_native_algorithm_is_a_policy_as_well() {
    let Some(host) = Host::new() else { return };
    // Whichever of the two is not the default, so that it must come from the policy.
    let native = if default_algorithm() == "reno" { "cubic" } else { "reno" };
    host.loader.load(&LoadRequest::new(plain(&format!("native:{native}")), host.cgroup("a")).create(true)).unwrap();
    let inside = host.inside("a", || in_own_netns(|| Connection::over(LOOPBACK[0]).algorithms()));
    assert_eq!(inside, [native; 3]);
}

#[test]
fn a_listener_older_than_the_policy_hands_out_sockets_with_it() {
    let Some(host) = Host::new() else { return };
    let name = host.name("r");
    fs::create_dir(host.directory("a")).unwrap();
    for address in LOOPBACK {
        let algorithms = host.inside("a", || {
            in_own_netns(|| {
                let listener = TcpListener::bind((address, 0)).unwrap();
                host.loader.load(&LoadRequest::new(named("reno", &name), host.cgroup("a"))).unwrap();
                Connection::to(listener).algorithms()
            })
        });
        assert_eq!(algorithms[..2], [name.as_str(); 2], "{address}");
        assert_ne!(algorithms[2], name, "the listener itself is an old socket");
        host.loader.unload(&host.cgroup("a")).unwrap();
    }
}

#[test]
fn a_switch_reaches_what_an_old_listener_accepts_afterwards() {
    let Some(host) = Host::new() else { return };
    let (first, second) = (host.name("a"), host.name("b"));
    let load = |name: &str| {
        host.loader.load(&LoadRequest::new(named("reno", name), host.cgroup("a")).create(true)).unwrap();
    };
    load(&first);
    host.inside("a", || {
        in_own_netns(|| {
            let before = Connection::over(LOOPBACK[0]);
            assert_eq!(before.algorithms(), [first.as_str(); 3]);
            load(&second);
            let after = Connection::to(before.listener.try_clone().unwrap());
            assert_eq!(after.algorithms(), [second.as_str(), second.as_str(), first.as_str()]);
            // Open sockets keep what they have, and keep working with it.
            assert_eq!(before.algorithms(), [first.as_str(); 3]);
            before.move_both_ways(100_000);
        });
    });
}

#[test]
fn the_nearest_policy_wins_whichever_came_first() {
    let Some(host) = Host::new() else { return };
    let (outer, inner) = (host.name("o"), host.name("i"));
    let load = |cgroup: &str, name: &str| {
        host.loader.load(&LoadRequest::new(named("reno", name), host.cgroup(cgroup)).create(true)).unwrap();
    };
    let seen = |cgroup: &str| host.inside(cgroup, || in_own_netns(|| Connection::over(LOOPBACK[1]).algorithms()));
    for inner_first in [false, true] {
        if inner_first {
            load("a/b", &inner);
            load("a", &outer);
        } else {
            load("a", &outer);
            fs::create_dir_all(host.directory("a/b")).unwrap();
            assert_eq!(seen("a/b"), [outer.as_str(); 3], "without a policy of its own, that of the parent");
            load("a/b", &inner);
        }
        assert_eq!(seen("a"), [outer.as_str(); 3]);
        assert_eq!(seen("a/b"), [inner.as_str(); 3]);

        host.loader.unload(&host.cgroup("a/b")).unwrap();
        assert_eq!(seen("a/b"), [outer.as_str(); 3], "the parent's again once the nearer one is gone");
        host.loader.unload(&host.cgroup("a")).unwrap();
    }
}

#[test]
fn sockets_of_the_nearer_policy_fall_back_to_the_outer_one_when_that_is_unloaded() {
    let Some(host) = Host::new() else { return };
    let (outer, inner) = (host.name("o"), host.name("i"));
    for (cgroup, name) in [("a", &outer), ("a/b", &inner)] {
        host.loader.load(&LoadRequest::new(named("reno", name), host.cgroup(cgroup)).create(true)).unwrap();
    }
    host.inside("a/b", || {
        in_own_netns(|| {
            let first = Connection::over(LOOPBACK[0]);
            assert_eq!(first.algorithms(), [inner.as_str(); 3]);
            host.loader.unload(&host.cgroup("a/b")).unwrap();
            let second = Connection::to(first.listener.try_clone().unwrap());
            assert_eq!(first.algorithms(), [outer.as_str(); 3], "what is open already as well");
            assert_eq!(second.algorithms(), [outer.as_str(); 3]);
        });
    });
}

#[test]
fn what_the_application_chooses_itself_is_respected() {
    use nix::sys::socket::{
        AddressFamily, Backlog, SockFlag, SockType, SockaddrIn, bind, connect, getsockname, listen, socket,
    };
    use std::os::fd::AsRawFd;

    let Some(host) = Host::new() else { return };
    let name = host.name("r");
    host.loader.load(&LoadRequest::new(named("reno", &name), host.cgroup("a")).create(true)).unwrap();
    host.inside("a", || {
        in_own_netns(|| {
            let tcp = || socket(AddressFamily::Inet, SockType::Stream, SockFlag::SOCK_CLOEXEC, None).unwrap();
            let server = tcp();
            choose(&server, "cubic");
            bind(server.as_raw_fd(), &SockaddrIn::new(127, 0, 0, 1, 0)).unwrap();
            listen(&server, Backlog::new(8).unwrap()).unwrap();
            let listener = TcpListener::from(server);
            assert_eq!(algorithm_of(&listener), "cubic", "chosen before listen");

            let client = tcp();
            choose(&client, "cubic");
            connect(client.as_raw_fd(), &getsockname::<SockaddrIn>(listener.as_raw_fd()).unwrap()).unwrap();
            assert_eq!(algorithm_of(&client), "cubic", "chosen before connect");
            let (accepted, _) = listener.accept().unwrap();
            assert_eq!(algorithm_of(&accepted), "cubic", "inherited from a listener that chose");

            // A listener that got ours first and then chose: its children follow the application.
            let second = TcpListener::bind("127.0.0.1:0").unwrap();
            assert_eq!(algorithm_of(&second), name);
            choose(&second, "cubic");
            let connection = Connection::to(second);
            assert_eq!(connection.algorithms(), [name.as_str(), "cubic", "cubic"]);
        });
    });
}
