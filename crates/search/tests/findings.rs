//! What searches have found stays found, or somebody has mended it: the scenarios of `scenarios/findings/`, simulated.

use ccactl_scenario::Scenario;
use ccactl_search::{Objective, mildest};
use ccactl_testbed::bench::Interrupt;
use ccactl_testbed::totals;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

/// How far a finding may be from the list: what other libraries of mathematics make of a cube root, not what another algorithm does.
const APART: f64 = 0.02;
const RUNS: u32 = 3;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/findings")
}

/// `NAME,OBJECTIVE,SIMULATED,…` below a heading.
fn list() -> Vec<(String, Objective, f64)> {
    let text = std::fs::read_to_string(folder().join("findings.csv")).unwrap();
    let row = |line: &str| {
        let fields: Vec<&str> = line.split(',').collect();
        (fields[0].to_owned(), fields[1].parse().unwrap(), fields[2].parse().unwrap())
    };
    text.lines().skip(1).map(row).collect()
}

#[test]
fn the_list_has_every_finding() {
    let named: BTreeSet<String> = list().into_iter().map(|(name, ..)| format!("{name}.toml")).collect();
    let names = std::fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    assert_eq!(names.filter(|name| name.ends_with(".toml")).collect::<BTreeSet<_>>(), named);
}

#[test]
fn each_algorithm_still_does_what_was_found() {
    let flag = AtomicBool::new(false);
    for (name, objective, listed) in list() {
        let path = folder().join(format!("{name}.toml"));
        let scenario = Scenario::parse(&path.to_string_lossy(), &std::fs::read_to_string(&path).unwrap()).unwrap();
        let run = |run| objective.badness(&scenario, &totals(&scenario, run, Interrupt(&flag)).unwrap());
        let found = mildest(&(1..=RUNS).map(run).collect::<Vec<_>>());
        let text = |badness| objective.text(badness);
        assert!((found - listed).abs() <= APART * listed.max(1.0), "{name}: {}, listed {}", text(found), text(listed));
    }
}
