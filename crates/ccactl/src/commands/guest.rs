//! `ccactl __guest`: ccactl as init of a guest of the virtual lab.

use crate::error::Result;
use std::process::ExitCode;

/// How the lab has the kernel start init.
pub const INIT: &str = "__guest";

pub fn run() -> Result<ExitCode> {
    ccactl_lab::guest::main()?;
    Ok(ExitCode::SUCCESS)
}
