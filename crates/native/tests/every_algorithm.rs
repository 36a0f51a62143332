//! What holds for every algorithm whatever the input: the checked build traps at undefined behaviour, and with the feature
//! `asan` memory errors end the process as well. One test per algorithm and property.

mod common;

use ccactl_abi::{ALGORITHMS, Algorithm, test_every_algorithm};
use ccactl_native::path::Flow;
use ccactl_native::properties::{ALL, Subject};
use ccactl_native::{NAMES, Socket, Unit};

fn row(name: &str) -> &'static Algorithm {
    Algorithm::by_name(name).expect("a file has a row")
}

fn checked(name: &str) -> Socket {
    Socket::checked(name).expect("a row has a file")
}

fn holds(name: &str, property: usize) {
    let subject = Subject { algorithm: row(name), socket: &|| checked(name), repeatable: false };
    let (words, property) = ALL[property];
    property(&subject).unwrap_or_else(|found| panic!("{name}: {words}: {found}"));
}

test_every_algorithm!(any_sequence_of_callbacks_leaves_a_window);
fn any_sequence_of_callbacks_leaves_a_window(name: &str) {
    holds(name, 0);
}

test_every_algorithm!(any_tunables_in_range_survive_a_path);
fn any_tunables_in_range_survive_a_path(name: &str) {
    holds(name, 1);
}

test_every_algorithm!(a_path_on_which_clocks_and_counters_wrap_is_one_like_any_other);
fn a_path_on_which_clocks_and_counters_wrap_is_one_like_any_other(name: &str) {
    holds(name, 2);
}

test_every_algorithm!(every_callback_survives_before_init_and_without_storage);
fn every_callback_survives_before_init_and_without_storage(name: &str) {
    holds(name, 3);
}

test_every_algorithm!(stretch_acks_do_not_stop_a_flow);
fn stretch_acks_do_not_stop_a_flow(name: &str) {
    holds(name, 4);
}

test_every_algorithm!(what_is_published_is_one_of_the_phases);
fn what_is_published_is_one_of_the_phases(name: &str) {
    holds(name, 5);
}

#[test]
fn no_property_is_left_out() {
    assert_eq!(ALL.len(), 6);
}

#[test]
fn the_native_build_has_the_registrys_names_hooks_and_tunables() {
    for row in ALGORITHMS.iter() {
        for checked in [false, true] {
            let unit = Unit::by_name(row.name, checked).expect("a row has a file");
            assert_eq!(unit.kernel_name(), row.kernel_name);
            let (mut hooks, mut listed) = (unit.hooks(), row.hooks.to_vec());
            hooks.sort_unstable();
            listed.sort_unstable();
            assert_eq!(hooks, listed, "{}", row.name);
            assert_eq!(unit.tunables().len(), row.tunables.len(), "{}", row.name);
            for tunable in row.tunables {
                let found = unit.tunable(tunable.name).expect("a tunable of the row is one of the file");
                assert_eq!(found.default_raw(), tunable.default_raw, "{}.{}", row.name, tunable.name);
            }
        }
    }
    assert!(NAMES.len() == ALGORITHMS.len() && Unit::by_name("no-such-algorithm", false).is_none());
}

test_every_algorithm!(the_plain_and_the_checked_build_do_the_same);
fn the_plain_and_the_checked_build_do_the_same(name: &str) {
    let run = |mut socket: Socket| {
        socket.record(true);
        let mut flow = Flow::new(socket, common::link(1500), 1);
        flow.run_for_us(3_000_000, |_| {});
        (flow.stats(), flow.socket.cwnd(), flow.socket.pacing_rate(), flow.socket.trace())
    };
    let plain = run(Socket::new(name).expect("a row has a file"));
    assert_eq!(plain, run(checked(name)));
    assert!(plain.3.is_some(), "every algorithm publishes");
}
