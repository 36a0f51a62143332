//! The cells of an experiment on many machines: a batch system gives them out, and a shared folder takes the results.
//!
//! ccactl has no scheduler of its own. Every task is a `ccactl bench run … --cell ID` like one typed by hand.

mod array;
mod error;
mod slurm;

pub use array::ranges;
pub use error::{Error, Result};
pub use slurm::{Seen, Slurm};

use crate::runner::Ground;
use crate::{Cell, folder::SuiteFolder};
use std::path::PathBuf;
use std::time::Duration;

/// What a batch system is to run.
#[derive(Debug, Clone)]
pub struct Job {
    /// `ccactl`, where all nodes find it.
    pub program: PathBuf,
    /// Arguments of `ccactl bench run` but for the cell.
    pub words: Vec<String>,
    /// All cells of the matrix: the place of a cell is the number of its task, whatever else is submitted into the same folder.
    pub matrix: Vec<Cell>,
    /// Those that are asked for.
    pub cells: Vec<Cell>,
    /// Where they run on a node.
    pub ground: Ground,
    /// Tasks at the same time; none leaves it to the batch system.
    pub at_once: Option<u32>,
    /// Its own options, as they are.
    pub options: Vec<String>,
}

/// Within the folder of a suite: what was submitted, and what tasks said.
pub const FOLDER: &str = ".batch";
/// A guest's memory, and QEMU's translations of code beside it.
const LAB_MIB: u32 = 2048;
/// An estimate is for cells whose runs count at once, on a machine like this.
const SLACK: u32 = 4;
const MINUTE: Duration = Duration::from_secs(60);

impl Job {
    /// What a task may take at most.
    fn limit(&self) -> Duration {
        let longest = self.cells.iter().map(|cell| self.ground.estimate(cell)).max().unwrap_or_default();
        longest * SLACK + 10 * MINUTE
    }

    /// Cells that have no result that counts, by number of their task.
    ///
    /// # Errors
    /// When a result is not one of its cell.
    pub fn pending(&self, folder: &SuiteFolder) -> crate::Result<Vec<usize>> {
        let pending = crate::runner::pending(folder, &self.cells)?;
        Ok(self.tasks(&pending))
    }

    /// Numbers of the tasks of these cells.
    #[must_use]
    pub fn tasks(&self, cells: &[Cell]) -> Vec<usize> {
        let is_one = |cell: &Cell| cells.iter().any(|other| other.id == cell.id);
        self.matrix.iter().enumerate().filter(|(_, cell)| is_one(cell)).map(|(i, _)| i + 1).collect()
    }
}
