//! SIGKILL at every point of every operation: `status` stays true, connections live on, the next command works, and
//! nothing is left in the end.

use crate::host::{Host, eventually, registered};
use crate::live::Live;
use ccactl_loader::fault::POINTS;
use nix::sys::signal::Signal;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::process::ExitStatusExt;
use std::process::Stdio;

/// An operation to be killed, on a cgroup that is at `first`.
struct Operation {
    name: &'static str,
    args: Vec<String>,
    /// Points that only other operations pass.
    passes: &'static [&'static str],
}

fn operations(cgroup: &str, first: &str, second: &str) -> Vec<Operation> {
    let args = |words: &[&str]| words.iter().map(ToString::to_string).collect();
    vec![
        Operation {
            name: "load",
            args: args(&["load", "cubic", "--cgroup", cgroup, "--as", second]),
            passes: &["registered", "attached", "history", "policy", "collected"],
        },
        Operation {
            name: "load --replace",
            args: args(&["load", "cubic", "--cgroup", cgroup, "--as", first, "--replace"]),
            passes: &["replacing", "replaced", "registered"],
        },
        Operation {
            name: "swap",
            args: args(&["swap", "cubic", "--cgroup", cgroup, "--as", second]),
            passes: &["registered", "attached", "history", "policy", "moving", "moved", "settled", "collected"],
        },
        Operation {
            name: "rollback",
            args: args(&["rollback", "--cgroup", cgroup]),
            passes: &["registered", "policy", "moving", "moved", "settled", "history-dropped", "collected"],
        },
        Operation {
            name: "unload",
            args: args(&["unload", "--cgroup", cgroup]),
            passes: &["leaving", "moving", "given-back", "detached", "policy-removed", "collected"],
        },
    ]
}

#[test]
fn a_kill_at_every_point_of_every_operation_is_made_good_by_the_next_call() {
    let Some(host) = Host::with_root() else { return };
    let cgroup = host.cgroup();
    let [first, second, third] = ["a", "b", "c"].map(|suffix| format!("{}{suffix}", host.name()));
    host.ok(&host.load_args(&third, &cgroup));
    let mut live = Live::open(&host, 6);
    let mut passed = BTreeSet::new();
    for operation in operations(&cgroup, &first, &second) {
        for point in operation.passes {
            passed.insert(*point);
            for next in ["again", "rollback", "unload"] {
                let context = format!("{} killed at '{point}', then {next}", operation.name);
                host.ok(&host.load_args(&third, &cgroup));
                host.ok(&["swap", "reno", "--cgroup", &cgroup, "--as", &third]);
                host.ok(&["swap", "reno", "--cgroup", &cgroup, "--as", &first]);
                kill(&host, &operation, point, &context);
                assert_status_is_true(&host, &live, &context);
                live.move_bytes();
                go_on(&host, &operation, next, &context);
                assert_settled(&host, &live, next, &context);
                live.move_bytes();
            }
        }
    }
    // These have tests of their own.
    passed.insert("canary-moved");
    passed.extend(RECEIVER_POINTS);
    assert_eq!(passed, POINTS.iter().copied().collect(), "each point is passed by an operation");
    drop(live);
    eventually("nothing is left", || {
        host.ok(&["unload", "--all"]);
        !host.bpffs().exists() && [&first, &second, &third].iter().all(|name| !registered(name))
    });
}

fn kill(host: &Host, operation: &Operation, point: &str, context: &str) {
    let args: Vec<&str> = operation.args.iter().map(String::as_str).collect();
    let mut command = host.command(&args);
    let status = command.env("CCACTL_FAULT", point).stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap();
    assert_eq!(status.signal(), Some(Signal::SIGKILL as i32), "{context}: the point was not passed: {status:?}");
}

/// `status` counts what `getsockopt` shows.
fn assert_status_is_true(host: &Host, live: &Live, context: &str) {
    let status = host.policies();
    let real = live.by_algorithm();
    let Some(row) = status.get(0) else {
        assert!(real.keys().all(|name| !name.starts_with(&host.name())), "{context}: {real:?}");
        return;
    };
    let told: BTreeMap<String, u64> = serde_json::from_value(row["sockets"]["by_algorithm"].clone()).unwrap();
    if row["state"] == "leaving" {
        // Sockets that have been given back are not the policy's any more.
        assert!(told.iter().all(|(name, count)| real.get(name).is_some_and(|real| real >= count)), "{context}: {row}");
    } else {
        assert_eq!(told, real, "{context}: {row}");
    }
}

/// The next command, which must succeed whatever the kill has left.
fn go_on(host: &Host, operation: &Operation, next: &str, context: &str) {
    let cgroup = host.cgroup();
    let has_policy = |host: &Host| host.policies().get(0).is_some();
    let unload = ["unload", "--cgroup", &cgroup];
    match next {
        "unload" => drop(host.ok(&unload)),
        // A rollback or an unload that was killed may have done its work, or leave it to the next one.
        "rollback" if operation.name == "unload" => {
            let output = host.ccactl(&["rollback", "--cgroup", &cgroup]);
            let code = output.status.code();
            assert!(matches!(code, Some(0 | 2)), "{context}: {}", String::from_utf8_lossy(&output.stderr));
        }
        "rollback" => drop(host.ok(&["rollback", "--cgroup", &cgroup])),
        _ => {
            let args: Vec<&str> = operation.args.iter().map(String::as_str).collect();
            assert!(operation.name == "unload" || has_policy(host), "{context}");
            host.ok(&args);
        }
    }
}

/// Policy and sockets agree, or there is neither.
fn assert_settled(host: &Host, live: &Live, next: &str, context: &str) {
    let status: Value = host.policies();
    let real = live.by_algorithm();
    let Some(row) = status.get(0) else {
        assert!(real.keys().all(|name| !name.starts_with(&host.name())), "{context}: {real:?}");
        return;
    };
    assert_ne!(next, "unload", "{context}: {row}");
    assert_eq!(row["state"], "active", "{context}");
    // A load leaves live sockets alone; everything else takes them along.
    if !context.starts_with("load") || next == "rollback" {
        let name = row["kernel_name"].as_str().unwrap().to_owned();
        assert_eq!(real, [(name, live.sockets())].into(), "{context}");
        assert_eq!(row["sockets"]["as_policy"].as_u64(), Some(live.sockets()), "{context}");
    }
}

const RECEIVER_POINTS: [&str; 4] =
    ["receiver-recorded", "receiver-replacing", "receiver-replaced", "receiver-detached"];

#[test]
fn a_kill_while_a_receiving_algorithm_comes_changes_or_goes_is_made_good_by_the_next_call() {
    let Some(host) = Host::with_root() else { return };
    let cgroup = host.cgroup();
    let name = format!("{}a", host.name());
    host.ok(&host.load_args(&name, &cgroup));
    let load = ["load", "--receive", "drwa", "--cgroup", &cgroup];
    let swap = ["swap", "--receive", "fixed-clamp", "--set", "bytes=100000", "--cgroup", &cgroup];
    let unload = ["unload", "--receive", "--cgroup", &cgroup];
    let receiver = |host: &Host| {
        let status = host.policies();
        status.as_array().unwrap().iter().find(|row| !row["receive"].is_null()).cloned()
    };
    let mut live = Live::open(&host, 3);
    for (args, point, told) in [
        (&load[..], "receiver-recorded", ("drwa", "detached")),
        (&swap, "receiver-replacing", ("drwa", "active")),
        (&swap, "receiver-replaced", ("fixed-clamp", "active")),
        (&unload, "receiver-detached", ("drwa", "detached")),
    ] {
        for next in ["again", "unload"] {
            let context = format!("{args:?} killed at '{point}', then {next}");
            host.ok(&unload);
            if point != "receiver-recorded" {
                host.ok(&load);
            }
            let args = args.iter().map(ToString::to_string).collect();
            let operation = Operation { name: "receive", args, passes: &[] };
            kill(&host, &operation, point, &context);
            let row = receiver(&host).unwrap_or_else(|| panic!("{context}: nothing is told"));
            assert_eq!((row["receive"].as_str(), row["state"].as_str()), (Some(told.0), Some(told.1)), "{context}");
            live.move_bytes();
            if next == "again" && operation.args[0] != "unload" {
                host.ok(&operation.args.iter().map(String::as_str).collect::<Vec<_>>());
                assert_eq!(receiver(&host).expect("it is there")["state"], "active", "{context}");
            }
            host.ok(&unload);
            assert_eq!(receiver(&host), None, "{context}");
            live.move_bytes();
        }
    }
    drop(live);
    eventually("nothing is left", || {
        host.ok(&["unload", "--all"]);
        !host.bpffs().exists()
    });
}

/// A canary that nobody watches any more is told by `status`, and whatever comes next ends it.
#[test]
fn a_canary_that_is_killed_while_it_starts_watches_or_ends_is_told_and_taken_back() {
    let Some(host) = Host::with_root() else { return };
    let cgroup = host.cgroup();
    let [first, second] = ["a", "b"].map(|suffix| format!("{}{suffix}", host.name()));
    host.ok(&host.load_args(&first, &cgroup));
    let mut live = Live::open(&host, 10);
    let evidence = host.run.path().to_str().unwrap().to_owned();
    let canary = [
        "swap",
        "cubic",
        "--cgroup",
        &cgroup,
        "--as",
        &second,
        "--canary",
        "50%",
        "--watch",
        "5s",
        "--min-flows",
        "1",
        "--revert-if",
        "goodput < 0.001 * baseline",
        "--evidence",
        &evidence,
    ];
    // The second pass of `policy` and of `moved` is the revert at the end: idle connections give no data to promote on.
    for point in
        ["registered", "policy", "moving", "moved", "settled", "canary-moved", "watching", "policy:2", "moved:2"]
    {
        // A load that changes nothing else ends it as well.
        let same = ["load", "reno", "--cgroup", &cgroup, "--as", &first];
        for next in [&["rollback", "--cgroup", &cgroup][..], &["unload", "--cgroup", &cgroup], &same] {
            let context = format!("canary killed at '{point}', then {}", next[0]);
            host.ok(&host.load_args(&first, &cgroup));
            host.ok(&["swap", "reno", "--cgroup", &cgroup, "--as", &first]);
            kill_canary(&host, &canary, point, &context);
            assert_status_is_true(&host, &live, &context);
            let row = host.policies()[0].clone();
            assert_eq!(row["kernel_name"], first.as_str(), "{context}");
            let is_there = !matches!(point, "registered" | "policy:2" | "moved:2");
            assert_eq!(row["canary"]["watched"].as_bool(), is_there.then_some(false), "{context}: {row}");
            live.move_bytes();
            if next[0] == "unload" || is_there {
                host.ok(next);
            } else {
                // Without a canary it is the policy that a rollback takes back: something else is next here.
                host.ok(&same);
            }
            let canary = host.policies()[0]["canary"].clone();
            assert!(canary.is_null(), "{context}: {canary}");
            assert!(!live.by_algorithm().contains_key(&second), "{context}: {:?}", live.by_algorithm());
            assert_settled(&host, &live, next[0], &context);
            live.move_bytes();
        }
    }
    drop(live);
    eventually("nothing is left", || {
        host.ok(&["unload", "--all"]);
        !host.bpffs().exists() && [&first, &second].iter().all(|name| !registered(name))
    });
}

fn kill_canary(host: &Host, canary: &[&str], point: &str, context: &str) {
    let mut command = host.command(canary);
    command.env("CCACTL_FAULT", point).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    if point == "watching" {
        eventually("the canary is watched", || host.policies()[0]["canary"]["watched"] == true);
        eventually("it has moved", || host.policies()[0]["state"] == "active");
        child.kill().unwrap();
    }
    let status = child.wait().unwrap();
    assert_eq!(status.signal(), Some(Signal::SIGKILL as i32), "{context}: the point was not passed: {status:?}");
}
