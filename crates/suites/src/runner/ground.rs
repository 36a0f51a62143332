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
    /// In the simulator, whose time passes as fast as a CPU computes.
    Simulator,
}

/// How much faster than real time a simulated run passes, at the least, with a few flows at some ten Mbit/s.
const SIMULATED_SPEED: u32 = 50;

impl Ground {
    /// What runs of these cells take beside their own length, until it was measured: a guest boots, and takes twice the time at
    /// 20 Mbit/s.
    #[must_use]
    pub fn overhead(self, cells: &[Cell]) -> Overhead {
        let longest = cells.iter().map(|cell| self.length(cell)).max().unwrap_or_default();
        Overhead::guessed(match self {
            Ground::Host => Duration::from_secs(5),
            Ground::Guests => Duration::from_secs(25) + longest,
            Ground::Simulator => Duration::from_secs(1),
        })
    }

    /// What a run of a cell takes by itself, in this host's time.
    #[must_use]
    pub fn length(self, cell: &Cell) -> Duration {
        let length = Duration::from(cell.scenario.with_warm_up());
        if self == Ground::Simulator { length / SIMULATED_SPEED } else { length }
    }

    /// What a cell takes, all of its runs, as far as one can tell before.
    #[must_use]
    pub fn estimate(self, cell: &Cell) -> Duration {
        self.overhead(std::slice::from_ref(cell)).of_cell(self.length(cell), cell.scenario.repeat)
    }
}
