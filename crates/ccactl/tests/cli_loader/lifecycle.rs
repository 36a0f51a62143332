//! From load to unload, with and without interruptions, on the real kernel.

use crate::host::{Host, eventually, failed, registered};
use nix::sys::signal::Signal;
use serde_json::Value;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

#[test]
fn load_status_and_unload_agree() {
    let Some(host) = Host::with_root() else { return };
    let (name, cgroup) = (host.name(), host.cgroup());
    let args = ["load", "f-bbrv2", "--cgroup", &cgroup, "--create", "--as", &name];
    assert!(host.ok(&args).contains(&format!("{cgroup}: new sockets get {name}")));
    assert!(host.ok(&args).contains("nothing changed"));

    let status = host.policies();
    let rows = status.as_array().unwrap();
    assert_eq!(rows.len(), 1);
    assert_eq!(rows[0]["cgroup"], cgroup.as_str());
    assert_eq!(rows[0]["algorithm"], "f-bbrv2");
    assert_eq!(rows[0]["kernel_name"], name.as_str());
    assert_eq!(rows[0]["state"], "active");
    let since = rows[0]["attached_since"].as_str().unwrap();
    assert!(since.len() == 20 && since.ends_with('Z') && &since[10..11] == "T", "{since}");
    let shown = host.json(&["show", "f-bbrv2", "--json"]);
    for tunable in shown["tunables"].as_array().unwrap() {
        assert_eq!(rows[0]["tunables"][tunable["name"].as_str().unwrap()], tunable["default"]);
    }

    assert!(host.ok(&["unload", "--cgroup", &cgroup, "--remove-cgroup"]).contains(&name));
    assert!(!registered(&name) && !host.bpffs().exists() && !host.directory().exists());
    assert_eq!(host.policies(), Value::Array(Vec::new()));
}

#[test]
fn a_cgroup_removed_while_attached_is_cleared_by_id() {
    let Some(host) = Host::with_root() else { return };
    let (name, cgroup) = (host.name(), host.cgroup());
    host.ok(&host.load_args(&name, &cgroup));
    fs::remove_dir(host.directory()).unwrap();
    let row = host.policies()[0].clone();
    assert_eq!((&row["cgroup"], &row["state"]), (&Value::Null, &Value::from("cgroup-removed")));
    let id = row["cgroup_id"].to_string();
    assert!(host.ok(&["status"]).contains(&format!("ccactl unload --id {id}")));
    host.ok(&["unload", "--id", &id]);
    failed(&host.ccactl(&["unload", "--id", &id]), 2, &["no policy", &id]);
    assert!(!registered(&name) && !host.bpffs().exists());
}

#[test]
fn probe_finds_that_all_algorithms_load() {
    let Some(host) = Host::with_root() else { return };
    let report = host.json(&["probe", "--json"]);
    for row in report["algorithms"].as_array().unwrap() {
        assert_eq!((&row["loads"], &row["problem"]), (&Value::Bool(true), &Value::Null), "{row}");
    }
    assert!(!host.bpffs().exists());
}

#[test]
fn probe_takes_an_object_file_and_says_in_one_line_what_is_wrong_with_it() {
    let Some(host) = Host::with_root() else { return };
    let file = host.run.path().join("mine.bpf.o");
    let name = file.to_str().unwrap();
    failed(&host.ccactl(&["probe", name]), 2, &[name, "No such file"]);
    fs::write(&file, ccactl_abi::Algorithm::by_name("reno").unwrap().object()).unwrap();
    assert!(host.ok(&["probe", name]).contains("(bpf_reno) loads and registers"));
    assert_eq!(host.json(&["probe", name, "--json"])["kernel_name"], "bpf_reno");
    fs::write(&file, "int main() {}").unwrap();
    failed(&host.ccactl(&["probe", name]), 3, &[name, "does not load"]);
}

/// Kills load and unload at ever later moments, until they have run to their end unharmed: wherever the kill falls, the
/// next call succeeds and nothing stays in the end.
#[test]
fn a_kill_at_any_moment_is_made_good_by_the_next_call() {
    let Some(host) = Host::with_root() else { return };
    let (name, cgroup) = (host.name(), host.cgroup());
    let load = host.load_args(&name, &cgroup);
    let unload = ["unload", "--cgroup", &cgroup];
    let mut kills = 0;
    for (victim, next) in [(&load[..], &load[..]), (&unload[..], &load[..]), (&load[..], &unload[..])] {
        for delay_ms in (0..200).step_by(3) {
            if victim == unload {
                host.ok(&load);
            } else if host.directory().exists() {
                host.ok(&unload);
            }
            let killed = kill_after(host.command(victim), Duration::from_millis(delay_ms));
            kills += u32::from(killed);
            if next != unload || host.directory().exists() {
                host.ok(next);
            }
            if next == load {
                let row = host.policies()[0].clone();
                assert_eq!(row["state"], "active", "after {victim:?} killed at {delay_ms} ms");
                assert_eq!(row["kernel_name"], name.as_str());
            } else {
                assert!(!host.bpffs().exists(), "after {victim:?} killed at {delay_ms} ms");
            }
            if !killed {
                break;
            }
        }
    }
    eprintln!("{kills} kills");
    assert!(kills >= 3, "the kills came too late to hit anything");
    host.ok(&unload);
    eventually("nothing is left", || !registered(&name) && !host.bpffs().exists());
}

/// Whether the kill ended it.
fn kill_after(mut command: Command, delay: Duration) -> bool {
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    thread::sleep(delay);
    child.kill().unwrap();
    child.wait().unwrap().signal() == Some(Signal::SIGKILL as i32)
}
