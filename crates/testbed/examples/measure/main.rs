//! Runs the experiments behind the tables of `docs/` and writes them: `cargo xtask measure NAME [--dir DIR] [--quick]`.
//!
//! A job whose `result.json` is already there is not run again, so an interrupted series goes on where it was.

mod jobs;
mod plans;
mod tables;

use std::path::PathBuf;
use std::process::ExitCode;

const USAGE: &str = "usage: measure fidelity|fairness|loss [--dir DIR] [--quick] [--tables-only]";

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("measure: {message}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), String> {
    let mut args = std::env::args().skip(1);
    let name = args.next().ok_or(USAGE)?;
    let (mut dir, mut quick, mut tables_only) = (PathBuf::from("target/measure"), false, false);
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--dir" => dir = args.next().ok_or(USAGE)?.into(),
            "--quick" => quick = true,
            "--tables-only" => tables_only = true,
            _ => return Err(USAGE.to_owned()),
        }
    }
    let plan = plans::by_name(&name, quick).ok_or(USAGE)?;
    let dir = dir.join(&name);
    if !tables_only {
        jobs::run_all(&plan.groups, &dir)?;
    }
    print!("{}", (plan.table)(&dir)?);
    Ok(())
}
