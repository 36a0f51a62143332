//! Where cells run, as far as it decides how long they take.

use super::Overhead;
use crate::Cell;
use std::time::Duration;

/// Where cells run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ground {
    /// Here, in real time: every second is told.
    Host,
    /// In guests of the virtual lab, of which nothing is heard until they end.
    Guests,
}

impl Ground {
    /// What runs of these cells take beside their own length, until it was measured: a guest boots, and takes twice the time at
    /// 20 Mbit/s.
    #[must_use]
    pub fn overhead(self, cells: &[Cell]) -> Overhead {
        let longest = cells.iter().map(length).max().unwrap_or_default();
        Overhead::guessed(match self {
            Ground::Host => Duration::from_secs(5),
            Ground::Guests => Duration::from_secs(25) + longest,
        })
    }

    /// What a cell takes, all of its runs, as far as one can tell before.
    #[must_use]
    pub fn estimate(self, cell: &Cell) -> Duration {
        self.overhead(std::slice::from_ref(cell)).of_cell(length(cell), cell.scenario.repeat)
    }
}

fn length(cell: &Cell) -> Duration {
    cell.scenario.with_warm_up().into()
}
