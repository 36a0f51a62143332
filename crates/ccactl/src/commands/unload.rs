//! `ccactl unload`

use super::output;
use anyhow::{Context, Result};
use ccactl_loader::{Loader, UnloadOutcome};
use serde::Serialize;
use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(clap::Args)]
#[command(group(clap::ArgGroup::new("target").required(true)))]
pub struct Args {
    /// cgroup, relative to the cgroup2 mount (/bench) or absolute
    #[arg(long, value_name = "PATH", group = "target")]
    cgroup: Option<PathBuf>,
    /// cgroup id as in `ccactl status`, for a cgroup that was removed
    #[arg(long, value_name = "ID", group = "target")]
    id: Option<u64>,
    /// Every policy
    #[arg(long, group = "target")]
    all: bool,
    /// Remove the cgroup too, when it is empty
    #[arg(long, requires = "cgroup")]
    remove_cgroup: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Row {
    cgroup_id: u64,
    kernel_name: String,
    still_in_use: bool,
}

pub fn run(args: Args) -> Result<ExitCode> {
    let loader = Loader::open()?;
    let removed = match (&args.cgroup, args.id) {
        (Some(path), _) => loader.unload(path)?.into_iter().collect(),
        (None, Some(id)) => vec![loader.unload_id(id)?],
        (None, None) => loader.unload_all()?,
    };
    if let Some(path) = args.cgroup.as_ref().filter(|_| args.remove_cgroup) {
        let path = loader.mount().resolve(path)?;
        fs::remove_dir(&path).with_context(|| format!("cannot remove the cgroup {}", path.display()))?;
    }
    if args.json {
        let row = |UnloadOutcome { cgroup_id, kernel_name, still_in_use }| Row { cgroup_id, kernel_name, still_in_use };
        output::json(&removed.into_iter().map(row).collect::<Vec<_>>())?;
        return Ok(ExitCode::SUCCESS);
    }
    if removed.is_empty() {
        println!("no policy to unload, nothing changed");
    }
    for UnloadOutcome { cgroup_id, kernel_name, still_in_use } in removed {
        let cgroup = match &args.cgroup {
            Some(path) => loader.mount().display(&loader.mount().locate(path)?),
            None => format!("cgroup {cgroup_id}"),
        };
        println!("{cgroup}: new sockets no longer get {kernel_name}");
        if still_in_use {
            println!("{kernel_name}: open sockets keep it, the kernel frees it with the last of them");
        }
    }
    Ok(ExitCode::SUCCESS)
}
