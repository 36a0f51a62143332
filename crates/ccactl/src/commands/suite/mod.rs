//! `ccactl bench run`, and what else there is to do with the cells of a matrix.

pub mod cells;
pub mod list;
pub mod report;
pub mod score;
mod selection;
pub mod submit;

use super::carry_out::{How, interrupt_flag};
use super::guests::{self, Guests};
use super::store::Cells;
use crate::error::{Context, Result};
use ccactl_host::{errln, outln, terminal};
use ccactl_loader::Loader;
use ccactl_suites::folder::SuiteFolder;
use ccactl_suites::progress::Progress;
use ccactl_suites::runner::{self, Ended, Executor, Ground, Testbed};
use ccactl_suites::{Cell, Error, Plan, page};
use ccactl_testbed::bench::{ATTEMPTS, Limits, Options};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// NFS gives the locks of a machine that died to others after 90 s.
const PATIENCE: Duration = Duration::from_secs(100);

#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    selection: selection::Args,
    /// Cells side by side [default: what `ccactl bench calibrate` measured for this rate, else 1]
    #[arg(long, value_name = "N")]
    jobs: Option<std::num::NonZeroUsize>,
    /// How often a run is tried until it is valid
    #[arg(long, value_name = "N", default_value_t = ATTEMPTS, value_parser = clap::value_parser!(u32).range(1..=100))]
    attempts: u32,
    /// Make cells in this folder, and copy them to the results when they are whole: for results on a disk that is far
    #[arg(long, value_name = "DIR")]
    scratch: Option<PathBuf>,
    /// Where several machines put their results (s3://BUCKET/PREFIX or file:///FOLDER): a cell that is finished there is brought
    /// here, and not run; one that is finished here is sent
    #[arg(long, value_name = "LOCATION")]
    store: Option<String>,
    #[command(flatten)]
    shown: report::Shown,
}

pub fn run(args: Args) -> Result<ExitCode> {
    let Args { selection, jobs, attempts, scratch, store, shown } = args;
    let kernel = selection.guests()?;
    let plan = selection.plan(kernel.as_ref())?;
    plan.experiment.changed.iter().for_each(|change| errln!("not as the scenario is written: {change}"));
    let interrupt = interrupt_flag()?;
    let how = How { attempts, backend: selection.link, phase: None };
    if kernel.is_none() {
        Loader::open()?;
        for cell in &plan.cells {
            selection.link.check(&cell.scenario).with_context(|| format!("cell {}", cell.id))?;
        }
    }
    let ids: Vec<&str> = plan.cells.iter().map(|cell| cell.id.as_str()).collect();
    let store = store.as_deref().map(Cells::open).transpose()?;
    if let Some(store) = &store {
        store.check(&plan.experiment)?;
    }
    let patience = if selection.is_a_part() { PATIENCE } else { Duration::ZERO };
    let folder = SuiteFolder::open(&plan.folder, plan.experiment.clone())?;
    let folder = folder.with_scratch(scratch).with_patience(patience);
    if let Some(store) = &store {
        store.bring(&folder, &ids)?;
    }
    let guests = kernel.as_ref().map(|kernel| Guests { lab: &selection.lab, kernel, how });
    let Ended { failures, elsewhere } = carry_out(&plan, &folder, jobs.map(Into::into), guests, how, &interrupt)?;

    if selection.is_a_part() || store.is_some() {
        page::prepare(&folder, &|id| ids.contains(&id), &interrupt)?;
    }
    if let Some(store) = &store {
        store.send(&folder, &ids)?;
    }
    if selection.is_a_part() {
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

/// Runs what is not finished.
fn carry_out(
    plan: &Plan,
    folder: &SuiteFolder,
    jobs: Option<usize>,
    guests: Option<Guests<'_>>,
    how: How,
    interrupt: &AtomicBool,
) -> Result<Ended> {
    let pending = runner::pending(folder, &plan.cells)?;
    let finished = plan.cells.len() - pending.len();
    if finished > 0 {
        errln!("{finished} of {} cells are finished in {}", plan.cells.len(), folder.path().display());
    }
    if pending.is_empty() {
        return Ok(Ended::default());
    }
    if let Some(guests) = guests {
        let jobs = jobs.unwrap_or_else(guests::side_by_side);
        return run_all(plan, folder, &pending, jobs, &guests, Ground::Guests, interrupt);
    }
    let jobs = jobs.unwrap_or_else(|| {
        let calibrated = runner::side_by_side(&pending);
        terminal::note(&calibrated.reason);
        calibrated.count
    });
    let program = std::env::current_exe().context("find the ccactl binary for the built-in traffic")?;
    let How { attempts, backend, phase: _ } = how;
    let executor =
        Testbed { options: Options { program, limits: Limits::default(), attempts, backend, phase_ns: None } };
    run_all(plan, folder, &pending, jobs, &executor, Ground::Host, interrupt)
}

fn run_all(
    plan: &Plan,
    folder: &SuiteFolder,
    pending: &[Cell],
    jobs: usize,
    executor: &dyn Executor,
    ground: Ground,
    interrupt: &AtomicBool,
) -> Result<Ended> {
    let mut progress = Progress::new(&plan.experiment.scenario, pending, jobs, ground);
    let outcome = runner::run(folder, pending, jobs, executor, interrupt, &mut progress);
    progress.finish();
    Ok(outcome?)
}
