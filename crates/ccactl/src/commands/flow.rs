//! What `bench` starts: `ccactl __enter`, the way of every child into its namespace and cgroup, and `ccactl __flow`, the
//! built-in traffic.

use crate::error::Result;
use ccactl_testbed::host::entry::Entry;
use ccactl_testbed::traffic::End;
use std::ffi::OsString;
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

#[derive(clap::Args)]
pub struct EnterArgs {
    /// Where to, JSON
    #[arg(value_parser = entry)]
    entry: Entry,
    /// What to become there
    #[arg(last = true, required = true)]
    words: Vec<OsString>,
}

fn entry(text: &str) -> Result<Entry, serde_json::Error> {
    serde_json::from_str(text)
}

pub fn enter(args: &EnterArgs) -> Result<ExitCode> {
    args.entry.go(&args.words)?;
    Ok(ExitCode::FAILURE)
}
