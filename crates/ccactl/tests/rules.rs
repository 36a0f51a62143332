//! The alerts of `packaging/prometheus`, tested by Prometheus' own tool, and by what the exporter really has.

use std::path::Path;
use std::process::Command;

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../packaging/prometheus");

#[test]
fn the_rules_do_what_their_tests_say() {
    let promtool = |words: &[&str]| Command::new("promtool").args(words).current_dir(FOLDER).output();
    let Ok(checked) = promtool(&["check", "rules", "ccactl.rules.yml"]) else {
        assert_ne!(std::env::var("CI").as_deref(), Ok("true"), "CI tests the rules, so it needs promtool");
        eprintln!("not run: needs promtool");
        return;
    };
    let text = |output: &std::process::Output| String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stderr));
    assert!(text(&checked).contains("12 rules found"), "{}", text(&checked));
    let tested = promtool(&["test", "rules", "ccactl.tests.yml"]).unwrap();
    assert!(tested.status.success(), "{}{}", text(&tested), String::from_utf8_lossy(&tested.stderr));
}

/// A rule on a metric that does not exist has no data, which is no alert.
#[test]
fn every_metric_of_a_rule_is_one_of_the_exporter() {
    let read = |path: &str| std::fs::read_to_string(Path::new(FOLDER).join(path)).unwrap();
    let (rules, documented) = (read("ccactl.rules.yml"), read("../../docs/how-to/exporter.md"));
    let is_of_a_name = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == ':';
    let names = rules.lines().filter(|line| !line.trim_start().starts_with('#'));
    let names = names.flat_map(|line| line.split(|c| !is_of_a_name(c)));
    let mut seen = 0;
    for name in names.filter(|name| name.starts_with("ccactl_") && !["ccactl_group", "ccactl_"].contains(name)) {
        seen += 1;
        let family = name.trim_end_matches("_bucket");
        assert!(documented.contains(&format!("`{family}`")), "{name}");
    }
    assert!(seen > 10, "{seen}");
}
