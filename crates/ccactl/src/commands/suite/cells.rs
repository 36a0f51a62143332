//! `ccactl bench cells`: the units of work of an experiment, for whoever hands them out.

use super::selection;
use crate::commands::output;
use crate::error::Result;
use ccactl_host::units::duration_text;
use ccactl_suites::runner::Ground;
use serde::Serialize;
use std::collections::BTreeMap;
use std::process::ExitCode;
use std::time::Duration;

#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    selection: selection::Args,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// A cell, and what running it takes.
#[derive(Debug, Serialize)]
pub struct Unit {
    /// Name, for `--cell`.
    pub id: String,
    /// Its value on each axis.
    pub labels: BTreeMap<String, String>,
    /// Runs that it is to have.
    pub runs: u32,
    /// Time for all of them, s, as far as one can tell before.
    pub estimated_s: f64,
    /// What the host must give.
    pub needs: Needs,
    /// Whether anything else on the host would spoil it.
    pub exclusive: bool,
}

/// What a cell needs of a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Needs {
    /// Root, namespaces and a cgroup: it runs on the host itself.
    Root,
    /// QEMU: it runs in a guest of the virtual lab, and needs no rights.
    Lab,
    /// Neither rights nor quiet: it is simulated.
    Nothing,
}

impl Needs {
    fn of(ground: Ground) -> Needs {
        match ground {
            Ground::Host => Needs::Root,
            Ground::Guests => Needs::Lab,
            Ground::Simulator => Needs::Nothing,
        }
    }
}

/// The cells that are asked for.
pub fn units(selection: &selection::Args) -> Result<Vec<Unit>> {
    let ground = selection.ground();
    // No kernel of the lab is needed to say what there is to run.
    let plan = selection.plan(None)?;
    let unit = |cell: &ccactl_suites::Cell| Unit {
        id: cell.id.clone(),
        labels: cell.labels.clone(),
        runs: cell.scenario.repeat,
        estimated_s: ground.estimate(cell).as_secs_f64(),
        needs: Needs::of(ground),
        // Links keep real time on a host; a guest has a time of its own.
        exclusive: ground == Ground::Host,
    };
    Ok(plan.cells.iter().map(unit).collect())
}

pub fn run(args: &Args) -> Result<ExitCode> {
    let units = units(&args.selection)?;
    if args.json {
        output::json_list("cells", &units)?;
        return Ok(ExitCode::SUCCESS);
    }
    let row = |unit: &Unit| {
        let time = duration_text(Duration::from_secs_f64(unit.estimated_s));
        let needs = match unit.needs {
            Needs::Root => "root, a host of its own",
            Needs::Lab => "the virtual lab",
            Needs::Nothing => "nothing",
        };
        [unit.id.clone(), unit.runs.to_string(), time, needs.to_owned()]
    };
    let rows: Vec<_> = units.iter().map(row).collect();
    output::table(["cell", "runs", "about", "needs"], &rows)?;
    Ok(ExitCode::SUCCESS)
}
