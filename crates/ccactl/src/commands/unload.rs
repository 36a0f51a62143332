//! `ccactl unload`

use super::sockets_view::{self, UnloadRow};
use super::{output, receive};
use crate::error::{Context, Result};
use ccactl_host::outln;
use ccactl_loader::{Loader, UnloadOptions, UnloadOutcome};
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
    /// Every policy, and every receiving algorithm
    #[arg(long, group = "target")]
    all: bool,
    /// Take the receiving algorithm away, not the policy
    #[arg(long, requires = "cgroup", conflicts_with = "restore_native")]
    receive: bool,
    /// Give live sockets this algorithm of the kernel's own instead of what they had before
    #[arg(long, value_name = "NAME")]
    restore_native: Option<String>,
    /// Remove the cgroup too, when it is empty
    #[arg(long, requires = "cgroup")]
    remove_cgroup: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// A receiving algorithm has `receive` in the place of `kernel_name`.
#[derive(Serialize)]
#[serde(untagged)]
enum Entry {
    Policy(UnloadRow),
    Receiver(receive::Row),
}

pub fn run(args: Args) -> Result<ExitCode> {
    let loader = Loader::open()?;
    if let Some(path) = args.cgroup.as_ref().filter(|_| args.receive) {
        let outcome = loader.unload_receive(path)?;
        remove_cgroup(&loader, &args)?;
        return receive::print_unloaded(&loader, outcome.as_slice(), args.json);
    }
    let options = UnloadOptions { restore_native: args.restore_native.clone() };
    let removed = match (&args.cgroup, args.id) {
        (Some(path), _) => loader.unload_with(path, &options)?.into_iter().collect(),
        (None, Some(id)) => vec![loader.unload_id_with(id, &options)?],
        (None, None) => loader.unload_all_with(&options)?,
    };
    let receivers = if args.all { loader.unload_all_receive()? } else { Vec::new() };
    remove_cgroup(&loader, &args)?;
    let is_complete = removed.iter().all(UnloadOutcome::is_complete);
    if args.json {
        let policies = removed.iter().map(|outcome| Entry::Policy(UnloadRow::of(&loader, outcome)));
        let receiving = receive::unloaded_rows(&loader, &receivers).into_iter().map(Entry::Receiver);
        output::json(&policies.chain(receiving).collect::<Vec<_>>())?;
    } else if receivers.is_empty() || !removed.is_empty() {
        print(&loader, &removed)?;
    }
    if !args.json && !receivers.is_empty() {
        receive::print_unloaded(&loader, &receivers, false)?;
    }
    Ok(sockets_view::exit(is_complete))
}

fn remove_cgroup(loader: &Loader, args: &Args) -> Result<()> {
    let Some(path) = args.cgroup.as_ref().filter(|_| args.remove_cgroup) else { return Ok(()) };
    let path = loader.mount().resolve(path)?;
    fs::remove_dir(&path).with_context(|| format!("cannot remove the cgroup {}", path.display()))
}

fn print(loader: &Loader, removed: &[UnloadOutcome]) -> Result<()> {
    if removed.is_empty() {
        outln!("no policy to unload, nothing changed");
    }
    for outcome in removed {
        let path = outcome.cgroup.as_ref().map(|path| loader.mount().display(path));
        let cgroup = path.unwrap_or_else(|| format!("cgroup {} (removed, or out of sight)", outcome.cgroup_id));
        let name = &outcome.kernel_name;
        outln!("{cgroup}: new sockets no longer get {name}");
        if outcome.counts.total() > 0 {
            sockets_view::print_counts(&outcome.counts, false)?;
        }
        if outcome.still_in_use {
            outln!("{name} stays registered: another policy or a live socket has it");
        }
    }
    Ok(())
}
