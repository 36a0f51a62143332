//! How long a suite will still take: its runs have known lengths, and what comes on top of each is measured.

use std::time::Duration;

/// Time that passes beside the runs themselves.
#[derive(Debug, Clone, Copy)]
pub struct Overhead {
    first_guess: Duration,
    sum: Duration,
    runs: u32,
}

impl Overhead {
    /// Set-up, take-down and evaluation of a run, until one has been measured.
    #[must_use]
    pub fn guessed(per_run: Duration) -> Self {
        Overhead { first_guess: per_run, sum: Duration::ZERO, runs: 0 }
    }

    /// Learns from a cell: `took` for `runs` runs (attempts that were not valid included) of `length` each.
    pub fn learn(&mut self, took: Duration, length: Duration, runs: u32) {
        self.sum += took.saturating_sub(length * runs);
        self.runs += runs;
    }

    /// For one run.
    #[must_use]
    pub fn per_run(&self) -> Duration {
        if self.runs == 0 { self.first_guess } else { self.sum / self.runs }
    }

    /// What a cell of `runs` valid runs takes.
    #[must_use]
    pub fn of_cell(&self, length: Duration, runs: u32) -> Duration {
        (length + self.per_run()) * runs
    }
}

/// Until all is done, when each job that ends takes the next one that waits: `running` is what those that have begun
/// still need, `waiting` what the others need.
#[must_use]
pub fn remaining(running: &[Duration], waiting: impl IntoIterator<Item = Duration>, jobs: usize) -> Duration {
    let mut busy_until = running.to_vec();
    busy_until.resize(jobs.max(running.len()).max(1), Duration::ZERO);
    for next in waiting {
        let first_free = busy_until.iter_mut().min().expect("at least one job");
        *first_free += next;
    }
    busy_until.into_iter().max().unwrap_or_default()
}
