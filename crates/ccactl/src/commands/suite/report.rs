//! `ccactl bench report`: what the finished cells of a folder say, without running any.

use crate::commands::carry_out::interrupt_flag;
use crate::commands::output;
use crate::commands::store::Cells;
use crate::error::{Error, Result};
use ccactl_abi::exit;
use ccactl_host::{out, outln};
use ccactl_suites::folder::SuiteFolder;
use ccactl_suites::page::{Report, terminal};
use ccactl_suites::results;
use ccactl_suites::runner::Failure;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;

#[derive(clap::Args)]
pub struct Args {
    /// Folder of `ccactl bench run`
    folder: PathBuf,
    /// Bring the cells first that are finished in this store, as `bench run --store` put them there
    #[arg(long, value_name = "LOCATION")]
    store: Option<String>,
    #[command(flatten)]
    shown: Shown,
}

/// How a report is shown, and what it decides.
#[derive(clap::Args)]
pub struct Shown {
    /// End with 6 when an ordering fails too, not only when a threshold of the scenario is missed
    #[arg(long)]
    strict: bool,
    /// Print the report as JSON
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args) -> Result<ExitCode> {
    let interrupt = interrupt_flag()?;
    let folder = match &args.store {
        Some(location) => brought(&args.folder, location)?,
        None => SuiteFolder::read(&args.folder)?,
    };
    write(&folder, &[], &args.shown, &interrupt)
}

/// The folder with all that is finished in a store.
fn brought(path: &Path, location: &str) -> Result<SuiteFolder> {
    let store = Cells::open(location)?;
    let Some(experiment) = store.experiment()? else {
        let found = format!("{location}: expected results of `ccactl bench run --store`, found none");
        return Err(Error::Argument(found));
    };
    let folder = SuiteFolder::open(path, experiment)?;
    let ids: Vec<&str> = folder.experiment().cells.iter().map(|cell| cell.id.as_str()).collect();
    store.bring(&folder, &ids)?;
    Ok(folder)
}

/// Writes the report of what is finished, and shows it.
pub fn write(folder: &SuiteFolder, failures: &[Failure], shown: &Shown, interrupt: &AtomicBool) -> Result<ExitCode> {
    let results = results::load(folder, interrupt)?;
    let experiment = folder.experiment();
    let mut report = Report::new(experiment, &results, failures);
    report.draw(experiment.suite(), &results, interrupt)?;
    report.write(folder, &results, interrupt)?;
    if shown.json {
        output::json(&report)?;
    } else {
        out!("{}", terminal(&report, ccactl_host::terminal::width()));
        outln!("page: {}", folder.path().join("suite.html").display());
    }
    Ok(exit_code(&report, shown.strict))
}

fn exit_code(report: &Report, strict: bool) -> ExitCode {
    if !report.failed.is_empty() || report.without_a_valid_run().next().is_some() {
        return ExitCode::from(exit::FAILURE);
    }
    let missed = report.misses_a_threshold() || (strict && report.fails_an_ordering());
    if missed { ExitCode::from(exit::THRESHOLD) } else { ExitCode::SUCCESS }
}
