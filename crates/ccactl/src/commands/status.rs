//! `ccactl status`

use super::output;
use anyhow::Result;
use ccactl_loader::{Loader, PolicyStatus, State};
use serde::Serialize;
use serde_json::{Map, Value};
use std::process::ExitCode;

#[derive(clap::Args)]
pub struct Args {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Row {
    /// Relative to the cgroup2 mount; null when the cgroup was removed.
    cgroup: Option<String>,
    cgroup_id: u64,
    algorithm: String,
    kernel_name: String,
    tunables: Map<String, Value>,
    attached_since: String,
    state: &'static str,
}

pub fn run(args: Args) -> Result<ExitCode> {
    let loader = Loader::open()?;
    let policies = loader.status()?;
    let rows: Vec<Row> = policies.iter().map(|status| row(&loader, status)).collect();
    if args.json {
        output::json(&rows)?;
        return Ok(ExitCode::SUCCESS);
    }
    if rows.is_empty() {
        println!("no cgroup has a policy");
        return Ok(ExitCode::SUCCESS);
    }
    let cells: Vec<[String; 6]> = rows
        .iter()
        .zip(&policies)
        .map(|(row, policy)| {
            let cgroup = row.cgroup.clone().unwrap_or_else(|| format!("(id {})", row.cgroup_id));
            [
                cgroup,
                row.algorithm.clone(),
                row.kernel_name.clone(),
                row.attached_since.clone(),
                row.state.to_owned(),
                tunables_set(policy),
            ]
        })
        .collect();
    output::table(["CGROUP", "ALGORITHM", "KERNEL NAME", "ATTACHED SINCE", "STATE", "TUNABLES"], &cells)?;
    for row in &rows {
        if let Some(remedy) = remedy(row) {
            println!("{remedy}");
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The tunables that differ from their defaults; some algorithms have dozens, and `--json` has them all.
fn tunables_set(policy: &PolicyStatus) -> String {
    let set: Vec<String> = policy
        .tunables
        .iter()
        .filter(|setting| setting.raw != setting.tunable.default_raw)
        .map(|setting| format!("{}={}", setting.tunable.name, setting.tunable.display(setting.raw)))
        .collect();
    if set.is_empty() { "defaults".to_owned() } else { set.join(" ") }
}

fn row(loader: &Loader, status: &PolicyStatus) -> Row {
    Row {
        cgroup: status.cgroup.as_ref().map(|path| loader.mount().display(path)),
        cgroup_id: status.cgroup_id,
        algorithm: status.algorithm.clone(),
        kernel_name: status.kernel_name.clone(),
        tunables: status
            .tunables
            .iter()
            .map(|setting| (setting.tunable.name.to_owned(), output::number(setting.tunable, setting.raw)))
            .collect(),
        attached_since: status.attached_since.clone(),
        state: match status.state {
            State::Active => "active",
            State::CgroupRemoved => "cgroup-removed",
            State::Detached => "detached",
            State::Unregistered => "unregistered",
        },
    }
}

fn remedy(row: &Row) -> Option<String> {
    let id = row.cgroup_id;
    match row.state {
        "active" => None,
        "cgroup-removed" => Some(format!("cgroup {id} was removed: `ccactl unload --id {id}` clears its policy")),
        state => Some(format!("cgroup {id} is {state}: the same `ccactl load` again repairs it")),
    }
}
