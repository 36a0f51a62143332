//! A recording of sockets that send nothing: what their receiving algorithm offers, and the report of it.

use crate::host::Host;
use crate::live::Live;
use serde_json::Value;
use std::process::Stdio;
use std::thread::sleep;
use std::time::Duration;

/// More than two segments of loopback, which is the least that is offered.
const LIMIT_BYTES: u64 = 200_000;

#[test]
fn a_recording_has_what_a_receiver_offers_and_the_limit_behind_it() {
    let Some(host) = Host::with_root() else { return };
    let cgroup = host.cgroup();
    let limit = format!("bytes={LIMIT_BYTES}");
    let file = host.run.path().join("x.parquet");
    let file = file.to_str().unwrap();
    host.ok(&["load", "--receive", "fixed-clamp", "--set", &limit, "--cgroup", &cgroup, "--create"]);
    // Other tests hold the process's cgroup for a while.
    let mut live = Live::open(&host, 2);
    let record = ["record", "--cgroup", &cgroup, "--duration", "4s", "-o", file];
    let mut recorder = host.command(&record).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    while recorder.try_wait().unwrap().is_none() {
        live.upload();
        sleep(Duration::from_millis(50));
    }
    assert!(recorder.wait().unwrap().success());

    let report = host.json(&["report", "--json", file]);
    let receivers = report["recordings"][0]["receivers"].as_array().expect("receivers");
    let received = |of: &&Value| of["received_bytes"].as_u64().unwrap() > 5 * 64 * 1024;
    let passive: Vec<&Value> = receivers.iter().filter(received).collect();
    assert_eq!(passive.len(), 2, "both sides that only receive: {receivers:#?}");
    for receiver in passive {
        assert_eq!(receiver["limit_max_bytes"], LIMIT_BYTES);
        let offered = receiver["offered_mean_bytes"].as_f64().unwrap();
        // Rounded up to the unit of the window, which scales with tcp_rmem.
        assert!((1.0..LIMIT_BYTES as f64 + 4096.0).contains(&offered), "{offered}");
    }
    let text = host.ok(&["report", file]);
    assert!(text.contains("receiver") && text.contains("200"), "{text}");
}
