//! Messages that named the wrong remedy, or none.

use crate::host::{Host, failed};
use std::fs;

#[test]
fn only_a_command_that_makes_cgroups_advises_to_have_it_do_so() {
    let Some(host) = Host::with_root() else { return };
    let missing = host.cgroup();
    failed(&host.ccactl(&["load", "reno", "--cgroup", &missing]), 2, &["create it first, or add --create"]);
    let others: [&[&str]; 4] = [
        &["swap", "cubic", "--cgroup", &missing],
        &["rollback", "--cgroup", &missing],
        &["unload", "--cgroup", &missing],
        &["record", "--cgroup", &missing, "--duration", "1s", "-o", "/dev/null"],
    ];
    for args in others {
        let output = host.ccactl(args);
        failed(&output, 2, &["no cgroup", "create it first"]);
        assert!(!String::from_utf8_lossy(&output.stderr).contains("--create"), "{args:?}");
    }
}

#[test]
fn a_path_that_no_cgroup_can_have_is_not_advised_to_be_made() {
    let Some(host) = Host::with_root() else { return };
    let long = format!("/{}", "x".repeat(300));
    for args in [&["load", "reno", "--cgroup", &long][..], &["load", "reno", "--create", "--cgroup", &long]] {
        let output = host.ccactl(args);
        failed(&output, 2, &["300 bytes", "at most 255"]);
        assert!(!String::from_utf8_lossy(&output.stderr).contains("create it first"));
    }
}

#[test]
fn unload_all_names_cgroups_by_their_paths() {
    let Some(host) = Host::with_root() else { return };
    let (name, cgroup) = (host.name(), host.cgroup());
    host.ok(&host.load_args(&name, &cgroup));
    let told = host.ok(&["unload", "--all"]);
    assert!(told.starts_with(&format!("{cgroup}: new sockets no longer get {name}")), "{told}");
    fs::remove_dir(host.directory()).unwrap();
}
