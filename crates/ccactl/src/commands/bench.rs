//! `ccactl bench`

use super::carrier::Carrier;
use super::carry_out::{How, carry_out, interrupt_flag, utc_now};
use super::{bench_view, calibrate, lab, output, suite};
use crate::error::Result;
use ccactl_abi::exit;
use ccactl_host::{outln, terminal};
use ccactl_loader::{Loader, is_file};
use ccactl_scenario::units::Span;
use ccactl_scenario::{Override, ScenarioFile};
use ccactl_testbed::bench::{self, BenchResult};
use ccactl_testbed::host::clean;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

#[derive(clap::Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub struct Args {
    #[command(subcommand)]
    action: Option<Action>,
    /// Scenario file, or the name of a shipped scenario (`ccactl bench list`)
    #[arg(required = true, value_name = "SCENARIO")]
    scenario: Option<String>,
    #[command(flatten)]
    changes: Changes,
    /// Folder for scenario, recordings, result.json and report.html [default: ./ccactl-bench-NAME-TIME]
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
    #[command(flatten)]
    carrier: Carrier,
    /// Try a run that is not valid up to so many times
    #[arg(long, value_name = "N", default_value_t = bench::ATTEMPTS, value_parser = clap::value_parser!(u32).range(1..))]
    attempts: u32,
    /// Start each run so long after a full second of the monotonic clock, from which the kernel counts its timer interrupts [default:
    /// at once]
    #[arg(long, value_name = "TIME")]
    start_phase: Option<Span>,
    #[command(flatten)]
    lab: lab::Args,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

#[derive(clap::Subcommand)]
enum Action {
    /// Remove what killed benches left behind
    Clean {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Run an experiment of a paper, all cells of its matrix, and put it beside the print; goes on where it was interrupted
    Run(Box<suite::Args>),
    /// List the cells of an experiment with what each takes, for whoever hands them out
    Cells(Box<suite::cells::Args>),
    /// Run every algorithm beside every other, and show who harms whom; goes on where it was interrupted
    Matrix(Box<suite::matrix::Args>),
    /// Give the cells of an experiment to a cluster, each a task of its own, and a report that waits for them
    Submit(Box<suite::submit::Args>),
    /// Write the report of what is finished in a folder of `bench run`; needs no rights
    Report(suite::report::Args),
    /// Measure which rates this host emulates in time, and how many runs side by side; suites go by it
    Calibrate(calibrate::Args),
    /// Count the printed figures met and the orderings that hold, over several suites
    Score {
        /// Folders of suites, or their files suite.json
        #[arg(required = true, value_name = "PATH")]
        paths: Vec<PathBuf>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// List the suites and the single scenarios
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Print the JSON schema of scenarios, for editors
    Schema,
}

/// Changes of the scenario; `--set` reaches every field, the others are short forms of it.
#[derive(clap::Args)]
struct Changes {
    /// Length of a run, such as 30s
    #[arg(long, value_name = "TIME")]
    duration: Option<String>,
    /// Number of runs
    #[arg(long, value_name = "N")]
    repeat: Option<u32>,
    /// Sampling of the recording: ack, rtt or a time such as 10ms
    #[arg(long, value_name = "RATE")]
    every: Option<String>,
    /// Buffer of the bottleneck: 0.5bdp, 625000B or 412p
    #[arg(long, value_name = "SIZE")]
    buffer: Option<String>,
    /// Probability of random loss, such as 0.005
    #[arg(long, value_name = "P")]
    loss: Option<f64>,
    /// Algorithm of a flow (of the first one without FLOW)
    #[arg(long, value_name = "[FLOW=]ALGO")]
    algorithm: Vec<String>,
    /// Any field, such as `link.rate=20Mbit/s` or `'flow[cubic].start=10s'`
    #[arg(long, value_name = "FIELD=VALUE")]
    set: Vec<Override>,
}

impl Changes {
    fn overrides(self) -> Vec<Override> {
        let texts = [("duration", self.duration), ("every", self.every), ("link.buffer", self.buffer)];
        let mut changes: Vec<Override> =
            texts.into_iter().filter_map(|(field, value)| Some(Override::text(field, value?))).collect();
        changes.extend(self.repeat.map(|n| Override::value("repeat", i64::from(n))));
        changes.extend(self.loss.map(|p| Override::value("link.loss", p)));
        changes.extend(self.algorithm.iter().map(|text| match text.split_once('=') {
            Some((flow, algorithm)) => Override::text(&format!("flow[{flow}].algorithm"), from_here(algorithm)),
            None => Override::text("flow[0].algorithm", from_here(text)),
        }));
        changes.extend(self.set);
        changes
    }
}

/// What a scenario's file names is relative to its folder, and what the command line names to this one.
pub fn from_here(algorithm: &str) -> String {
    let path = is_file(algorithm).then(|| std::path::absolute(algorithm).ok()?.into_os_string().into_string().ok());
    path.flatten().unwrap_or_else(|| algorithm.to_owned())
}

pub fn run(args: Args) -> Result<ExitCode> {
    match args.action {
        Some(Action::Clean { json }) => return clean(json),
        Some(Action::Run(args)) => return suite::run(*args),
        Some(Action::Cells(args)) => return suite::cells::run(&args),
        Some(Action::Matrix(args)) => return suite::matrix::run(&args),
        Some(Action::Submit(args)) => return suite::submit::run(&args),
        Some(Action::Report(args)) => return suite::report::run(&args),
        Some(Action::Calibrate(args)) => return calibrate::run(&args),
        Some(Action::Score { paths, json }) => return suite::score::score(&paths, json),
        Some(Action::List { json }) => return suite::list::list(json),
        Some(Action::Schema) => {
            // A JSON schema, which has a version of its own.
            let schema = serde_json::to_string_pretty(&ccactl_scenario::schema())?;
            terminal::json_out().write_all((schema + "\n").as_bytes())?;
            return Ok(ExitCode::SUCCESS);
        }
        None => {}
    }
    let name = args.scenario.expect("clap asks for it where there is no subcommand");
    let file = ScenarioFile::open(&name, &[]).map_err(ccactl_testbed::Error::from)?;
    if let (cells @ 2.., true) = (file.cells().len(), Path::new(&name).is_file()) {
        terminal::note(&format!(
            "{name}: its matrix has {cells} cells, and this runs the scenario above it; `ccactl bench run {name}` runs the cells"
        ));
    }
    let scenario = file.alone(&args.changes.overrides()).map_err(ccactl_testbed::Error::from)?;
    let folder = args.output.unwrap_or_else(|| format!("ccactl-bench-{}-{}", scenario.name, utc_now()).into());
    let interrupt = interrupt_flag()?;
    let how = How { attempts: args.attempts, backend: args.carrier.backend(), phase: args.start_phase };
    if args.lab.is_asked_for() {
        return args.lab.carry_out(&scenario, &folder, how, args.json, &interrupt);
    }
    let result = carry_out(&scenario, &folder, how, None, &interrupt)?;
    if args.json {
        output::json(&result)?;
    } else {
        bench_view::print(&scenario, &result, &folder)?;
    }
    Ok(exit_code(&result))
}

fn exit_code(result: &BenchResult) -> ExitCode {
    if result.aggregate.is_none() {
        return ExitCode::from(exit::FAILURE);
    }
    if result.missed_thresholds.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(exit::THRESHOLD) }
}

fn clean(json: bool) -> Result<ExitCode> {
    let cleaned = clean::clean(&Loader::open()?)?;
    if json {
        output::json(&cleaned)?;
    } else {
        let (namespaces, cgroups, policies) = (cleaned.namespaces.len(), cleaned.cgroups.len(), cleaned.policies);
        outln!("removed {namespaces} namespaces, {cgroups} cgroups, {policies} policies");
    }
    Ok(ExitCode::SUCCESS)
}
