//! How bad a case is for an algorithm, by simulated runs.

use crate::case::Case;
use crate::document::{Contestant, Setting};
use crate::error::Result;
use crate::objective::Objective;
use ccactl_testbed::bench::Interrupt;
use ccactl_testbed::totals;

/// Says how bad a case is.
#[derive(Debug, Clone)]
pub struct Judge {
    /// What is the same for all cases.
    pub setting: Setting,
    /// The algorithm.
    pub subject: Contestant,
    /// Another one: a case is bad by what the subject does worse on it.
    pub compared: Option<Contestant>,
    /// What is looked for.
    pub objective: Objective,
    /// Runs of a case, each with other random events and start times.
    pub runs: u32,
}

impl Judge {
    /// How bad a case is for the algorithm in the mildest run: what a search tells of is there each time. Against another algorithm, by
    /// how much that is worse than its run in the middle.
    ///
    /// # Errors
    /// When a run cannot be simulated, or is interrupted.
    pub fn badness(&self, case: &Case, interrupt: Interrupt<'_>) -> Result<f64> {
        let own = mildest(&self.of(&self.subject, case, interrupt)?);
        match &self.compared {
            None => Ok(own),
            Some(other) => Ok(own - median(self.of(other, case, interrupt)?)),
        }
    }

    /// How bad the runs are for one of them.
    ///
    /// # Errors
    /// As [`Judge::badness`].
    pub fn of(&self, contestant: &Contestant, case: &Case, interrupt: Interrupt<'_>) -> Result<Vec<f64>> {
        let scenario = self.setting.scenario(case, contestant)?;
        (1..=self.runs).map(|run| Ok(self.objective.badness(&scenario, &totals(&scenario, run, interrupt)?))).collect()
    }
}

/// The smallest.
#[must_use]
pub fn mildest(badnesses: &[f64]) -> f64 {
    badnesses.iter().copied().fold(f64::INFINITY, f64::min)
}

/// Of an even number the smaller of the two in the middle; 0 of none.
#[must_use]
pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len().saturating_sub(1) / 2).copied().unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_several_runs_one_is_in_the_middle_and_one_is_the_mildest() {
        assert_eq!(median(vec![3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(vec![4.0, 3.0, 1.0, 2.0]), 2.0);
        assert_eq!(mildest(&[3.0, 1.0, 2.0]), 1.0);
    }
}
