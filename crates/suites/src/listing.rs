//! What there is to run.

use crate::suite::{by_name, in_full};
use crate::{Cell, Result};
use ccactl_scenario::{SHIPPED, ScenarioFile, Variant};
use serde::Serialize;
use std::time::Duration;

/// A shipped scenario.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Listed {
    /// Name on the command line.
    pub name: String,
    /// One sentence.
    pub description: String,
    /// Number of the experiment; empty where no paper has it.
    pub experiment: &'static str,
    /// Paper and table or figure; empty for a scenario that is no suite.
    pub paper: String,
    /// Whether `ccactl bench run` knows the paper's tables of it.
    pub suite: bool,
    /// As it is written.
    pub full: Size,
    /// With `--quick`, where the scenario says what that is.
    pub quick: Option<Size>,
}

/// How much there is to run.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Size {
    /// Cells of the matrix.
    pub cells: usize,
    /// Length of all runs, one after the other, without set-up and evaluation.
    pub runs_s: f64,
}

/// All of them, suites in the order of the experiments first.
///
/// # Errors
/// When a shipped scenario is not one: its test has failed before.
pub fn listing() -> Result<Vec<Listed>> {
    let mut all = SHIPPED
        .iter()
        .map(|shipped| {
            let origin = format!("{}.toml", shipped.name);
            let read = |error| crate::Error::from(ccactl_testbed::Error::from(error));
            let file = ScenarioFile::parse(&origin, shipped.text, &[]).map_err(read)?;
            let suite = by_name(shipped.name);
            let quick = file.variant(Variant::Quick).map_err(read)?;
            Ok(Listed {
                name: shipped.name.to_owned(),
                description: file.scenario.description.clone(),
                experiment: suite.map_or("", |suite| suite.experiment),
                paper: suite.map_or_else(String::new, |suite| in_full(suite.paper)),
                suite: suite.is_some(),
                full: size(file.cells()),
                quick: quick.map(|quick| size(quick.cells())),
            })
        })
        .collect::<Result<Vec<_>>>()?;
    let place = |listed: &Listed| crate::suite::SUITES.iter().position(|suite| suite.name == listed.name);
    all.sort_by_key(|listed| place(listed).unwrap_or(usize::MAX));
    Ok(all)
}

fn size(cells: &[Cell]) -> Size {
    let of_cell = |cell: &Cell| Duration::from(cell.scenario.with_warm_up()) * cell.scenario.repeat;
    Size { cells: cells.len(), runs_s: cells.iter().map(of_cell).sum::<Duration>().as_secs_f64() }
}
