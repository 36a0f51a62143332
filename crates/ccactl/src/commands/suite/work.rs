//! Carries out the cells of a plan, here or in guests of the lab, and exchanges them with other machines.

use crate::commands::carry_out::How;
use crate::commands::guests::{self, Guests};
use crate::commands::lab;
use crate::commands::store::Cells;
use crate::error::{Context, Result};
use ccactl_host::{errln, terminal};
use ccactl_lab::kernel::Kernel;
use ccactl_loader::Loader;
use ccactl_suites::folder::SuiteFolder;
use ccactl_suites::progress::Progress;
use ccactl_suites::runner::{self, Ended, Executor, Ground, Testbed};
use ccactl_suites::{Cell, Plan, page};
use ccactl_testbed::bench::{ATTEMPTS, Backend, Limits, Options};
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// NFS gives the locks of a machine that died to others after 90 s.
const PATIENCE: Duration = Duration::from_secs(100);

/// How cells are carried out.
#[derive(clap::Args)]
pub struct Work {
    /// Cells side by side [default: what `ccactl bench calibrate` measured for this rate, else 1]
    #[arg(long, value_name = "N")]
    jobs: Option<NonZeroUsize>,
    /// How often a run is tried until it is valid
    #[arg(long, value_name = "N", default_value_t = ATTEMPTS, value_parser = clap::value_parser!(u32).range(1..=100))]
    attempts: u32,
    /// Make cells in this folder, and copy them to the results when they are whole: for results on a disk that is far; it is made
    /// if it is not there
    #[arg(long, value_name = "DIR")]
    scratch: Option<PathBuf>,
    /// Where several machines put their results (s3://BUCKET/PREFIX or file:///FOLDER): a cell that is finished there is brought
    /// here, and not run; one that is finished here is sent
    #[arg(long, value_name = "LOCATION")]
    pub store: Option<String>,
}

/// Where cells run, and who carries their packets.
#[derive(Clone, Copy)]
pub struct Place<'a> {
    /// How the lab was asked for.
    pub lab: &'a lab::Args,
    /// Of its guests; none for this host.
    pub kernel: Option<&'a Kernel>,
    /// Who carries the packets.
    pub link: Backend,
}

/// What came of it.
pub struct Done {
    /// With all that is finished.
    pub folder: SuiteFolder,
    /// What is not.
    pub ended: Ended,
}

impl Work {
    /// Runs the cells of a plan that are not finished, nor in the `store`. A part of what several processes run waits for cells that
    /// others have.
    pub fn carry_out(
        &self,
        plan: &Plan,
        place: Place<'_>,
        is_a_part: bool,
        store: Option<&str>,
        interrupt: &AtomicBool,
    ) -> Result<Done> {
        let how = How { attempts: self.attempts, backend: place.link, phase: None };
        if place.kernel.is_none() {
            if place.link.needs_host() {
                Loader::open()?;
            }
            for cell in &plan.cells {
                place.link.check(&cell.scenario).with_context(|| format!("cell {}", cell.id))?;
            }
        }
        let ids: Vec<&str> = plan.cells.iter().map(|cell| cell.id.as_str()).collect();
        let store = store.map(Cells::open).transpose()?;
        if let Some(store) = &store {
            store.check(&plan.experiment)?;
        }
        let patience = if is_a_part { PATIENCE } else { Duration::ZERO };
        let folder = SuiteFolder::open(&plan.folder, plan.experiment.clone())?;
        let folder = folder.with_scratch(self.scratch.clone())?.with_patience(patience);
        if let Some(store) = &store {
            store.bring(&folder, &ids)?;
        }
        let guests = place.kernel.map(|kernel| Guests { lab: place.lab, kernel, how });
        let ended = run_pending(plan, &folder, self.jobs.map(Into::into), guests, how, interrupt)?;
        if is_a_part || store.is_some() {
            page::prepare(&folder, &|id| ids.contains(&id), interrupt)?;
        }
        if let Some(store) = &store {
            store.send(&folder, &ids)?;
        }
        Ok(Done { folder, ended })
    }
}

/// Runs what is not finished.
fn run_pending(
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
    let ground = if how.backend.needs_host() { Ground::Host } else { Ground::Simulator };
    let jobs = jobs.unwrap_or_else(|| {
        if ground == Ground::Simulator {
            return std::thread::available_parallelism().map_or(1, Into::into);
        }
        let calibrated = runner::side_by_side(&pending);
        terminal::note(&calibrated.reason);
        calibrated.count
    });
    let program = std::env::current_exe().context("find the ccactl binary for the built-in traffic")?;
    let How { attempts, backend, phase: _ } = how;
    let executor =
        Testbed { options: Options { program, limits: Limits::default(), attempts, backend, phase_ns: None } };
    run_all(plan, folder, &pending, jobs, &executor, ground, interrupt)
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
