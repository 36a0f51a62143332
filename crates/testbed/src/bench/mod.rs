//! Benches: a scenario run as often as it asks for, recorded, judged and summed up.

mod children;
mod commands;
mod event;
mod foreign;
mod link_file;
mod network;
mod options;
mod output;
mod policies;
mod recording;
mod result;
mod run;
mod swaps;
mod validity;
mod warm_up;

pub(crate) use children::{FlowReport, Reports};
pub(crate) use commands::{UDP_HEADER_BYTES, application, sending_times};
pub(crate) use network::{Carried, TCP_MEMORY_DEFAULT, tcp_memory_max};
pub(crate) use policies::choice;
pub(crate) use recording::metadata;
pub(crate) use result::Measured;

pub use event::{Event, Interrupt};
pub use link_file::{LINK_FILE, LinkRow, link_rows};
pub use network::{Backend, Emulated, TransmitterResult};
pub use options::Options;
pub use output::OutputDir;
pub use recording::RECORDING_FILE;
pub use result::{
    Aggregate, BenchResult, Completion, FlowAggregate, FlowResult, LinkResult, MissedThreshold, RunResult, Timekeeping,
    UdpResult,
};
pub use swaps::SwapResult;
pub use validity::{Limits, REMEDY};

use crate::error::Result;
use ccactl_scenario::Scenario;

/// How often a run is tried unless the user says otherwise: what disturbed it once may be over.
pub const ATTEMPTS: u32 = 3;

/// The commands that make the network of a run, where the kernel carries the packets.
const COMMANDS_FILE: &str = "link-commands.txt";

/// Runs a scenario into `output`: the runs that an earlier bench there has not made.
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
    let mut runs = output.earlier().to_vec();
    let made = runs.last().map_or(0, |last| last.run);
    for run in made + 1..=scenario.repeat {
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
