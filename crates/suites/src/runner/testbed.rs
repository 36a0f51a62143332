//! Cells on the testbed.

use super::{Executor, Step};
use crate::{Cell, Result};
use ccactl_testbed::bench::{self, Event, Interrupt, Options, OutputDir};
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// Runs cells as `ccactl bench` runs a scenario.
#[derive(Debug, Clone)]
pub struct Testbed {
    /// The same for every cell.
    pub options: Options,
}

impl Executor for Testbed {
    fn execute(
        &self,
        cell: &Cell,
        folder: &Path,
        interrupt: &AtomicBool,
        observe: &mut dyn FnMut(Step<'_>),
    ) -> Result<()> {
        let output = if folder.exists() { OutputDir::go_on(folder)? } else { OutputDir::prepare(folder)? };
        let mut show = |event: Event<'_>| match event {
            Event::Started { run, attempt } => observe(Step::Run { run, attempt }),
            Event::Running { elapsed, .. } => observe(Step::Elapsed(elapsed)),
            Event::Ended(result) if !result.valid => {
                observe(Step::Invalid { run: result.run, problems: &result.problems });
            }
            Event::Ended(_) => {}
        };
        bench::bench(&cell.scenario, &self.options, &output, Interrupt(interrupt), &mut show)?;
        Ok(())
    }
}
