//! Carries out the cells of a matrix, several side by side, each in a folder of its own, and goes on where an earlier
//! attempt ended. Other processes may do so in the same folder, also on other machines.

mod ground;
mod jobs;
mod remaining;
mod selection;
mod testbed;

pub use ground::Ground;
pub use jobs::{Jobs, side_by_side};
pub use remaining::{Overhead, remaining};
pub use selection::{Only, Selection, Shard};
pub use testbed::Testbed;

use crate::folder::SuiteFolder;
use crate::{Cell, Error, Result};
use std::collections::VecDeque;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Version that results must have to be kept.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Between two looks at what others run.
const ATTENTION: Duration = Duration::from_millis(500);

/// When so many cells fail one after the other, the fault is not theirs.
pub const FAILURES_IN_A_ROW: usize = 3;

/// What runs a cell: the testbed, or something that tests put in its place.
pub trait Executor: Sync {
    /// Runs all repeats of a cell into `folder`, or those that are not in it yet; `result.json` is written there last.
    ///
    /// # Errors
    /// When the cell cannot be run, or `interrupt` is set.
    fn execute(
        &self,
        cell: &Cell,
        folder: &Path,
        interrupt: &AtomicBool,
        observe: &mut dyn FnMut(Step<'_>),
    ) -> Result<()>;
}

/// What happens within a cell.
#[derive(Debug, Clone, Copy)]
pub enum Step<'a> {
    /// A run begins.
    Run {
        /// From 1.
        run: u32,
        /// From 1; later ones follow attempts that were not valid.
        attempt: u32,
    },
    /// It is under way for so long.
    Elapsed(Duration),
    /// It is over and does not count.
    Invalid {
        /// From 1.
        run: u32,
        /// Why.
        problems: &'a [String],
    },
    /// What must be known of where it runs.
    Remark(&'a str),
}

/// What happens in a suite.
#[derive(Debug, Clone, Copy)]
pub enum Notice<'a> {
    /// A cell begins; the number is its index in the plan.
    Begun(usize),
    /// It goes on.
    Step(usize, Step<'a>),
    /// It is finished.
    Finished(usize),
    /// It could not be run.
    Failed(usize, &'a Error),
    /// Another process runs it.
    Elsewhere(usize),
    /// So many cells are not begun any more, as [`FAILURES_IN_A_ROW`] have failed one after the other.
    GivenUp(usize),
}

/// Sees what happens, from several threads, one at a time.
pub trait Watcher: Send {
    /// Something has happened.
    fn notice(&mut self, notice: Notice<'_>);
}

/// A cell that could not be run, and why.
#[derive(Debug)]
pub struct Failure {
    /// Name of the cell.
    pub cell: String,
    /// What went wrong.
    pub error: Error,
}

/// What became of the cells that were to run.
#[derive(Debug, Default)]
pub struct Ended {
    /// Those that could not be run.
    pub failures: Vec<Failure>,
    /// Those that another process runs.
    pub elsewhere: Vec<String>,
}

/// The cells that are still to be run: those without a result that counts, or with fewer runs than they are to have.
///
/// # Errors
/// When a result in the folder is not one of its cell.
pub fn pending(folder: &SuiteFolder, cells: &[Cell]) -> Result<Vec<Cell>> {
    let mut pending = Vec::new();
    for cell in cells {
        if !is_finished(folder, cell)? {
            pending.push(cell.clone());
        }
    }
    Ok(pending)
}

fn is_finished(folder: &SuiteFolder, cell: &Cell) -> Result<bool> {
    Ok(folder.finished(&cell.id)?.is_some_and(|finished| finished.is_enough(cell.scenario.repeat)))
}

/// Runs `cells` in their order, `jobs` at a time. Of what an earlier attempt has left of them only runs that count stay. Cells that
/// fail, and those that another process runs, are given back; the others run on.
///
/// # Errors
/// When a signal asked for the end.
pub fn run(
    folder: &SuiteFolder,
    cells: &[Cell],
    jobs: usize,
    executor: &dyn Executor,
    interrupt: &AtomicBool,
    watcher: &mut dyn Watcher,
) -> Result<Ended> {
    let work = Work {
        folder,
        cells,
        executor,
        interrupt,
        queue: Mutex::new((0..cells.len()).collect()),
        watcher: Mutex::new(watcher),
        outcome: Mutex::new(Outcome::default()),
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> =
            (0..jobs.clamp(1, cells.len().max(1))).map(|_| scope.spawn(|| work.carry_out())).collect();
        threads.into_iter().try_for_each(|thread| thread.join().map_err(|_| Error::Panicked))
    })?;
    Error::check(interrupt)?;
    work.look_again()?;
    Ok(work.outcome.into_inner().unwrap_or_else(PoisonError::into_inner).ended)
}

#[derive(Default)]
struct Outcome {
    ended: Ended,
    failed_in_a_row: usize,
}

enum Ran {
    Here,
    Elsewhere,
}

/// What the threads share.
struct Work<'a> {
    folder: &'a SuiteFolder,
    cells: &'a [Cell],
    executor: &'a dyn Executor,
    interrupt: &'a AtomicBool,
    queue: Mutex<VecDeque<usize>>,
    watcher: Mutex<&'a mut dyn Watcher>,
    outcome: Mutex<Outcome>,
}

impl Work<'_> {
    /// One thread: cell after cell, until none is left.
    fn carry_out(&self) {
        while !self.interrupt.load(Ordering::Relaxed) {
            let Some(index) = locked(&self.queue).pop_front() else { return };
            self.notice(Notice::Begun(index));
            match self.run_cell(index, &mut |step| self.notice(Notice::Step(index, step))) {
                Ok(Ran::Here) => {
                    locked(&self.outcome).failed_in_a_row = 0;
                    self.notice(Notice::Finished(index));
                }
                Ok(Ran::Elsewhere) => {
                    locked(&self.outcome).ended.elsewhere.push(self.cells[index].id.clone());
                    self.notice(Notice::Elsewhere(index));
                }
                Err(error) if error.is_interrupt() => return,
                Err(error) => self.fail(index, error),
            }
        }
    }

    /// What other processes ran may have ended meanwhile, or they have: then it is there, or it is ours to run.
    fn look_again(&self) -> Result<()> {
        let end = Instant::now() + self.folder.patience();
        loop {
            let elsewhere = std::mem::take(&mut locked(&self.outcome).ended.elsewhere);
            for id in elsewhere {
                let index = self.cells.iter().position(|cell| cell.id == id).expect("one of these");
                match self.run_cell(index, &mut |_| {}) {
                    Ok(Ran::Here) => {}
                    Ok(Ran::Elsewhere) => locked(&self.outcome).ended.elsewhere.push(id),
                    Err(error) if error.is_interrupt() => return Err(Error::Interrupted),
                    Err(error) => locked(&self.outcome).ended.failures.push(Failure { cell: id, error }),
                }
            }
            if locked(&self.outcome).ended.elsewhere.is_empty() || Instant::now() >= end {
                return Ok(());
            }
            Error::check(self.interrupt)?;
            std::thread::sleep(ATTENTION);
        }
    }

    fn run_cell(&self, index: usize, observe: &mut dyn FnMut(Step<'_>)) -> Result<Ran> {
        let cell = &self.cells[index];
        let Some(claim) = self.folder.claim(&cell.id)? else { return Ok(Ran::Elsewhere) };
        // Another process may have ended it since this one has looked.
        if !is_finished(self.folder, cell)? {
            self.executor.execute(cell, &claim.work(), self.interrupt, observe)?;
            claim.publish()?;
        }
        Ok(Ran::Here)
    }

    fn fail(&self, index: usize, error: Error) {
        self.notice(Notice::Failed(index, &error));
        let mut outcome = locked(&self.outcome);
        outcome.ended.failures.push(Failure { cell: self.cells[index].id.clone(), error });
        outcome.failed_in_a_row += 1;
        if outcome.failed_in_a_row < FAILURES_IN_A_ROW {
            return;
        }
        let left = std::mem::take(&mut *locked(&self.queue)).len();
        if left > 0 {
            self.notice(Notice::GivenUp(left));
        }
    }

    fn notice(&self, notice: Notice<'_>) {
        locked(&self.watcher).notice(notice);
    }
}

/// A panic elsewhere leaves nothing half done behind these locks.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
