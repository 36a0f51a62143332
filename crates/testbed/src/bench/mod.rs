//! Benches: a scenario run as often as it asks for, recorded, judged and summed up.

mod children;
mod commands;
mod foreign;
mod link_file;
mod network;
mod output;
mod policies;
mod recording;
mod result;
mod run;
mod swaps;
mod validity;

pub use link_file::LINK_FILE;
pub use network::{Backend, Emulated};
pub use output::OutputDir;
pub use recording::RECORDING_FILE;
pub use result::{
    Aggregate, BenchResult, Completion, FlowAggregate, FlowResult, LinkResult, MissedThreshold, RunResult, Timekeeping,
    TransmitterResult, UdpResult,
};
pub use swaps::SwapResult;
pub use validity::Limits;

use crate::error::{Error, Result};
use ccactl_link::Nanos;
use ccactl_scenario::Scenario;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How often a run is tried unless the user says otherwise: what disturbed it once may be over.
pub const ATTEMPTS: u32 = 3;

/// The commands that make the network of a run, where the kernel carries the packets.
const COMMANDS_FILE: &str = "link-commands.txt";

/// How a bench is carried out; what it measures is in the scenario.
#[derive(Debug, Clone)]
pub struct Options {
    /// The `ccactl` binary, which is also the built-in traffic.
    pub program: PathBuf,
    /// What a valid run must keep to.
    pub limits: Limits,
    /// How often a run is tried until it is valid; see [`ATTEMPTS`].
    pub attempts: u32,
    /// Who carries the packets.
    pub backend: Backend,
    /// Start each run so long after a full second of the monotonic clock; at any time when absent.
    pub phase_ns: Option<Nanos>,
}

/// What happens during a bench, for a progress display.
#[derive(Debug, Clone, Copy)]
pub enum Event<'a> {
    /// A run begins.
    Started {
        /// From 1.
        run: u32,
        /// 2 when the first attempt was not valid, and so on.
        attempt: u32,
    },
    /// A run is under way.
    Running {
        /// Since its beginning.
        elapsed: Duration,
        /// Rows recorded.
        rows: u64,
    },
    /// A run is over and evaluated.
    Ended(&'a RunResult),
}

/// The flag that SIGINT and SIGTERM set; a bench looks at it often and then removes all that it made.
#[derive(Debug, Clone, Copy)]
pub struct Interrupt<'a>(pub &'a AtomicBool);

impl Interrupt<'_> {
    /// An error once the flag is set.
    pub(crate) fn check(self) -> Result<()> {
        if self.0.load(Ordering::Relaxed) { Err(Error::Interrupted) } else { Ok(()) }
    }
}

/// Runs a scenario into `output`.
///
/// # Errors
/// When something fails other than a run's validity; whatever was made on the host is removed.
pub fn bench(
    scenario: &Scenario,
    options: &Options,
    output: &OutputDir,
    interrupt: Interrupt<'_>,
    observe: &mut dyn FnMut(Event<'_>),
) -> Result<BenchResult> {
    let commands = options.backend.check(scenario)?;
    output.write("scenario.toml", scenario.to_toml().as_bytes())?;
    for (name, content) in scenario.files() {
        output.write(&name, &content)?;
    }
    if let Some(commands) = commands {
        output.write(COMMANDS_FILE, commands.as_bytes())?;
    }
    let mut runs = Vec::new();
    for run in 1..=scenario.repeat {
        for attempt in 1..=options.attempts {
            observe(Event::Started { run, attempt });
            let result = run::run(scenario, options, output, run, attempt, interrupt, observe)?;
            observe(Event::Ended(&result));
            let valid = result.valid;
            runs.push(result);
            if valid {
                break;
            }
        }
    }
    let result = BenchResult::new(scenario, options, runs);
    let json = serde_json::to_vec_pretty(&result).expect("results have only types that JSON knows");
    output.write("result.json", &json)?;
    Ok(result)
}
