//! Changes of algorithm in the middle of a run.

use crate::figures::{last_run, run};
use crate::host::Host;
use crate::scenario::{Bench, flow};
use serde_json::json;
use std::fs;

/// A `[[swap]]` of the flow `only`.
fn swap(at: &str, algorithm: &str, lines: &str) -> String {
    format!("[[swap]]\nat = \"{at}\"\nflow = \"only\"\nalgorithm = \"{algorithm}\"\n{lines}\n")
}

#[test]
fn a_scheduled_swap_moves_the_flow_and_is_in_the_result_and_in_the_report() {
    let Some(host) = Host::with_root() else { return };
    let name = host.name();
    let flows = [
        flow("only", "native:reno", ""),
        swap("1500ms", "f-bbrv2", &format!("as = \"{name}\"\nset = {{ alpha = 1.3 }}")),
        swap("3s", "native:cubic", ""),
    ];
    // Long after the last swap: on a busy machine one may take a second.
    let bench = Bench::new("6s", &flows.concat());
    let (result, output, left) = run(&host, &bench);
    assert_eq!(left, Vec::<String>::new());

    let run = last_run(&result);
    let swaps = run["swaps"].as_array().unwrap();
    let names: Vec<_> = swaps.iter().map(|swap| [&swap["from"], &swap["kernel_name"], &swap["now"]]).collect();
    assert_eq!(names, [[&json!("reno"), &json!(name), &json!(name)], [&json!(name), &json!("cubic"), &json!("cubic")]]);
    for (swap, at_s) in swaps.iter().zip([1.5, 3.0]) {
        assert_eq!([&swap["moved"], &swap["sockets"], &swap["verified"]], [1, 1, 1], "{swap}");
        assert_eq!((&swap["refused_by_algorithm"], &swap["at_s"]), (&json!(0), &json!(at_s)));
        let (started_s, ended_s) = (swap["started_s"].as_f64().unwrap(), swap["ended_s"].as_f64().unwrap());
        assert!(at_s <= started_s && started_s <= ended_s, "{swap}");
    }

    // The recording says the same, in the result, in the report and on the page.
    let changes = &run["flows"][0]["changes"];
    let seen: Vec<_> = changes.as_array().unwrap().iter().map(|c| c["to_kernel_name"].as_str().unwrap()).collect();
    assert_eq!(seen, [&name, "cubic"]);
    let before_bps = changes[0]["before"]["goodput_bps"].as_f64().unwrap();
    assert!((5e6..21e6).contains(&before_bps), "{before_bps} bit/s of 20 Mbit/s");
    assert!(changes[0]["lowest_goodput_bps"].is_number() && changes[0]["after"]["cwnd_pkts"].as_u64().unwrap() > 0);
    if !run["valid"].as_bool().unwrap() {
        eprintln!("the run was not valid on this machine now: {}", String::from_utf8_lossy(&output.stderr));
    }
    let recording = bench.output().join(run["directory"].as_str().unwrap()).join("recording.parquet");
    let report = host.json(&["report", &recording.display().to_string(), "--json"]);
    assert_eq!(report["recordings"][0]["flows"][0]["changes"], *changes);
    assert_eq!(report["recordings"][0]["flows"][0]["algorithm"], "native:reno → f-bbrv2 → native:cubic");
    let page = fs::read_to_string(bench.output().join("report.html")).unwrap();
    assert!(page.contains("<h3>Swaps</h3>") && page.contains("f-bbrv2 → native:cubic"), "the page has the table");
}

#[test]
fn a_tour_is_carried_out_stop_by_stop() {
    let Some(host) = Host::with_root() else { return };
    let tour = "tour = { every = \"700ms\", through = [\"native:cubic\", \"native:reno\", \"native:cubic\"] }";
    let bench = Bench::new("6s", &flow("only", "native:reno", tour));
    let (result, _, left) = run(&host, &bench);
    assert_eq!(left, Vec::<String>::new());
    let swaps = last_run(&result)["swaps"].as_array().unwrap().clone();
    let stops: Vec<_> = swaps.iter().map(|swap| (swap["at_s"].as_f64().unwrap(), swap["now"].clone())).collect();
    assert_eq!(stops, [(0.7, json!("cubic")), (1.4, json!("reno")), (2.1, json!("cubic"))]);
    let resolved = fs::read_to_string(bench.output().join("scenario.toml")).unwrap();
    assert_eq!(resolved.matches("[[swap]]").count(), 3, "{resolved}");
}

#[test]
fn a_flow_without_ecn_that_dctcp_refuses_is_shown_with_what_it_keeps() {
    let Some(host) = Host::with_root() else { return };
    let name = host.name();
    let flows = flow("only", "native:cubic", "") + &swap("1s", "dctcp", &format!("as = \"{name}\""));
    let (result, _, left) = run(&host, &Bench::new("4s", &flows));
    assert_eq!(left, Vec::<String>::new());
    let swap = &last_run(&result)["swaps"][0];
    assert_eq!([&swap["moved"], &swap["refused_by_algorithm"], &swap["sockets"]], [0, 1, 0], "{swap}");
    assert_eq!([&swap["kernel_name"], &swap["now"]], [name.as_str(), "cubic"]);
    assert_eq!(last_run(&result)["flows"][0]["changes"], json!([]), "the recording shows no change");
}

#[test]
fn a_swap_that_finds_no_live_socket_ends_the_bench_and_leaves_nothing() {
    let Some(host) = Host::with_root() else { return };
    let flows = flow("only", "native:reno", "bytes = 100000") + &swap("2s", "native:cubic", "");
    let bench = Bench::new("4s", &flows);
    let (status, stderr, left) = crate::ends::run_to_its_end(&host, &bench);
    assert_eq!(status.code(), Some(1), "{stderr}");
    assert!(stderr.contains("flow only: swap to native:cubic at 2s: expected a live socket to move"), "{stderr}");
    assert_eq!(left, Vec::<String>::new());
    assert!(!bench.output().join("result.json").exists(), "no result of half a run");
}
