//! `ccactl diff`

use super::output;
use crate::error::Result;
use ccactl_abi::exit;
use ccactl_host::{errln, outln};
use ccactl_loader::fleet::{Action, Observed, Plan, PolicyFile, Step, one_line};
use ccactl_loader::{Loader, Paths, cgroup::Mount};
use serde::Serialize;
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(clap::Args)]
pub struct Args {
    /// Policy file (TOML)
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Count policies that are not in the file as differences
    #[arg(long)]
    prune: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Diff {
    in_force: bool,
    cgroups: Vec<Row>,
}

#[derive(Serialize)]
struct Row {
    cgroup: String,
    /// Kernel name and code in force; null without a policy.
    now: Option<String>,
    /// The same as the file has it; null when it has nothing.
    wanted: Option<String>,
    action: &'static str,
    /// Live sockets that do not have what the policy in force says.
    sockets_to_move: u64,
    /// Why there is nothing to do about it.
    problem: Option<String>,
}

/// diff(1)'s exit codes: 0 the same, 1 different, more for trouble.
pub fn run(args: Args) -> Result<ExitCode> {
    match compare(&args) {
        Ok(true) => Ok(ExitCode::SUCCESS),
        Ok(false) => Ok(ExitCode::FAILURE),
        Err(error) if error.exit_code() == exit::FAILURE => {
            errln!("ccactl: {}", one_line(&error));
            Ok(ExitCode::from(exit::USAGE))
        }
        Err(error) => Err(error),
    }
}

/// Prints the differences and says whether there are none.
fn compare(args: &Args) -> Result<bool> {
    // A mistake in the file is reported to those who are not root, too.
    let file = PolicyFile::read(&args.file, &Mount::find(&Paths::from_env().mounts)?)?;
    let loader = Loader::open()?;
    let plan = Plan::new(&file, &Observed::of(&loader, &file)?, args.prune);
    let in_force = plan.in_force();
    let rows: Vec<Row> = plan.steps.iter().map(row).collect();
    if args.json {
        output::json(&Diff { in_force, cgroups: rows })?;
        return Ok(in_force);
    }
    let different: Vec<&Row> = rows.iter().filter(|row| row.action != Action::Keep.label()).collect();
    if !different.is_empty() {
        let cell = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".to_owned());
        let cells: Vec<[String; 4]> =
            different.iter().map(|row| [row.cgroup.clone(), cell(&row.now), cell(&row.wanted), needs(row)]).collect();
        output::table(["CGROUP", "IN FORCE", "POLICY FILE", "NEEDS"], &cells)?;
    }
    for row in &rows {
        if let Some(problem) = &row.problem {
            outln!("{}: {problem}", row.cgroup);
        }
    }
    if in_force {
        outln!("{}: in force", args.file.display());
    }
    Ok(in_force)
}

fn row(step: &Step) -> Row {
    let problem = match &step.action {
        Action::Conflict { message } => Some(message.clone()),
        Action::Wait => Some("no such cgroup; `create = true` in the file makes it".to_owned()),
        _ => None,
    };
    let sockets_to_move = if let Action::Move { sockets } = step.action { sockets } else { 0 };
    let action = step.action.label();
    let (cgroup, now, wanted) = (step.cgroup.clone(), step.now_text(), step.wanted_text());
    Row { cgroup, now, wanted, action, sockets_to_move, problem }
}

fn needs(row: &Row) -> String {
    match row.sockets_to_move {
        0 => row.action.to_owned(),
        sockets => format!("{} {sockets} sockets", row.action),
    }
}
