//! Runs the experiments behind the tables and figures of `docs/` and prints them: `cargo xtask measure NAME`.
//!
//! A job that already has a valid run is not run again, so an interrupted series goes on where it was.

mod catalogue;
mod figures;
mod invariants;
mod jobs;
mod plans;
mod swaps;
mod tables;

use plans::Settings;
use std::path::PathBuf;
use std::process::ExitCode;

const USAGE: &str = "usage: measure fidelity|fairness|loss|catalogue|figures|invariants|swaps [--dir DIR] [--only NAME,…] \
                     [--lab vm:KERNEL] [--quick] [--tables-only]";

fn main() -> ExitCode {
    match run() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(ccactl_abi::exit::THRESHOLD),
        Err(message) => {
            eprintln!("measure: {message}");
            ExitCode::FAILURE
        }
    }
}

/// Whether everything that was judged holds.
fn run() -> Result<bool, String> {
    let mut args = std::env::args().skip(1);
    let name = args.next().ok_or(USAGE)?;
    let (mut dir, mut settings, mut tables_only) = (PathBuf::from("target/measure"), Settings::default(), false);
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--dir" => dir = args.next().ok_or(USAGE)?.into(),
            "--only" => settings.only = args.next().ok_or(USAGE)?.split(',').map(str::to_owned).collect(),
            "--lab" => settings.lab = Some(args.next().ok_or(USAGE)?),
            "--quick" => settings.quick = true,
            "--tables-only" => tables_only = true,
            _ => return Err(USAGE.to_owned()),
        }
    }
    let plan = plans::by_name(&name, &settings)?.ok_or(USAGE)?;
    let dir = dir.join(&name);
    if !tables_only {
        jobs::run_all(&plan.groups, &dir, settings.lab.as_deref())?;
    }
    let outcome = (plan.finish)(&dir, &settings)?;
    print!("{}", outcome.text);
    Ok(outcome.holds)
}
