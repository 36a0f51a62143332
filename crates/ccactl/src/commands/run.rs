//! `ccactl run`

use super::settings::Settings;
use crate::error::Result;
use ccactl_loader::{LoadRequest, Loader};
use std::ffi::OsString;
use std::process::{Command, ExitCode};

#[derive(clap::Args)]
pub struct Args {
    /// Algorithm: a name of `ccactl list`, or native:NAME for the kernel's own
    #[arg(value_name = "ALGO", group = "chosen")]
    algorithm: String,
    #[command(flatten)]
    settings: Settings,
    /// Command and its arguments
    #[arg(last = true, required = true, value_name = "CMD")]
    command: Vec<OsString>,
}

pub fn run(args: Args) -> Result<ExitCode> {
    let choice = args.settings.choice(&args.algorithm)?;
    let (program, arguments) = args.command.split_first().expect("clap requires the command");
    let mut command = Command::new(program);
    command.args(arguments);
    Ok(ExitCode::from(Loader::open()?.run(&LoadRequest::new(choice, "/"), command)?))
}
