//! Time that the kernel spends in the recorder's BPF programs.

use crate::metrics::error::{Error, Result};
use crate::metrics::page::{Page, Pairs, pair};
use aya::programs::{ProgramInfo, loaded_programs};
use aya::sys::{Stats, enable_stats};
use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::os::fd::OwnedFd;

/// The kernel measures every BPF program of the host while this exists.
pub(crate) struct Programs {
    _stats: OwnedFd,
}

impl Programs {
    /// Turns the measurement on.
    pub(crate) fn measure() -> Result<Programs> {
        let stats = enable_stats(Stats::RunTime).map_err(|error| Error::BpfStats { cause: error.io_error })?;
        Ok(Programs { _stats: stats })
    }

    /// Puts the programs that this process has open onto the page: those of its recorder.
    pub(crate) fn show(&self, page: &mut Page) {
        let own = own_program_ids();
        let mut runs: BTreeMap<String, (f64, u64)> = BTreeMap::new();
        for program in loaded_programs().flatten().filter(|program| own.contains(&program.id())) {
            let (seconds, count) = runs.entry(name(&program)).or_default();
            *seconds += program.run_time().as_secs_f64();
            *count += program.run_count();
        }
        let labels = |name: &String| -> Pairs { vec![pair("program", name)] };
        page.counter(
            "ccactl_recorder_program_run_seconds_total",
            "Processor time in a BPF program of the recorder (--bpf-stats).",
            runs.iter().map(|(name, (seconds, _))| (labels(name), *seconds)),
        );
        page.counter(
            "ccactl_recorder_program_runs_total",
            "Runs of a BPF program of the recorder (--bpf-stats).",
            runs.iter().map(|(name, (_, count))| (labels(name), *count as f64)),
        );
    }
}

/// The kernel writes the id of a program into the fdinfo of its descriptors, which is the one place that says whose
/// it is.
fn own_program_ids() -> HashSet<u32> {
    let files = fs::read_dir("/proc/self/fdinfo").into_iter().flatten().flatten();
    files.filter_map(|file| program_id(&fs::read_to_string(file.path()).ok()?)).collect()
}

fn program_id(fdinfo: &str) -> Option<u32> {
    fdinfo.lines().find_map(|line| line.strip_prefix("prog_id:"))?.trim().parse().ok()
}

fn name(program: &ProgramInfo) -> String {
    program.name_as_str().map_or_else(|| program.id().to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_id_stands_in_the_fdinfo_of_a_program_only() {
        assert_eq!(program_id("pos:\t0\nprog_type:\t26\nprog_id:\t77\nrun_cnt:\t5\n"), Some(77));
        assert_eq!(program_id("pos:\t0\nmap_id:\t5\n"), None);
    }
}
