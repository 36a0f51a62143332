//! Cells of a suite in guests of the virtual lab: one guest for each, with all of its runs.

use super::carry_out::How;
use super::lab;
use ccactl_lab::kernel::Kernel;
use ccactl_suites::runner::{Executor, Step};
use ccactl_suites::{Cell, Error, Result};
use ccactl_testbed::bench::OutputDir;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// Runs cells as `ccactl bench --lab` runs a scenario.
pub struct Guests<'a> {
    /// How the lab was asked for.
    pub lab: &'a lab::Args,
    /// The kernel of all guests.
    pub kernel: &'a Kernel,
    /// The same for every cell.
    pub how: How,
}

impl Executor for Guests<'_> {
    fn execute(
        &self,
        cell: &Cell,
        folder: &Path,
        interrupt: &AtomicBool,
        observe: &mut dyn FnMut(Step<'_>),
    ) -> Result<()> {
        // A guest makes all runs of a cell, also those that an earlier one has made.
        if folder.exists() {
            let failed = |cause| Error::Folder { path: folder.to_owned(), action: "make its runs anew", cause };
            std::fs::remove_dir_all(folder).map_err(failed)?;
        }
        let output = OutputDir::prepare(folder)?;
        let ran = self.lab.bench(self.kernel, &cell.scenario, &output, self.how, &[], interrupt);
        let ran = ran.map_err(|error| match error.exit_code() {
            ccactl_abi::exit::INTERRUPTED => Error::Interrupted,
            exit_code => Error::OffHost { cause: Box::new(error), exit_code },
        })?;
        // What was not valid in there is in the result; what else it says is for whoever waits.
        let warnings: Vec<String> =
            ran.stderr.lines().filter(|line| line.starts_with("warning:")).map(str::to_owned).collect();
        if !warnings.is_empty() {
            observe(Step::Remark(&warnings.join("; ")));
        }
        Ok(())
    }
}

/// A guest has one CPU and its own time, so there may be as many as this machine has CPUs, if their memory is free.
pub fn side_by_side() -> usize {
    let cpus = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let meminfo = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    available_mib(&meminfo).map_or(1, |mib| mib / GUEST_MIB).clamp(1, cpus)
}

/// What a guest may take of this machine: its memory, and QEMU's translations of code beside it.
const GUEST_MIB: usize = lab::MEMORY_MIB as usize * 2;

fn available_mib(meminfo: &str) -> Option<usize> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib: usize = line.trim().strip_suffix("kB")?.trim_end().parse().ok()?;
    Some(kib / 1024)
}

#[cfg(test)]
mod tests {
    use super::available_mib;

    #[test]
    fn what_is_available_is_read_as_proc_5_writes_it() {
        let meminfo = "MemTotal:       24565404 kB\nMemFree:         301200 kB\nMemAvailable:    4194304 kB\n";
        assert_eq!(available_mib(meminfo), Some(4096));
        assert_eq!(available_mib("MemTotal: 5 kB\n"), None);
    }
}
