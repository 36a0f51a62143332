//! Objects that are not of the registry, with the mistakes that the kernel's own tests try. Each is refused with one line
//! that says which object, what is wrong and what was expected. Nothing is left behind.

mod common;

use ccactl_abi::{ALGORITHMS, EcnNeed};
use ccactl_loader::Error;
use common::{Host, compile, registered};
use std::process;
use std::thread;
use std::time::{Duration, Instant};

/// `objects/toy.bpf.c` with one mistake.
fn toy(mistake: Option<&str>) -> Vec<u8> {
    compile("toy.bpf.c", mistake.as_slice())
}

/// The error of an object with this mistake; asserts what holds for all of them.
fn refused(host: &Host, mistake: &str, wanted: &[&str]) -> Error {
    let error = host.loader.probe_object("toy.bpf.o", &toy(Some(mistake))).expect_err(mistake);
    let message = error.to_string();
    eprintln!("{mistake}: {message}");
    assert!(message.starts_with("toy.bpf.o"), "names the object: {message}");
    // The first line tells all; below it the end of the verifier's log, if it was the verifier.
    let (told, log) = message.split_once('\n').unwrap_or((&message, ""));
    assert!(told.len() < 600 && log.lines().count() <= 9, "{message}");
    assert!(log.is_empty() || log.starts_with("the last lines of the verifier's log:"), "{message}");
    for part in wanted {
        assert!(told.contains(part), "{part:?} is not in: {told}");
    }
    assert_nothing_left(host);
    error
}

/// The kernel takes a name back a moment after its last user has gone.
fn assert_nothing_left(host: &Host) {
    host.assert_no_leftovers();
    let prefix = format!("cp{:x}_", process::id());
    let left = || registered().into_iter().filter(|name| name.starts_with(&prefix)).collect::<Vec<_>>();
    let deadline = Instant::now() + Duration::from_secs(5);
    while !left().is_empty() && Instant::now() < deadline {
        thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(left(), Vec::<String>::new(), "nothing stays registered");
}

#[test]
fn an_object_without_a_mistake_is_taken_and_leaves_nothing() {
    let Some(host) = Host::new() else { return };
    assert_eq!(host.loader.probe_object("toy.bpf.o", &toy(None)).unwrap_or_else(|e| panic!("{e}")), "toy");
    assert_nothing_left(&host);
}

#[test]
fn every_object_of_the_registry_passes_as_one_that_is_not() {
    let Some(host) = Host::new() else { return };
    for algorithm in ALGORITHMS.iter() {
        match host.loader.probe_object(algorithm.name, algorithm.object()) {
            // Before Linux 7.0.
            Err(Error::NoAccEcn { .. }) if algorithm.ecn == EcnNeed::Accurate => {}
            found => assert_eq!(found.unwrap_or_else(|e| panic!("{e}")), algorithm.kernel_name),
        }
    }
    assert_nothing_left(&host);
}

#[test]
fn an_object_that_is_not_gpl_is_refused() {
    let Some(host) = Host::new() else { return };
    refused(&host, "NOT_GPL", &["GPL", "LICENSE"]);
}

#[test]
fn an_object_without_ssthresh_is_refused_and_told_what_it_has() {
    let Some(host) = Host::new() else { return };
    let error = refused(&host, "NO_SSTHRESH", &["ssthresh", "undo_cwnd", "cong_avoid", "init"]);
    assert!(matches!(&error, Error::Incomplete { missing, .. } if missing == "ssthresh"), "{error:?}");
}

#[test]
fn an_object_with_a_callback_that_bpf_may_not_have_is_refused() {
    let Some(host) = Host::new() else { return };
    refused(&host, "GET_INFO", &["get_info", "not offer"]);
}

#[test]
fn an_object_whose_name_is_too_long_is_refused() {
    let Some(host) = Host::new() else { return };
    refused(&host, "NAME_TOO_LONG", &["sixteen_bytes_xx", "16 bytes", "1 to 15"]);
}

#[test]
fn an_object_with_too_much_private_state_is_refused() {
    let Some(host) = Host::new() else { return };
    refused(&host, "STATE_TOO_LARGE", &["toy_init", "icsk_ca_priv", "104 bytes", "CC_STORAGE"]);
}

#[test]
fn what_is_no_object_at_all_is_refused() {
    let Some(host) = Host::new() else { return };
    let error = host.loader.probe_object("toy.bpf.o", b"#!/bin/sh\n").unwrap_err();
    assert!(error.to_string().starts_with("toy.bpf.o"), "{error}");
}
