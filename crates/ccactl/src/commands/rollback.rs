//! `ccactl rollback`

use super::output;
use super::sockets_view::{self, SwapRow, UnloadRow};
use crate::error::Result;
use ccactl_host::outln;
use ccactl_loader::{Loader, RollbackOutcome};
use serde::Serialize;
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(clap::Args)]
pub struct Args {
    /// cgroup, relative to the cgroup2 mount (/bench) or absolute
    #[arg(long, value_name = "PATH")]
    cgroup: PathBuf,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// What the rollback went back to.
#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum Row {
    Restored(SwapRow),
    CanaryReverted(SwapRow),
    Removed(UnloadRow),
}

pub fn run(args: Args) -> Result<ExitCode> {
    let loader = Loader::open()?;
    let outcome = loader.rollback(&args.cgroup)?;
    let is_complete = match &outcome {
        RollbackOutcome::Restored(outcome) | RollbackOutcome::CanaryReverted(outcome) => outcome.is_complete(),
        RollbackOutcome::Removed(outcome) => outcome.is_complete(),
    };
    if args.json {
        output::json(&match &outcome {
            RollbackOutcome::Restored(outcome) => Row::Restored(SwapRow::of(&loader, outcome)),
            RollbackOutcome::CanaryReverted(outcome) => Row::CanaryReverted(SwapRow::of(&loader, outcome)),
            RollbackOutcome::Removed(outcome) => Row::Removed(UnloadRow::of(&loader, outcome)),
        })?;
        return Ok(sockets_view::exit(is_complete));
    }
    match &outcome {
        RollbackOutcome::Restored(outcome) => sockets_view::print_swap(&loader, outcome)?,
        RollbackOutcome::CanaryReverted(outcome) => {
            outln!("the canary is over");
            sockets_view::print_swap(&loader, outcome)?;
        }
        RollbackOutcome::Removed(outcome) => {
            let cgroup = loader.mount().display(&loader.mount().locate(&args.cgroup)?);
            outln!("{cgroup}: had no policy before {}, and has none now", outcome.kernel_name);
            sockets_view::print_counts(&outcome.counts, false)?;
        }
    }
    Ok(sockets_view::exit(is_complete))
}
