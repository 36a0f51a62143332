//! `ccactl status`

use super::output;
use super::receive::{self, StatusRow};
use crate::error::Result;
use ccactl_host::lock::Holder;
use ccactl_host::outln;
use ccactl_loader::{Loader, PolicyStatus, TunableSetting};
use ccactl_observe::policies::PolicyRow as Row;
use ccactl_testbed::host::clean;
use serde::Serialize;
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(clap::Args)]
pub struct Args {
    /// Only this cgroup, relative to the cgroup2 mount (/bench) or absolute
    cgroup: Option<PathBuf>,
    /// Also what each cgroup had before, latest first: where `rollback` goes
    #[arg(long)]
    history: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// A receiving algorithm has `receive` in the place of `algorithm`.
#[derive(Serialize)]
#[serde(untagged)]
enum Entry<'a> {
    Policy(&'a Row),
    Receiver(&'a StatusRow),
}

pub fn run(args: Args) -> Result<ExitCode> {
    let loader = Loader::open()?;
    let busy = loader.busy()?;
    let only = args.cgroup.as_ref().map(|path| loader.mount().resolve(path)).transpose()?;
    let is_asked_for = |cgroup: &Option<PathBuf>| only.is_none() || *cgroup == only;
    let mut policies = loader.status()?;
    policies.retain(|policy| is_asked_for(&policy.cgroup));
    let census = loader.census()?;
    let mut rows: Vec<Row> = policies.iter().map(|status| Row::new(&loader, status, &census)).collect();
    if args.history {
        rows.iter_mut().try_for_each(|row| row.read_history(&loader))?;
    }
    let mut receivers = loader.receivers()?;
    receivers.retain(|receiver| is_asked_for(&receiver.cgroup));
    let receiving = receive::status_rows(&loader, &receivers);
    if args.json {
        let all = rows.iter().map(Entry::Policy).chain(receiving.iter().map(Entry::Receiver));
        output::json_list("policies", &all.collect::<Vec<_>>())?;
        return Ok(ExitCode::SUCCESS);
    }
    if !rows.is_empty() {
        print(&rows, &policies)?;
    } else if receiving.is_empty() {
        match &only {
            Some(path) => outln!("{}: no policy", loader.mount().display(path)),
            None => outln!("no cgroup has a policy"),
        }
    }
    if !receiving.is_empty() {
        receive::print_status(&receiving, &receivers)?;
    }
    for row in &rows {
        for remark in remarks(row, busy.as_ref()) {
            outln!("{remark}");
        }
    }
    for row in &rows {
        for former in row.history.iter().flatten() {
            let had = former.kernel_name.as_deref().unwrap_or("no policy");
            let enforced = if former.enforce { ", enforced" } else { "" };
            outln!("{}: {had}{enforced} until {}", name_of(row), former.until);
        }
    }
    if only.is_some() {
        return Ok(ExitCode::SUCCESS);
    }
    for (name, count) in &census.elsewhere {
        outln!("{count} sockets outside of every policy have {name}; it stays registered until the last is closed");
    }
    if census.has_stale_notes {
        outln!("notes on sockets that are closed by now are left in bpffs: `ccactl unload --all` removes them");
    }
    let (namespaces, cgroups) = clean::left(&loader)?;
    if namespaces + cgroups > 0 {
        outln!(
            "{namespaces} namespaces and {cgroups} cgroups of killed benches are left: `ccactl bench clean` removes them"
        );
    }
    if census.noted > 0 {
        outln!(
            "{} open sockets carry a note that ccactl gave them back what they had; the notes go with the sockets",
            census.noted
        );
    }
    Ok(ExitCode::SUCCESS)
}

fn print(rows: &[Row], policies: &[PolicyStatus]) -> Result<()> {
    let cells: Vec<[String; 7]> = rows
        .iter()
        .zip(policies)
        .map(|(row, policy)| {
            [
                name_of(row),
                row.algorithm.clone(),
                row.kernel_name.clone(),
                row.attached_since.clone(),
                row.state.to_owned(),
                format!("{}/{}", row.sockets.as_policy, row.sockets.total),
                tunables_set(&policy.tunables),
            ]
        })
        .collect();
    let header = ["CGROUP", "ALGORITHM", "KERNEL NAME", "ATTACHED SINCE", "STATE", "SOCKETS", "TUNABLES"];
    output::table(header, &cells)
}

fn name_of(row: &Row) -> String {
    row.cgroup.clone().unwrap_or_else(|| format!("(id {})", row.cgroup_id))
}

/// The tunables that differ from their defaults; some algorithms have dozens, and `--json` has them all.
pub fn tunables_set(tunables: &[TunableSetting]) -> String {
    let set: Vec<String> = tunables
        .iter()
        .filter(|setting| setting.raw != setting.tunable.default_raw)
        .map(|setting| format!("{}={}", setting.tunable.name, setting.tunable.display(setting.raw)))
        .collect();
    if set.is_empty() { "defaults".to_owned() } else { set.join(" ") }
}

/// What is worth knowing about a policy beyond its line, with what to do.
fn remarks(row: &Row, busy: Option<&Holder>) -> Vec<String> {
    let (id, cgroup) = (row.cgroup_id, name_of(row));
    let mut remarks = Vec::new();
    if let Some(object) = &row.object {
        remarks.push(format!("{cgroup}: {} is from a file, object {object}", row.algorithm));
    }
    match row.state {
        "active" => {}
        "cgroup-removed" => {
            remarks.push(format!("cgroup {id} was removed: `ccactl unload --id {id}`, or the next change, clears its policy"));
        }
        "moving" | "leaving" if let Some(holder) = busy => {
            remarks.push(format!("{cgroup}: {holder} is at work"));
        }
        "moving" => remarks.push(format!(
            "{cgroup}: moving its live sockets was interrupted: the next change of any policy completes it, `ccactl \
             rollback --cgroup {cgroup}` goes back"
        )),
        "leaving" => remarks.push(format!(
            "{cgroup}: taking its policy back was interrupted: `ccactl unload --id {id}`, or the next change, completes it"
        )),
        state => remarks.push(format!("cgroup {id} is {state}: the same `ccactl load` again repairs it")),
    }
    // A removed cgroup gets no new sockets, whoever watches it.
    if let Some(canary) = row.canary.as_ref().filter(|_| row.state != "cgroup-removed") {
        let share = canary.share * 100.0;
        let fate = if canary.watched {
            "is being watched".to_owned()
        } else {
            let new = match canary.lease_s {
                Some(left) => format!("new connections get the former algorithm again in {left:.0} s"),
                None => "new connections get the former algorithm again".to_owned(),
            };
            format!(
                "is watched by nobody any more: {new}; `ccactl rollback --cgroup {cgroup}` takes the open ones back, as the \
                 next change of any policy does"
            )
        };
        remarks.push(format!(
            "{cgroup}: a canary of {} on {share:.1} % since {} {fate}",
            canary.kernel_name, canary.since
        ));
    }
    if row.sockets.old_code > 0 {
        remarks.push(format!(
            "{cgroup}: {} live sockets run older code of {}: `ccactl swap --existing --cgroup {cgroup}` moves them",
            row.sockets.old_code, row.kernel_name
        ));
    }
    if row.sockets.total > row.sockets.as_policy {
        let by_algorithm: Vec<String> =
            row.sockets.by_algorithm.iter().map(|(name, count)| format!("{count} × {name}")).collect();
        remarks.push(format!("{cgroup}: live sockets have {}", by_algorithm.join(", ")));
    }
    remarks
}
