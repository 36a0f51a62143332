//! `ccactl bench run`, and what else there is to do with the cells of a matrix.

pub mod cells;
pub mod list;
pub mod matrix;
pub mod report;
pub mod score;
mod selection;
pub mod submit;
pub mod work;

use super::carry_out::interrupt_flag;
use crate::error::{Context, Result};
use ccactl_host::{errln, outln};
use ccactl_suites::folder::SuiteFolder;
use ccactl_suites::runner::{self, Ended};
use ccactl_suites::{Error, Plan};
use std::process::ExitCode;
use work::{Done, Place, Work};

#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    selection: selection::Args,
    #[command(flatten)]
    work: Work,
    #[command(flatten)]
    shown: report::Shown,
}

pub fn run(args: Args) -> Result<ExitCode> {
    let Args { selection, work, shown } = args;
    let kernel = selection.guests()?;
    let plan = selection.plan(kernel.as_ref())?;
    plan.experiment.changed.iter().for_each(|change| errln!("not as the scenario is written: {change}"));
    let interrupt = interrupt_flag()?;
    let is_a_part = selection.is_a_part();
    let place = Place { lab: &selection.lab, kernel: kernel.as_ref(), link: selection.carrier.backend() };
    let Done { folder, ended } = work.carry_out(&plan, place, is_a_part, work.store.as_deref(), &interrupt)?;
    let Ended { failures, elsewhere } = ended;
    if is_a_part {
        return end_of_a_part(&plan, &folder, failures, elsewhere);
    }
    let code = report::write(&folder, &failures, &shown, &interrupt)?;
    not_elsewhere(&folder, elsewhere)?;
    Ok(code)
}

/// Other processes run the rest: a report of all is for whoever comes last.
fn end_of_a_part(
    plan: &Plan,
    folder: &SuiteFolder,
    failures: Vec<runner::Failure>,
    elsewhere: Vec<String>,
) -> Result<ExitCode> {
    if let Some(runner::Failure { cell, error }) = failures.into_iter().next() {
        return Err(error).with_context(|| format!("cell {cell}"));
    }
    not_elsewhere(folder, elsewhere)?;
    for cell in &plan.cells {
        let finished = folder.finished(&cell.id)?;
        let valid_runs = finished.map_or(0, |finished| finished.valid_runs);
        outln!("{}: {valid_runs} of {} runs count", folder.of_cell(&cell.id).display(), cell.scenario.repeat);
    }
    let path = folder.path().display();
    outln!("when all parts have ended: ccactl bench report {path}");
    let all_count = runner::pending(folder, &plan.cells)?.is_empty();
    Ok(if all_count { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn not_elsewhere(folder: &SuiteFolder, cells: Vec<String>) -> Result<()> {
    if cells.is_empty() {
        return Ok(());
    }
    Err(Error::Elsewhere { path: folder.path().to_owned(), cells }.into())
}
