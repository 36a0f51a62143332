//! `ccactl run`

use super::output;
use crate::error::Result;
use ccactl_loader::{Choice, LoadRequest, Loader};
use std::ffi::OsString;
use std::process::{Command, ExitCode};

#[derive(clap::Args)]
pub struct Args {
    /// Algorithm: a name of `ccactl list`, or native:NAME for the kernel's own
    #[arg(value_name = "ALGO")]
    algorithm: String,
    /// Set a tunable; `ccactl show ALGO` lists them
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = output::name_value)]
    set: Vec<(String, String)>,
    /// Register under another kernel name, so that several versions stand side by side
    #[arg(long = "as", value_name = "NAME")]
    as_name: Option<String>,
    /// Command and its arguments
    #[arg(last = true, required = true, value_name = "CMD")]
    command: Vec<OsString>,
}

pub fn run(args: Args) -> Result<ExitCode> {
    let choice = Choice::parse(&args.algorithm, &args.set, args.as_name.as_deref())?;
    let (program, arguments) = args.command.split_first().expect("clap requires the command");
    let mut command = Command::new(program);
    command.args(arguments);
    Ok(ExitCode::from(Loader::open()?.run(&LoadRequest::new(choice, "/"), command)?))
}
