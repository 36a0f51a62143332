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
    /// Runs of a case, each with other random events and start times; the one in the middle counts.
    pub runs: u32,
}

impl Judge {
    /// How bad a case is for the algorithm; against another one, by how much it is worse for it.
    ///
    /// # Errors
    /// When a run cannot be simulated, or is interrupted.
    pub fn badness(&self, case: &Case, interrupt: Interrupt<'_>) -> Result<f64> {
        let own = self.of(&self.subject, case, interrupt)?;
        match &self.compared {
            None => Ok(own),
            Some(other) => Ok(own - self.of(other, case, interrupt)?),
        }
    }

    /// How bad it is for one of them.
    ///
    /// # Errors
    /// As [`Judge::badness`].
    pub fn of(&self, contestant: &Contestant, case: &Case, interrupt: Interrupt<'_>) -> Result<f64> {
        let scenario = self.setting.scenario(case, contestant)?;
        let mut said = Vec::new();
        for run in 1..=self.runs {
            said.push(self.objective.badness(&scenario, &totals(&scenario, run, interrupt)?));
        }
        Ok(median(said))
    }
}

/// Of an even number the smaller of the two in the middle.
pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len().saturating_sub(1) / 2).copied().unwrap_or(0.0)
}
