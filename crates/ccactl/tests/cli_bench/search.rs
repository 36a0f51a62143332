//! `ccactl search`: a path on which an algorithm does badly, and values with which it does well.

use crate::host::{Host, failed};
use crate::needs;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

/// Another than those of the other tests, so that no boot is in vain.
const GUEST: &str = "6.1";
/// Small paths: a second of search.
const SMALL: [&str; 10] =
    ["--rate", "1Mbit/s..4Mbit/s", "--rtt", "20ms..60ms", "--duration", "6s", "--events", "2", "--candidates", "60"];

/// A window of four packets, whatever the path: it leaves every long path unused.
const USELESS: &str = include_str!("../../../../docs/evaluation/useless.bpf.c");

fn found(host: &Host, algorithm: &str, folder: &Path, further: &[&str]) -> Value {
    let output = ["-o", folder.to_str().unwrap(), "--json"];
    let mut command = host.command(&[&["search", algorithm], &SMALL[..], &output, further].concat());
    // The kernels are in the cache of whoever runs the tests.
    match std::env::var_os("XDG_CACHE_HOME") {
        Some(cache) => command.env("XDG_CACHE_HOME", cache),
        None => command.env_remove("XDG_CACHE_HOME"),
    };
    let ended = command.output().unwrap();
    let stderr = String::from_utf8_lossy(&ended.stderr);
    serde_json::from_slice(&ended.stdout).unwrap_or_else(|error| panic!("{error}: {stderr}"))
}

fn useless(folder: &Path) -> PathBuf {
    let file = folder.join("useless.bpf.c");
    fs::write(&file, USELESS).unwrap();
    file
}

#[test]
fn a_file_of_ones_own_is_searched_and_the_finding_is_a_scenario() {
    let host = Host::new();
    let room = tempfile::tempdir().unwrap();
    let file = useless(room.path());
    let folder = room.path().join("one");
    let found_one = found(&host, file.to_str().unwrap(), &folder, &["--no-replay"]);
    let badness = |found: &Value| found["simulated"].as_f64().unwrap();
    assert!(badness(&found_one) > 0.5, "{found_one}");
    assert_eq!(found_one["other"][0], "native:cubic");
    assert!(badness(&found_one) > found_one["other"][1].as_f64().unwrap());
    assert!(fs::read_to_string(folder.join("finding.html")).unwrap().contains("In the simulator"));

    // What the search saw is what the scenario does, by itself and in a folder of its own.
    let scenario = folder.join("scenario.toml");
    let again = host.json(&[
        "bench",
        scenario.to_str().unwrap(),
        "--sim",
        "--json",
        "-o",
        room.path().join("again").to_str().unwrap(),
    ]);
    let earlier: Value = serde_json::from_slice(&fs::read(folder.join("simulated/result.json")).unwrap()).unwrap();
    assert_eq!(again["runs"][0]["flows"][0]["received_bytes"], earlier["runs"][0]["flows"][0]["received_bytes"]);

    // The same seed finds the same, with other threads.
    let two = found(&host, file.to_str().unwrap(), &room.path().join("two"), &["--no-replay", "--jobs", "1"]);
    assert_eq!(found_one, two);
    let text = |name: &str| fs::read_to_string(room.path().join(name).join("scenario.toml")).unwrap();
    assert_eq!(text("one"), text("two"));
}

#[test]
fn a_finding_is_replayed_on_a_kernel() {
    let Some(_) = needs::kernel(GUEST) else { return };
    let host = Host::new();
    let room = tempfile::tempdir().unwrap();
    let file = useless(room.path());
    let folder = room.path().join("found");
    let found = found(&host, file.to_str().unwrap(), &folder, &["--lab", &format!("vm:{GUEST}")]);
    let replayed = &found["replayed"];
    assert!(replayed["kernel"].as_str().unwrap().starts_with(GUEST), "{found}");
    assert_eq!((replayed["runs"].as_array().unwrap().len(), &replayed["confirmed"]), (3, &true.into()), "{found}");
    let apart = replayed["mildest"].as_f64().unwrap() - found["simulated"].as_f64().unwrap();
    assert!(apart.abs() < 0.05, "four packets per round trip are the same everywhere: {found}");
    assert!(fs::read_to_string(folder.join("finding.html")).unwrap().contains("On Linux 6.1"));
}

#[test]
fn values_are_tuned_on_paths_and_judged_on_others() {
    let host = Host::new();
    let ended = host.ccactl(&[
        "search",
        "cubic",
        "--tune",
        "beta=300..1000",
        "--training",
        "3",
        "--candidates",
        "40",
        "--runs",
        "1",
        "--rate",
        "2Mbit/s..4Mbit/s",
        "--rtt",
        "20ms..60ms",
        "--duration",
        "6s",
        "--objective",
        "queue",
        "--json",
    ]);
    let tuned: Value =
        serde_json::from_slice(&ended.stdout).unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&ended.stderr)));
    assert_eq!(tuned["values"][0][0], "beta");
    let rows = tuned["rows"].as_array().unwrap();
    assert_eq!(rows.iter().map(|row| row["held_out"] == true).collect::<Vec<_>>(), [false, true]);
    // Who backs off by more keeps a shorter queue.
    assert!(rows[0]["after"].as_f64() < rows[0]["before"].as_f64(), "{tuned}");
}

#[test]
fn what_cannot_be_searched_is_said_before_anything_runs() {
    let host = Host::new();
    let room = tempfile::tempdir().unwrap();
    let refused = |args: &[&str], expected: &[&str]| {
        let folder = room.path().join("refused");
        let output = ["-o", folder.to_str().unwrap(), "--no-replay"];
        failed(&host.ccactl(&[&["search"], args, &output].concat()), 2, expected);
        assert!(!folder.exists(), "nothing is made: {args:?}");
    };
    refused(&["reno", "--rate", "9Mbit/s..3Mbit/s"], &["--rate: expected the smaller value first"]);
    refused(&["reno", "--buffer", "20p"], &["--buffer: expected a multiple of the BDP", "found 20p"]);
    refused(&["cubic", "--tune", "gamma"], &["--tune: expected a tunable of cubic (beta, "]);
    refused(&["renno"], &["renno", "reno"]);
}
