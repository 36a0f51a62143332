//! `ccactl load`

use super::settings::Settings;
use super::{output, receive};
use crate::error::Result;
use ccactl_host::outln;
use ccactl_loader::{Change, LoadRequest, Loader, ReceiveRequest};
use serde::Serialize;
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(clap::Args)]
#[command(group(clap::ArgGroup::new("chosen").required(true)))]
pub struct Args {
    /// Algorithm: a name of `ccactl list`, or native:NAME for the kernel's own
    #[arg(value_name = "ALGO", group = "chosen")]
    algorithm: Option<String>,
    /// Decide what window the cgroup's sockets offer, beside what they send: a receiving algorithm of `ccactl list`
    #[arg(long, value_name = "NAME", group = "chosen", conflicts_with_all = ["enforce", "replace", "as_name"])]
    receive: Option<String>,
    /// cgroup, relative to the cgroup2 mount (/bench) or absolute
    #[arg(long, value_name = "PATH")]
    cgroup: PathBuf,
    /// Make the cgroup when it is missing
    #[arg(long)]
    create: bool,
    #[command(flatten)]
    settings: Settings,
    /// Overrule what applications choose with setsockopt(TCP_CONGESTION), from the next connection on
    #[arg(long)]
    enforce: bool,
    /// Put this code and these tunables behind the kernel name, for every cgroup that has it; live sockets keep the old
    /// ones until `ccactl swap --existing` moves them
    #[arg(long)]
    replace: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Row {
    cgroup: String,
    cgroup_id: u64,
    algorithm: String,
    kernel_name: String,
    change: &'static str,
    created_cgroup: bool,
    ect1_interfaces: Vec<String>,
}

pub fn run(args: Args) -> Result<ExitCode> {
    if let Some(name) = &args.receive {
        let wanted = args.settings.receiver(name)?;
        let request = ReceiveRequest { wanted, cgroup: args.cgroup, create: args.create, only_swap: false };
        return receive::load(&Loader::open()?, &request, args.json);
    }
    let request = LoadRequest {
        choice: args.settings.choice(args.algorithm.as_deref().expect("one of the two is given"))?,
        cgroup: args.cgroup,
        create: args.create,
        enforce: args.enforce,
        replace: args.replace,
    };
    let loader = Loader::open()?;
    let outcome = loader.load(&request)?;
    let cgroup = loader.mount().display(&outcome.cgroup);
    if args.json {
        let change = match outcome.change {
            Change::Attached => "attached",
            Change::Switched { .. } => "switched",
            Change::Replaced => "replaced",
            Change::Enforcement => "enforcement",
            Change::Unchanged => "unchanged",
        };
        output::json(&Row {
            cgroup,
            cgroup_id: outcome.cgroup_id,
            algorithm: outcome.algorithm,
            kernel_name: outcome.kernel_name,
            change,
            created_cgroup: outcome.created_cgroup,
            ect1_interfaces: outcome.ect1_interfaces,
        })?;
        return Ok(ExitCode::SUCCESS);
    }
    let name = &outcome.kernel_name;
    match outcome.change {
        Change::Attached => outln!("{cgroup}: new sockets get {name}; those already open keep theirs"),
        Change::Switched { from } => {
            outln!("{cgroup}: new sockets get {name} instead of {from}; those already open keep theirs");
        }
        Change::Replaced => outln!(
            "{cgroup}: new sockets get the new {name}; `ccactl swap --existing --cgroup {cgroup}` moves those already open"
        ),
        Change::Enforcement => {
            outln!("{cgroup}: keeps {name}; what applications choose counts differently from now on")
        }
        Change::Unchanged => outln!("{cgroup}: has {name} already, nothing changed"),
    }
    if !outcome.ect1_interfaces.is_empty() {
        outln!("packets of {name} leave as ECT(1) by {}", outcome.ect1_interfaces.join(", "));
    }
    Ok(ExitCode::SUCCESS)
}
