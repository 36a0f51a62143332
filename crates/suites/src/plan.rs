//! What is to be run: a suite or a scenario file, with what the command line changes of it.

use crate::folder::{Experiment, Place};
use crate::runner::Selection;
use crate::suite::by_name;
use crate::{Cell, Error, Result};
use ccactl_scenario::{Override, ScenarioFile, Shipped, Variant};
use std::path::PathBuf;

/// The wishes of the command line.
#[derive(Debug, Clone, Default)]
pub struct Request {
    /// Name of a suite or of a scenario file.
    pub name: String,
    /// Which cells.
    pub selection: Selection,
    /// Runs per cell.
    pub repeat: Option<u32>,
    /// Seed of the random losses and queues.
    pub seed: Option<u64>,
    /// Another way to run it that the scenario describes.
    pub variant: Option<Variant>,
    /// Other changes, `FIELD=VALUE`.
    pub set: Vec<String>,
    /// Where the cells run, and who carries the packets.
    pub place: Place,
    /// Where the results go.
    pub folder: Option<PathBuf>,
}

/// What is to be run.
#[derive(Debug, Clone)]
pub struct Plan {
    /// What its folder is for.
    pub experiment: Experiment,
    /// All cells.
    pub matrix: Vec<Cell>,
    /// Those that are asked for.
    pub cells: Vec<Cell>,
    /// Where the results go.
    pub folder: PathBuf,
}

impl Plan {
    /// Reads the scenario and makes the plan; nothing is made on the host.
    ///
    /// # Errors
    /// When the scenario, a change or a selection does not fit.
    pub fn new(request: &Request) -> Result<Plan> {
        let mut overrides: Vec<Override> = Vec::new();
        overrides.extend(request.repeat.map(|runs| Override::value("repeat", i64::from(runs))));
        if let Some(seed) = request.seed {
            let seed = i64::try_from(seed).map_err(|_| Error::Seed { found: seed })?;
            overrides.push(Override::value("link.seed", seed));
        }
        for change in &request.set {
            overrides.push(change.parse().map_err(ccactl_testbed::Error::from)?);
        }
        let file = ScenarioFile::open(&request.name, &overrides).map_err(ccactl_testbed::Error::from)?;
        let mut changed = request.set.clone();
        let suite = by_name(&request.name);
        // What is read from a file is not the paper's.
        if suite.is_some() && Shipped::by_name(&request.name).is_some_and(Shipped::is_hidden) {
            changed.push(format!("read from the file {} in the current folder", request.name));
        }
        let file = match request.variant {
            Some(variant) => {
                let changed_file = file.variant(variant).map_err(ccactl_testbed::Error::from)?;
                changed.extend(file.told_changes(variant));
                changed_file
                    .ok_or_else(|| Error::NoVariant { name: variant.name(), scenario: file.scenario.name.clone() })?
            }
            None => file,
        };
        let name = &file.scenario.name;
        let suffix = request.variant.map_or_else(String::new, |variant| format!("-{}", variant.name()));
        let folder = request.folder.clone().unwrap_or_else(|| format!("ccactl-bench-{name}{suffix}").into());
        let matrix = file.cells().to_vec();
        let experiment = Experiment {
            variant: request.variant,
            changed,
            place: request.place.clone(),
            ..Experiment::new(name, &file.scenario.description, suite, &matrix)
        };
        Ok(Plan { cells: request.selection.of(&matrix)?, experiment, matrix, folder })
    }
}
