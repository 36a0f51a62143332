//! Cells and results that were not measured.
#![allow(dead_code, reason = "each test binary uses its part")]

pub mod world;
pub mod worlds;

use ccactl_scenario::{FlowSpec, Scenario};
use ccactl_suites::Cell;
use serde_json::json;
use std::collections::BTreeMap;

const SCENARIO: &str = "duration = \"1s\"\n[link]\nrate = \"20Mbit/s\"\nbase_rtt = \"20ms\"\nbuffer = \"2bdp\"\n\
                        [[flow]]\nname = \"one\"\nalgorithm = \"reno\"\n";

/// Cells of one axis.
pub fn cells(values: &[&str]) -> Vec<Cell> {
    grid(&[("axis", values)])
}

/// All combinations, the last axis fastest. All have the same scenario.
pub fn grid(axes: &[(&str, &[&str])]) -> Vec<Cell> {
    let mut combinations: Vec<Vec<(String, String)>> = vec![Vec::new()];
    for (axis, values) in axes {
        combinations = combinations
            .iter()
            .flat_map(|before| {
                values.iter().map(|value| {
                    let mut labels = before.clone();
                    labels.push(((*axis).to_owned(), (*value).to_owned()));
                    labels
                })
            })
            .collect();
    }
    combinations.into_iter().map(cell).collect()
}

fn cell(labels: Vec<(String, String)>) -> Cell {
    let id = labels.iter().map(|(axis, value)| format!("{axis}={value}")).collect::<Vec<_>>().join(",");
    let scenario = Scenario::parse("test.toml", SCENARIO).unwrap();
    Cell { id, labels: BTreeMap::from_iter(labels), scenario }
}

/// The same cells with so many flows.
pub fn with_flows(mut cells: Vec<Cell>, flows: usize) -> Vec<Cell> {
    for cell in &mut cells {
        let one = cell.scenario.flows[0].clone();
        cell.scenario.flows = (1..=flows).map(|n| FlowSpec { name: format!("flow-{n}"), ..one.clone() }).collect();
    }
    cells
}

/// A `result.json` of a bench, as far as it says whether there is one.
pub fn result_json(cell: &Cell, valid: bool) -> String {
    let runs: Vec<_> = (1..=cell.scenario.repeat)
        .map(|run| json!({ "run": run, "valid": valid, "directory": format!("run-{run}") }))
        .collect();
    json!({ "ccactl_version": ccactl_suites::runner::VERSION, "runs": runs }).to_string()
}
