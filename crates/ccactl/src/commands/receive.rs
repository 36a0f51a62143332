//! What `load`, `swap`, `unload` and `status` say about receiving algorithms.

use super::output;
use crate::error::Result;
use ccactl_host::outln;
use ccactl_loader::{
    Loader, ReceiveChange, ReceiveOutcome, ReceiveRequest, ReceiverSockets, ReceiverState, ReceiverStatus,
};
use ccactl_observe::policies::number;
use serde::Serialize;
use serde_json::{Map, Value};
use std::process::ExitCode;

/// What happened to a cgroup, as `--json` has it.
#[derive(Serialize)]
pub struct Row {
    /// Relative to the cgroup2 mount; null when the cgroup was removed.
    cgroup: Option<String>,
    cgroup_id: u64,
    receive: String,
    change: &'static str,
    sockets: u64,
    out_of_reach: u64,
}

/// A cgroup with a receiving algorithm, as `status --json` has it.
#[derive(Serialize)]
pub struct StatusRow {
    cgroup: Option<String>,
    cgroup_id: u64,
    receive: String,
    tunables: Map<String, Value>,
    attached_since: String,
    state: &'static str,
}

/// `load --receive` and `swap --receive`.
pub fn load(loader: &Loader, request: &ReceiveRequest, json: bool) -> Result<ExitCode> {
    let outcome = loader.load_receive(request)?;
    if json {
        let change = match outcome.change {
            ReceiveChange::Attached => "attached",
            ReceiveChange::Switched { .. } => "switched",
            ReceiveChange::Unchanged => "unchanged",
        };
        output::json(&row(loader, &outcome, change))?;
        return Ok(ExitCode::SUCCESS);
    }
    let (cgroup, name) = (cgroup_of(loader, &outcome), &outcome.algorithm);
    match &outcome.change {
        ReceiveChange::Attached => outln!("{cgroup}: sockets offer the window that {name} decides"),
        ReceiveChange::Switched { from } if from == name => {
            outln!("{cgroup}: sockets offer the window that the new {name} decides");
        }
        ReceiveChange::Switched { from } => {
            outln!("{cgroup}: sockets offer the window that {name} decides instead of {from}");
        }
        ReceiveChange::Unchanged => outln!("{cgroup}: has {name} already, nothing changed"),
    }
    print_out_of_reach(outcome.sockets);
    Ok(ExitCode::SUCCESS)
}

/// Where the kernel cannot reach live sockets.
fn print_out_of_reach(sockets: ReceiverSockets) {
    if sockets.out_of_reach > 0 {
        outln!(
            "{} of {} live connections keep the kernel's window: before Linux 6.12 only new ones get the algorithm",
            sockets.out_of_reach,
            sockets.total
        );
    }
}

/// What an unload has taken away.
pub fn print_unloaded(loader: &Loader, outcomes: &[ReceiveOutcome], json: bool) -> Result<ExitCode> {
    if json {
        output::json_list("removed", &unloaded_rows(loader, outcomes))?;
        return Ok(ExitCode::SUCCESS);
    }
    if outcomes.is_empty() {
        outln!("no receiving algorithm to unload, nothing changed");
    }
    for outcome in outcomes {
        let (cgroup, name) = (cgroup_of(loader, outcome), &outcome.algorithm);
        outln!(
            "{cgroup}: {name} no longer decides; {} live connections offer the kernel's window again",
            outcome.sockets.total
        );
    }
    Ok(ExitCode::SUCCESS)
}

/// The rows of an unload.
pub fn unloaded_rows(loader: &Loader, outcomes: &[ReceiveOutcome]) -> Vec<Row> {
    outcomes.iter().map(|outcome| row(loader, outcome, "removed")).collect()
}

fn row(loader: &Loader, outcome: &ReceiveOutcome, change: &'static str) -> Row {
    Row {
        cgroup: outcome.cgroup.as_ref().map(|path| loader.mount().display(path)),
        cgroup_id: outcome.cgroup_id,
        receive: outcome.algorithm.clone(),
        change,
        sockets: outcome.sockets.total,
        out_of_reach: outcome.sockets.out_of_reach,
    }
}

fn cgroup_of(loader: &Loader, outcome: &ReceiveOutcome) -> String {
    let path = outcome.cgroup.as_ref().map(|path| loader.mount().display(path));
    path.unwrap_or_else(|| format!("cgroup {} (removed, or out of sight)", outcome.cgroup_id))
}

/// The rows of `status`.
pub fn status_rows(loader: &Loader, receivers: &[ReceiverStatus]) -> Vec<StatusRow> {
    let row = |status: &ReceiverStatus| StatusRow {
        cgroup: status.cgroup.as_ref().map(|path| loader.mount().display(path)),
        cgroup_id: status.cgroup_id,
        receive: status.algorithm.clone(),
        tunables: status
            .tunables
            .iter()
            .map(|setting| (setting.tunable.name.to_owned(), number(setting.tunable, setting.raw)))
            .collect(),
        attached_since: status.attached_since.clone(),
        state: match status.state {
            ReceiverState::Active => "active",
            ReceiverState::CgroupRemoved => "cgroup removed",
            ReceiverState::Detached => "detached",
        },
    };
    receivers.iter().map(row).collect()
}

/// The table of `status`, below that of the policies.
pub fn print_status(rows: &[StatusRow], receivers: &[ReceiverStatus]) -> Result<()> {
    let cells: Vec<[String; 5]> = rows
        .iter()
        .zip(receivers)
        .map(|(row, status)| {
            [
                row.cgroup.clone().unwrap_or_else(|| format!("(id {})", row.cgroup_id)),
                row.receive.clone(),
                row.attached_since.clone(),
                row.state.to_owned(),
                super::status::tunables_set(&status.tunables),
            ]
        })
        .collect();
    output::table(["CGROUP", "RECEIVE", "ATTACHED SINCE", "STATE", "TUNABLES"], &cells)
}
