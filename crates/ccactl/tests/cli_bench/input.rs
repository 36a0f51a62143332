//! Bad input: one line, the right exit code, nothing made.

use crate::host::{Host, failed};
use crate::scenario::{Bench, flow};
use std::fs;

fn good() -> Bench {
    Bench::new("2s", &flow("one", "reno", ""))
}

fn args(bench: &Bench) -> Vec<String> {
    bench.args()
}

fn run(host: &Host, args: &[String]) -> std::process::Output {
    host.ccactl(&args.iter().map(String::as_str).collect::<Vec<_>>())
}

#[test]
fn a_malformed_scenario_names_file_line_and_field() {
    let host = Host::new();
    let bench = good();
    let text = fs::read_to_string(bench.file()).unwrap();
    for (good, bad, words) in [
        ("rate = ", "speed = ", "test.toml:3: link.speed: unknown field"),
        ("20Mbit/s", "20Mbps", "test.toml:3: link.rate: expected a rate"),
        ("\"reno\"", "\"renno\"", "test.toml:8: flow[0].algorithm: unknown algorithm 'renno'; nearest: reno"),
        ("[link]", "[link", "test.toml:2: not valid TOML"),
    ] {
        fs::write(bench.file(), text.replace(good, bad)).unwrap();
        failed(&run(&host, &args(&bench)), 2, &[words]);
        assert!(!bench.output().exists(), "{bad}: the output folder was made");
    }
}

#[test]
fn two_flows_with_one_name_are_refused() {
    let bench = Bench::new("2s", &(flow("one", "reno", "") + &flow("one", "cubic", "")));
    failed(&run(&Host::new(), &args(&bench)), 2, &["flow[1].name", "one\\\" twice"]);
}

#[test]
fn a_scenario_that_is_neither_file_nor_shipped_is_refused() {
    failed(&Host::new().ccactl(&["bench", "fbbr-vs-cubic"]), 2, &["fbbr-vs-cubic", "shipped", "fbbrv2-vs-cubic"]);
}

#[test]
fn a_change_that_does_not_fit_is_refused() {
    let host = Host::new();
    let bench = good();
    for (flag, value, words) in [
        ("--duration", "5", "duration: expected a time span"),
        ("--buffer", "0.5", "link.buffer: expected a buffer"),
        ("--loss", "1.5", "link.loss: expected a probability"),
        ("--repeat", "0", "repeat: expected 1 to 1000"),
        ("--algorithm", "two=reno", "expected a flow of this scenario"),
        ("--set", "link.speed=1", "link.speed: unknown field"),
    ] {
        let mut args = args(&bench);
        args.extend([flag.to_owned(), value.to_owned()]);
        failed(&run(&host, &args), 2, &[words]);
    }
}

#[test]
fn an_output_folder_that_cannot_be_written_or_is_in_use_is_refused_before_anything_starts() {
    let Some(host) = Host::with_root() else { return };
    let bench = good();
    let mut to_proc = args(&bench);
    to_proc[3] = "/proc/ccactl-out".to_owned();
    failed(&run(&host, &to_proc), 2, &["/proc/ccactl-out", "expected a folder that can be written"]);

    fs::create_dir(bench.output()).unwrap();
    fs::write(bench.output().join("result.json"), "{}").unwrap();
    failed(&run(&host, &args(&bench)), 2, &["the results of another bench"]);
    assert_eq!(fs::read_dir(bench.output()).unwrap().count(), 1, "the old results are as they were");
    assert!(!host.bpffs().exists());
}

#[test]
fn without_the_capabilities_nothing_is_made() {
    let host = Host::new();
    let bench = good();
    let status = host.run.path().join("status");
    fs::write(&status, "CapEff:\t0000000000000000\n").unwrap();
    let arguments = args(&bench);
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let output = host.command(&arguments).env("CCACTL_PROC_STATUS", &status).output().unwrap();
    failed(&output, 4, &["CAP_"]);
    assert!(!bench.output().exists());
}

#[test]
fn a_calibration_needs_the_capabilities_too_and_keeps_nothing_without_them() {
    let host = Host::new();
    let status = host.run.path().join("status");
    fs::write(&status, "CapEff:\t0000000000000000\n").unwrap();
    let cache = host.run.path().join("cache");
    let mut command = host.command(&["bench", "calibrate", "--quick"]);
    let output = command.env("CCACTL_PROC_STATUS", &status).env("XDG_CACHE_HOME", &cache).output().unwrap();
    failed(&output, 4, &["CAP_"]);
    assert!(!cache.exists(), "no calibration");
}

#[test]
fn a_run_is_tried_at_least_once() {
    let host = Host::new();
    let mut args = args(&good());
    args.extend(["--attempts".to_owned(), "0".to_owned()]);
    let output = run(&host, &args);
    assert_eq!(output.status.code(), Some(2));
}
