//! Live sockets moved to another algorithm, back, and out of reach: on the real kernel, in own cgroups and namespaces.

mod common;

use ccactl_loader::{Counts, Error, LoadRequest, RollbackOutcome, SocketOutcome, SwapOutcome, SwapRequest, SwapScope};
use common::net::{Connection, LOOPBACK, algorithm_of, choose, in_own_netns};
use common::{Host, named, registered, with};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, TcpListener};

/// A cgroup with a policy: the request to swap it to another version of reno.
fn swap_to(host: &Host, cgroup: &str, name: &str) -> SwapRequest {
    SwapRequest::of(LoadRequest::new(named("reno", name), host.cgroup(cgroup)))
}

fn load(host: &Host, cgroup: &str, name: &str) {
    host.loader.load(&LoadRequest::new(named("reno", name), host.cgroup(cgroup)).create(true)).unwrap();
}

/// Runs a test inside of a cgroup whose policy has the first of two names, and in a network namespace of its own.
fn with_policy(test: impl FnOnce(&Host, String, String) + Send) {
    let Some(host) = Host::new() else { return };
    let (first, second) = (host.name("a"), host.name("b"));
    load(&host, "a", &first);
    host.inside("a", || in_own_netns(|| test(&host, first, second)));
}

/// Every socket moved and read back, and none left.
fn assert_moved(outcome: &SwapOutcome, sockets: u64) {
    assert_eq!(outcome.counts, Counts { moved: sockets, ..Counts::default() }, "{:?}", outcome.left);
    let verification = outcome.verification.unwrap();
    assert_eq!((verification.sockets, verification.verified), (sockets, sockets));
    assert!(outcome.is_complete());
    assert_eq!(outcome.left, []);
}

#[test]
fn a_swap_moves_both_ends_and_the_listener_over_both_families_and_says_so() {
    with_policy(|host, first, second| {
        let connections = LOOPBACK.map(Connection::over);
        assert!(connections.iter().all(|connection| connection.algorithms() == [first.as_str(); 3]));
        let outcome = host.loader.swap(&swap_to(host, "a", &second)).unwrap();
        assert_moved(&outcome, 6);
        assert_eq!((outcome.from.as_str(), outcome.kernel_name.as_str()), (first.as_str(), second.as_str()));
        assert!(outcome.policy_changed && !outcome.dry_run);
        for connection in &connections {
            assert_eq!(connection.algorithms(), [second.as_str(); 3]);
            connection.move_both_ways(200_000);
        }
        assert!(!registered().contains(&first), "nobody has it any more");

        let again = host.loader.swap(&swap_to(host, "a", &second)).unwrap();
        assert_eq!(again.counts, Counts { there: 6, ..Counts::default() });
        assert!(!again.policy_changed && again.is_complete());
    });
}

#[test]
fn a_dry_run_counts_and_changes_nothing() {
    with_policy(|host, first, second| {
        let connection = Connection::over(LOOPBACK[0]);
        let before = host.loader.status().unwrap();
        let outcome = host.loader.swap(&swap_to(host, "a", &second).dry_run(true)).unwrap();
        assert_eq!(outcome.counts, Counts { moved: 3, ..Counts::default() });
        assert!(outcome.dry_run && outcome.verification.is_none());
        assert_eq!(connection.algorithms(), [first.as_str(); 3]);
        assert_eq!(host.loader.status().unwrap(), before);
        assert!(!registered().contains(&second));
    });
}

#[test]
fn only_new_and_only_live_sockets_can_be_swapped() {
    with_policy(|host, first, second| {
        let live = Connection::over(LOOPBACK[0]);
        let outcome = host.loader.swap(&swap_to(host, "a", &second).scope(SwapScope::NewOnly)).unwrap();
        assert_eq!((outcome.counts, outcome.verification), (Counts::default(), None));
        assert_eq!(live.algorithms(), [first.as_str(); 3]);
        assert!(registered().contains(&first), "live sockets have it");
        let new = Connection::over(LOOPBACK[0]);
        assert_eq!(new.algorithms(), [second.as_str(); 3]);

        // The listener keeps the policy's: what it accepts are new sockets.
        let outcome = host.loader.swap(&swap_to(host, "a", &first).scope(SwapScope::ExistingOnly)).unwrap();
        assert_eq!(outcome.counts.moved, 3, "two ends of the new one, and the old listener: {outcome:?}");
        assert!(outcome.is_complete() && !outcome.policy_changed);
        assert_eq!(live.algorithms(), [first.as_str(), first.as_str(), second.as_str()]);
        assert_eq!(new.algorithms(), [first.as_str(), first.as_str(), second.as_str()]);
        assert_eq!(Connection::over(LOOPBACK[0]).algorithms(), [second.as_str(); 3]);
    });
}

#[test]
fn children_of_a_listener_are_moved_whether_accepted_before_or_after_or_not_yet() {
    with_policy(|host, _, second| {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let accepted = Connection::to(listener.try_clone().unwrap());
        let waiting = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let outcome = host.loader.swap(&swap_to(host, "a", &second)).unwrap();
        assert_moved(&outcome, 5);
        assert_eq!(accepted.algorithms(), [second.as_str(); 3]);
        let (was_waiting, _) = listener.accept().unwrap();
        assert_eq!([algorithm_of(&waiting), algorithm_of(&was_waiting)], [second.as_str(); 2]);
        assert_eq!(Connection::to(listener).algorithms(), [second.as_str(); 3]);
    });
}

#[test]
fn a_v4_mapped_connection_is_moved_like_any_other() {
    with_policy(|host, _, second| {
        let listener = TcpListener::bind((Ipv6Addr::UNSPECIFIED, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let mapped = Ipv4Addr::LOCALHOST.to_ipv6_mapped();
        let active = std::net::TcpStream::connect((IpAddr::V6(mapped), port)).unwrap();
        let (passive, _) = listener.accept().unwrap();
        assert_moved(&host.loader.swap(&swap_to(host, "a", &second)).unwrap(), 3);
        assert_eq!([algorithm_of(&active), algorithm_of(&passive)], [second.as_str(); 2]);
        let sockets = host.loader.sockets(&host.cgroup("a")).unwrap();
        let remotes: Vec<_> = sockets.iter().filter(|socket| !socket.is_listener()).collect();
        assert!(remotes.iter().all(|socket| socket.remote.ip() == Ipv4Addr::LOCALHOST), "{remotes:?}");
    });
}

#[test]
fn what_an_application_chose_is_left_alone_unless_enforced() {
    with_policy(|host, _, second| {
        let connection = Connection::over(LOOPBACK[0]);
        choose(&connection.active, "reno");
        let outcome = host.loader.swap(&swap_to(host, "a", &second)).unwrap();
        assert_eq!(outcome.counts, Counts { moved: 2, application: 1, ..Counts::default() });
        assert!(outcome.is_complete(), "left alone on purpose");
        assert_eq!(outcome.left.len(), 1);
        assert_eq!((outcome.left[0].outcome, outcome.left[0].after.as_str()), (SocketOutcome::Application, "reno"));
        assert_eq!(connection.algorithms(), ["reno", second.as_str(), second.as_str()]);

        let mut enforced = swap_to(host, "a", &second);
        enforced.load.enforce = true;
        let outcome = host.loader.swap(&enforced).unwrap();
        assert_eq!(outcome.counts, Counts { moved: 1, there: 2, ..Counts::default() });
        assert_eq!(connection.algorithms(), [second.as_str(); 3]);
        // New sockets as well: a listener that chooses for itself hands the policy's choice on.
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        choose(&listener, "reno");
        assert_eq!(Connection::to(listener).algorithms()[..2], [second.as_str(); 2]);

        // What the application had is what it gets back.
        host.loader.unload(&host.cgroup("a")).unwrap().unwrap();
        assert_eq!(connection.algorithms()[0], "reno");
    });
}

#[test]
fn a_nested_cgroup_with_a_policy_is_left_alone_and_one_without_is_not() {
    let Some(host) = Host::new() else { return };
    let [outer, inner, new] = ["a", "b", "c"].map(|suffix| host.name(suffix));
    load(&host, "a", &outer);
    load(&host, "a/own", &inner);
    std::fs::create_dir(host.directory("a/plain")).unwrap();
    in_own_netns(|| {
        let in_own = host.inside("a/own", || Connection::over(LOOPBACK[0]));
        let in_plain = host.inside("a/plain", || Connection::over(LOOPBACK[0]));
        let in_outer = host.inside("a", || Connection::over(LOOPBACK[0]));
        let outcome = host.loader.swap(&swap_to(&host, "a", &new)).unwrap();
        assert_moved(&outcome, 6);
        assert_eq!(in_own.algorithms(), [inner.as_str(); 3]);
        assert_eq!(in_plain.algorithms(), [new.as_str(); 3]);
        assert_eq!(in_outer.algorithms(), [new.as_str(); 3]);

        // Without its own policy the outer one is the nearest.
        let gone = host.loader.unload(&host.cgroup("a/own")).unwrap().unwrap();
        assert_eq!(gone.counts.moved, 3);
        assert_eq!(in_own.algorithms(), [new.as_str(); 3]);
        host.loader.unload(&host.cgroup("a")).unwrap();
        assert!(!in_own.algorithms().contains(&new));
    });
}

#[test]
fn sockets_in_two_namespaces_are_moved_from_outside_of_both() {
    let Some(host) = Host::new() else { return };
    let (first, second) = (host.name("a"), host.name("b"));
    load(&host, "a", &first);
    // The threads that made them are gone, and with them the processes of both namespaces: the sockets are all that
    // leads there.
    let connections = host.inside("a", || [(); 2].map(|()| in_own_netns(|| Connection::over(LOOPBACK[1]))));
    let outcome = host.loader.swap(&swap_to(&host, "a", &second)).unwrap();
    assert_moved(&outcome, 6);
    let mut namespaces: Vec<_> =
        host.loader.sockets(&host.cgroup("a")).unwrap().iter().map(|socket| socket.netns).collect();
    namespaces.sort_unstable();
    namespaces.dedup();
    assert_eq!(namespaces.len(), 2);
    for connection in connections {
        assert_eq!(connection.algorithms(), [second.as_str(); 3]);
        connection.move_both_ways(100_000);
    }
}

#[test]
fn rollback_goes_back_step_by_step_until_there_was_no_policy() {
    let Some(host) = Host::new() else { return };
    let [first, second, third] = ["a", "b", "c"].map(|suffix| host.name(suffix));
    load(&host, "a", &first);
    host.inside("a", || {
        in_own_netns(|| {
            let connection = Connection::over(LOOPBACK[0]);
            host.loader.swap(&swap_to(&host, "a", &second)).unwrap();
            host.loader.swap(&swap_to(&host, "a", &third)).unwrap();
            for name in [&second, &first] {
                match host.loader.rollback(&host.cgroup("a")).unwrap() {
                    RollbackOutcome::Restored(outcome) => {
                        assert_moved(&outcome, 3);
                        assert_eq!(outcome.kernel_name, *name);
                    }
                    other => panic!("{other:?}"),
                }
                assert_eq!(connection.algorithms(), [name.as_str(); 3]);
            }
            let gone = host.loader.rollback(&host.cgroup("a")).unwrap();
            assert!(matches!(gone, RollbackOutcome::Removed(outcome) if outcome.counts.moved == 3));
            assert!(connection.algorithms().iter().all(|name| !name.starts_with('t')), "{:?}", connection.algorithms());
            let error = host.loader.rollback(&host.cgroup("a")).unwrap_err();
            assert!(matches!(error, Error::NoPolicy { .. }), "{error}");
        });
    });
    host.loader.unload_all().unwrap();
    host.assert_no_leftovers();
}

#[test]
fn unload_gives_live_sockets_back_what_they_had_and_a_later_load_reaches_them_again() {
    let Some(host) = Host::new() else { return };
    let name = host.name("a");
    std::fs::create_dir(host.directory("a")).unwrap();
    host.inside("a", || {
        in_own_netns(|| {
            let old = Connection::over(LOOPBACK[0]);
            let default = old.algorithms()[0].clone();
            load(&host, "a", &name);
            let new = Connection::over(LOOPBACK[0]);
            assert_moved_partly(&host.loader.swap(&swap_to(&host, "a", &name)).unwrap(), 3, 3);
            let outcome = host.loader.unload(&host.cgroup("a")).unwrap().unwrap();
            assert_eq!((outcome.counts.moved, outcome.still_in_use), (6, false));
            for connection in [&old, &new] {
                assert_eq!(connection.algorithms(), [default.as_str(); 3]);
                connection.move_both_ways(50_000);
            }
            assert!(!registered().contains(&name));

            // Our setsockopt looks like an application's; the notes tell them apart.
            load(&host, "a", &name);
            assert_eq!(Connection::to(old.listener.try_clone().unwrap()).algorithms()[..2], [name.as_str(); 2]);
            let outcome = host.loader.swap(&swap_to(&host, "a", &name)).unwrap();
            assert_eq!((outcome.counts.application, outcome.is_complete()), (0, true));
            assert_eq!(new.algorithms(), [name.as_str(); 3]);
            let options = ccactl_loader::UnloadOptions { restore_native: Some("reno".to_owned()) };
            host.loader.unload_with(&host.cgroup("a"), &options).unwrap().unwrap();
            assert_eq!(new.algorithms(), ["reno"; 3]);
        });
    });
    host.loader.unload_all().unwrap();
    host.assert_no_leftovers();
}

fn assert_moved_partly(outcome: &SwapOutcome, moved: u64, there: u64) {
    assert_eq!(outcome.counts, Counts { moved, there, ..Counts::default() });
    assert!(outcome.is_complete());
}

#[test]
fn a_swap_needs_a_policy_and_changes_nothing_without_one() {
    let Some(host) = Host::new() else { return };
    std::fs::create_dir(host.directory("a")).unwrap();
    let error = host.loader.swap(&swap_to(&host, "a", &host.name("a"))).unwrap_err();
    assert!(matches!(error, Error::NoPolicy { .. }), "{error}");
    assert!(error.to_string().contains("ccactl load"), "{error}");
    let error = host.loader.rollback(&host.cgroup("a")).unwrap_err();
    assert!(matches!(error, Error::NoPolicy { .. }), "{error}");
    host.assert_no_leftovers();
}

#[test]
fn new_code_behind_a_name_reaches_live_sockets_with_a_swap_and_status_says_who_has_the_old() {
    let Some(host) = Host::new() else { return };
    let name = host.name("a");
    let request = LoadRequest::new(named("f-bbrv2", &name), host.cgroup("a")).create(true);
    let id = host.loader.load(&request).unwrap().cgroup_id;
    host.inside("a", || {
        in_own_netns(|| {
            let connection = Connection::over(LOOPBACK[0]);
            let changed = with(&request, "alpha", "1.3");
            let replace = changed.clone().replace(true);
            assert!(matches!(host.loader.load(&changed), Err(Error::OtherTunables { .. })));
            assert_eq!(host.loader.load(&replace).unwrap().change, ccactl_loader::Change::Replaced);
            let census = host.loader.census().unwrap();
            assert_eq!((census.policies[&id].old_code, census.policies[&id].counts.moved), (3, 3));
            let new = Connection::over(LOOPBACK[0]);
            assert_eq!(host.loader.census().unwrap().policies[&id].old_code, 3);

            let present = host.loader.present_request(&host.cgroup("a")).unwrap();
            assert_eq!(present.choice, changed.choice);
            let swap = SwapRequest::of(present).scope(SwapScope::ExistingOnly);
            assert_moved_partly(&host.loader.swap(&swap).unwrap(), 3, 3);
            assert_eq!(host.loader.census().unwrap().policies[&id].old_code, 0);
            for connection in [&connection, &new] {
                assert_eq!(connection.algorithms(), [name.as_str(); 3]);
                connection.move_both_ways(100_000);
            }
            // Back to the tunables before, by the same name.
            match host.loader.rollback(&host.cgroup("a")).unwrap() {
                RollbackOutcome::Restored(outcome) => assert_moved(&outcome, 6),
                other => panic!("{other:?}"),
            }
            assert_eq!(host.loader.present_request(&host.cgroup("a")).unwrap().choice, request.choice);
            assert_eq!(host.loader.census().unwrap().policies[&id].old_code, 0);
        });
    });
    host.loader.unload_all().unwrap();
    host.assert_no_leftovers();
}

#[test]
fn a_connection_without_ecn_keeps_what_it_has_when_the_algorithm_needs_ecn_and_the_swap_is_incomplete() {
    with_policy(|host, first, second| {
        std::fs::write("/proc/sys/net/ipv4/tcp_ecn", "0").unwrap();
        let connection = Connection::over(LOOPBACK[0]);
        let request = SwapRequest::of(LoadRequest::new(named("dctcp", &second), host.cgroup("a")));
        let outcome = host.loader.swap(&request).unwrap();
        assert_eq!(outcome.counts, Counts { moved: 1, refused: 2, ..Counts::default() }, "the listener has it");
        assert!(!outcome.is_complete());
        assert_eq!(connection.algorithms(), [first.as_str(), first.as_str(), second.as_str()]);
        assert!(registered().contains(&first), "live sockets have it");
        // What is opened now asks for ECN by itself.
        let new = Connection::over(LOOPBACK[0]);
        assert_eq!(new.algorithms(), [second.as_str(); 3]);
        let outcome = host.loader.swap(&swap_to(host, "a", &first)).unwrap();
        assert_eq!(outcome.counts, Counts { moved: 4, there: 2, ..Counts::default() });
        assert_eq!(new.algorithms(), [first.as_str(); 3]);
    });
}
