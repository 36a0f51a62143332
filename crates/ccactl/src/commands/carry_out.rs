//! Carries out a bench for every subcommand that has one: with a progress display, a page, and an end by a signal.

use super::bench_view;
use crate::error::{Context, Result};
use ccactl_host::interrupt;
use ccactl_loader::Loader;
use ccactl_scenario::Scenario;
use ccactl_scenario::units::Span;
use ccactl_testbed::bench::{self, Backend, BenchResult, Interrupt, Limits, Options, OutputDir};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// How a bench is carried out.
#[derive(Clone, Copy)]
pub struct How {
    /// How often a run is tried.
    pub attempts: u32,
    /// Who carries the packets.
    pub backend: Backend,
    /// Start each run so long after a full second.
    pub phase: Option<Span>,
}

/// Runs a scenario into a folder with a progress display, and writes its page. Nothing is made on the host when
/// the folder or the rights are missing.
pub fn carry_out(
    scenario: &Scenario,
    folder: &Path,
    how: How,
    heading: Option<&str>,
    interrupt: &AtomicBool,
) -> Result<BenchResult> {
    if how.backend.needs_host() {
        Loader::open()?;
    }
    how.backend.check(scenario)?;
    let output = OutputDir::prepare(folder)?;
    let program = std::env::current_exe().context("find the ccactl binary for the built-in traffic")?;
    let How { attempts, backend, phase } = how;
    let options =
        Options { program, limits: Limits::default(), attempts, backend, phase_ns: phase.map(|phase| phase.ns) };
    let mut progress = bench_view::Progress::new(scenario, heading);
    let result = bench::bench(scenario, &options, &output, Interrupt(interrupt), &mut |event| progress.show(event))?;
    progress.finish();
    bench_view::write_page(scenario, &result, folder)?;
    Ok(result)
}

/// The flag that SIGINT and SIGTERM set.
pub fn interrupt_flag() -> Result<Arc<AtomicBool>> {
    // The flag that a wait for a lock looks at, too.
    interrupt::on_signals().context("watch for SIGINT and SIGTERM")
}

/// `20261120T185110Z`, for names of folders.
pub fn utc_now() -> String {
    ccactl_collector::utc_compact()
}
