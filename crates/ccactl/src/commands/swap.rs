//! `ccactl swap`

use super::settings::Settings;
use super::sockets_view::{self, SwapRow};
use super::{canary, output, receive};
use crate::error::Result;
use ccactl_loader::{LoadRequest, Loader, ReceiveRequest, SwapRequest, SwapScope};
use ccactl_observe::rollout::canary::CanaryRequest;
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(clap::Args)]
pub struct Args {
    /// Algorithm: a name of `ccactl list`, or native:NAME for the kernel's own; with --existing it may be left out: what
    /// the policy has
    #[arg(value_name = "ALGO", group = "chosen", required_unless_present_any = ["existing", "receive"])]
    algorithm: Option<String>,
    /// Put a receiving algorithm in the place of the one that the cgroup has
    #[arg(
        long,
        value_name = "NAME",
        group = "chosen",
        conflicts_with_all = ["existing", "new_only", "dry_run", "enforce", "replace", "as_name", "canary"]
    )]
    receive: Option<String>,
    /// cgroup with a policy, relative to the cgroup2 mount (/bench) or absolute
    #[arg(long, value_name = "PATH")]
    cgroup: PathBuf,
    /// Move live sockets only; new ones go on getting what they get
    #[arg(long, conflicts_with = "new_only")]
    existing: bool,
    /// Switch new sockets only; live ones keep what they have
    #[arg(long)]
    new_only: bool,
    /// Say how many sockets would move and change nothing
    #[arg(long)]
    dry_run: bool,
    /// Move sockets too whose application has chosen with setsockopt(TCP_CONGESTION), now and in the future
    #[arg(long)]
    enforce: bool,
    #[command(flatten)]
    settings: Settings,
    /// Put this code and these tunables behind the kernel name, for every cgroup that has it
    #[arg(long)]
    replace: bool,
    #[command(flatten)]
    canary: canary::Args,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub fn run(args: Args) -> Result<ExitCode> {
    let json = args.json;
    if let Some(name) = &args.receive {
        let wanted = args.settings.receiver(name)?;
        let request = ReceiveRequest { wanted, cgroup: args.cgroup, create: false, only_swap: true };
        return receive::load(&Loader::open()?, &request, json);
    }
    let (request, guarded, loader) = match &args.algorithm {
        // What can be wrong with it is said before anything of the host is looked at.
        Some(algorithm) => {
            let choice = args.settings.choice(algorithm)?;
            let load = LoadRequest::new(choice, &args.cgroup).enforce(args.enforce).replace(args.replace);
            let (request, guarded) = requests(&args, load)?;
            (request, guarded, Loader::open()?)
        }
        None => {
            let loader = Loader::open()?;
            let present = loader.present_request(&args.cgroup)?;
            let enforce = args.enforce || present.enforce;
            let (request, guarded) = requests(&args, present.enforce(enforce))?;
            (request, guarded, loader)
        }
    };
    if let Some(guarded) = guarded {
        return canary::run(&loader, &guarded, json);
    }
    let outcome = loader.swap(&request)?;
    if json {
        output::json(&SwapRow::of(&loader, &outcome))?;
    } else {
        sockets_view::print_swap(&loader, &outcome)?;
    }
    Ok(sockets_view::exit(outcome.is_complete()))
}

/// The swap, and the guarded one that it is to be, if so asked.
fn requests(args: &Args, load: LoadRequest) -> Result<(SwapRequest, Option<CanaryRequest>)> {
    let scope = match (args.existing, args.new_only) {
        (true, _) => SwapScope::ExistingOnly,
        (_, true) => SwapScope::NewOnly,
        _ => SwapScope::All,
    };
    let swap = SwapRequest { load, scope, dry_run: args.dry_run };
    let guarded = args.canary.request(&swap)?;
    Ok((swap, guarded))
}
