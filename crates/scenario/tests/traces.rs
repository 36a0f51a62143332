//! Traces of packet-delivery opportunities: files beside the scenario.

use ccactl_link::RatePlan;
use ccactl_scenario::units::{Rate, Span};
use ccactl_scenario::{Scenario, ScenarioError};
use std::path::Path;

const SCENARIO: &str = r#"duration = "10s"
[link]
rate_trace = "lte.down"
base_rtt = "40ms"
buffer = { bdp = 1 }
[[flow]]
name = "one"
algorithm = "reno"
"#;

fn parse(folder: &Path, text: &str) -> Result<Scenario, ScenarioError> {
    Scenario::parse(folder.join("mine.toml").to_str().unwrap(), text)
}

fn folder(trace: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("lte.down"), trace).unwrap();
    folder
}

#[test]
fn a_trace_is_read_from_the_folder_of_the_scenario_and_gives_its_mean_rate() {
    let folder = folder("1\n1\n2\n4\n");
    let link = parse(folder.path(), SCENARIO).unwrap().link;
    // 4 × 1504 bytes in 4 ms.
    assert_eq!((link.rate, link.buffer_bytes()), (Rate { bps: 12_032_000 }, 60_160));
    let RatePlan::Trace(trace) = link.config(1).rate else { panic!("no trace") };
    assert_eq!((trace.mean_rate_bps(), trace.period()), (12_032_000, 4_000_000));
    let nominal = SCENARIO.replace("base_rtt", "rate = \"10Mbit/s\"\nbase_rtt");
    assert_eq!(parse(folder.path(), &nominal).unwrap().link.rate, Rate { bps: 10_000_000 });
}

#[test]
fn the_utilisation_of_a_run_is_counted_with_the_opportunities_that_it_had() {
    // The second half of the trace is empty, and the run ends before it.
    let folder = folder("1\n2\n3\n4\n5\n10\n");
    let link = parse(folder.path(), &SCENARIO.replace("base_rtt", "rate = \"1Mbit/s\"\nbase_rtt")).unwrap().link;
    let ms = |ms: u64| Span { ns: ms * 1_000_000 };
    assert_eq!(link.mean_rate_bps(ms(5)), 5.0 * 1504.0 * 8.0 / 0.005);
    assert_eq!(link.mean_rate_bps(ms(10)), 6.0 * 1504.0 * 8.0 / 0.010);
}

#[test]
fn the_resolved_scenario_names_the_trace_by_its_content() {
    let source = folder("1\n2\n");
    let scenario = parse(source.path(), SCENARIO).unwrap();
    let trace = scenario.link.rate_trace.as_ref().unwrap();
    let result = tempfile::tempdir().unwrap();
    let resolved = scenario.to_toml();
    let error = parse(result.path(), &resolved).unwrap_err().to_string();
    assert!(error.contains(&trace.file_name()) && error.contains("link.rate_trace: expected a trace in "), "{error}");
    std::fs::write(result.path().join(trace.file_name()), trace.text()).unwrap();
    let again = parse(result.path(), &resolved).unwrap();
    assert_eq!((&again.link.config(1), &again.to_toml()), (&scenario.link.config(1), &resolved));
    std::fs::write(result.path().join(trace.file_name()), "1\n3\n").unwrap();
    let error = parse(result.path(), &resolved).unwrap_err().to_string();
    assert!(error.contains(&format!("expected the content {}", trace.hash)), "{error}");
}

#[test]
fn a_file_that_is_no_trace_is_told_with_both_lines() {
    for (content, message) in [
        ("1\nx\n", "line 2: expected a time in whole milliseconds, found \"x\""),
        ("5\n4\n", "line 2: expected 5 ms or later, as times ascend, found 4 ms"),
        ("", "expected a time above 0 ms, after which the trace repeats, found none"),
    ] {
        let folder = folder(content);
        let error = parse(folder.path(), SCENARIO).unwrap_err().to_string();
        let start = format!(
            "{}:3: link.rate_trace: {}: ",
            folder.path().join("mine.toml").display(),
            folder.path().join("lte.down").display()
        );
        assert_eq!(error, format!("{start}{message}"));
    }
}

#[test]
fn a_trace_is_a_file_that_ends_and_stands_alone() {
    let folder = folder("1\n");
    let error = |from: &str, to: &str| parse(folder.path(), &SCENARIO.replace(from, to)).unwrap_err().to_string();
    assert!(error("lte.down", "none.down").contains("found: No such file"));
    assert!(error("lte.down", "/dev/zero").contains("found: a device, not a regular file"));
    assert!(error("lte.down", ".").contains("found: a folder, not a regular file"));
    let beside = error("base_rtt", "rate_steps = [{ at = \"1s\", rate = \"1Mbit/s\" }]\nbase_rtt");
    assert!(beside.contains("link.rate_steps: expected no steps beside rate_trace"), "{beside}");
    assert!(error("rate_trace = \"lte.down\"", "").contains("link.rate: missing field"));
}
