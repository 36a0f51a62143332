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
    /// Only say what it would take away
    #[arg(long)]
    dry_run: bool,
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
    if args.dry_run {
        return say(&loader, &args);
    }
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
        output::json_list("removed", &policies.chain(receiving).collect::<Vec<_>>())?;
    } else if receivers.is_empty() || !removed.is_empty() {
        print(&loader, &removed)?;
    }
    if !args.json && !receivers.is_empty() {
        receive::print_unloaded(&loader, &receivers, false)?;
    }
    Ok(sockets_view::exit(is_complete))
}

/// What is in force and would not be.
#[derive(Serialize)]
struct Planned {
    cgroup: Option<String>,
    cgroup_id: u64,
    kernel_name: Option<String>,
    receive: Option<String>,
    /// Live sockets that would get what they had before.
    sockets: u64,
}

fn say(loader: &Loader, args: &Args) -> Result<ExitCode> {
    let only = args.cgroup.as_ref().map(|path| loader.mount().resolve(path)).transpose()?;
    let is_meant =
        |cgroup: &Option<PathBuf>, id: u64| args.all || args.id == Some(id) || (only.is_some() && *cgroup == only);
    let shown = |cgroup: &Option<PathBuf>| cgroup.as_ref().map(|path| loader.mount().display(path));
    let census = loader.census()?;
    let mut planned = Vec::new();
    for policy in loader.status()? {
        if !args.receive && is_meant(&policy.cgroup, policy.cgroup_id) {
            planned.push(Planned {
                cgroup: shown(&policy.cgroup),
                cgroup_id: policy.cgroup_id,
                kernel_name: Some(policy.kernel_name),
                receive: None,
                sockets: census.policies.get(&policy.cgroup_id).map_or(0, |of_it| of_it.counts.there),
            });
        }
    }
    for receiver in loader.receivers()? {
        if (args.all || args.receive) && is_meant(&receiver.cgroup, receiver.cgroup_id) {
            planned.push(Planned {
                cgroup: shown(&receiver.cgroup),
                cgroup_id: receiver.cgroup_id,
                kernel_name: None,
                receive: Some(receiver.algorithm),
                sockets: 0,
            });
        }
    }
    if args.json {
        output::json_list("would_remove", &planned)?;
        return Ok(ExitCode::SUCCESS);
    }
    for plan in &planned {
        let cgroup =
            plan.cgroup.clone().unwrap_or_else(|| format!("cgroup {} (removed, or out of sight)", plan.cgroup_id));
        match (&plan.kernel_name, &plan.receive) {
            (Some(name), _) => outln!("{cgroup}: would lose {name}, and {} live sockets with it", plan.sockets),
            (None, receive) => outln!("{cgroup}: would lose the receiving {}", receive.as_deref().unwrap_or_default()),
        }
    }
    outln!("{} to unload; nothing has changed", planned.len());
    Ok(ExitCode::SUCCESS)
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
