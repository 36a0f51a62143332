//! `ccactl send`

use super::store;
use crate::error::Result;
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(clap::Args)]
pub struct Args {
    /// Where the parts wait [default: /var/lib/ccactl/spool]
    #[arg(long, value_name = "DIR")]
    spool: Option<PathBuf>,
    /// Print what was sent as JSON, a line for each store
    #[arg(long)]
    json: bool,
}

pub fn run(args: Args) -> Result<ExitCode> {
    store::send(args.spool, args.json)
}
