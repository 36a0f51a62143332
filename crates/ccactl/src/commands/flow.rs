//! `ccactl __flow`: the built-in traffic of `bench`, started by it inside namespace and cgroup.

use crate::error::Result;
use ccactl_testbed::traffic::End;
use std::process::ExitCode;

#[derive(clap::Args)]
pub struct Args {
    /// What to do, JSON
    #[arg(value_parser = end)]
    end: End,
}

fn end(text: &str) -> Result<End, serde_json::Error> {
    serde_json::from_str(text)
}

pub fn run(args: Args) -> Result<ExitCode> {
    args.end.run()?;
    Ok(ExitCode::SUCCESS)
}
