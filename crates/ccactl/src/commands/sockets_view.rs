//! What became of live sockets, as `swap`, `rollback`, `unload` and a canary show it.

use super::output;
use crate::error::Result;
use ccactl_host::outln;
use ccactl_loader::{Counts, Loader, SocketReport, SwapOutcome, UnloadOutcome, Verification};
use nix::errno::Errno;
use serde::Serialize;
use std::process::ExitCode;

/// Sockets that are listed one by one below a table; `--json` has all of them.
const LISTED: usize = 10;

#[derive(Serialize)]
struct VerificationRow {
    sockets: u64,
    verified: u64,
}

impl VerificationRow {
    fn of(verification: Verification) -> Self {
        Self { sockets: verification.sockets, verified: verification.verified }
    }
}

/// One socket that does not have what the policy says.
#[derive(Serialize)]
struct SocketRow {
    flow_id: u64,
    netns: u32,
    state: &'static str,
    local: String,
    remote: String,
    algorithm: String,
    outcome: &'static str,
}

impl SocketRow {
    fn of(socket: &SocketReport) -> Self {
        Self {
            flow_id: socket.flow_id,
            netns: socket.netns,
            state: socket.state,
            local: socket.local.to_string(),
            remote: socket.remote.to_string(),
            algorithm: socket.after.clone(),
            outcome: socket.outcome.name(),
        }
    }
}

/// A swap, a rollback or the end of a canary as JSON.
#[derive(Serialize)]
pub struct SwapRow {
    cgroup: String,
    cgroup_id: u64,
    algorithm: String,
    kernel_name: String,
    from: String,
    policy_changed: bool,
    dry_run: bool,
    sockets: Counts,
    verification: Option<VerificationRow>,
    complete: bool,
    namespaces: usize,
    iteration_us: u64,
    left: Vec<SocketRow>,
}

impl SwapRow {
    pub fn of(loader: &Loader, outcome: &SwapOutcome) -> Self {
        Self {
            cgroup: loader.mount().display(&outcome.cgroup),
            cgroup_id: outcome.cgroup_id,
            algorithm: outcome.algorithm.clone(),
            kernel_name: outcome.kernel_name.clone(),
            from: outcome.from.clone(),
            policy_changed: outcome.policy_changed,
            dry_run: outcome.dry_run,
            sockets: outcome.counts.clone(),
            verification: outcome.verification.map(VerificationRow::of),
            complete: outcome.is_complete(),
            namespaces: outcome.namespaces,
            iteration_us: u64::try_from(outcome.iteration.as_micros()).unwrap_or(u64::MAX),
            left: outcome.left.iter().map(SocketRow::of).collect(),
        }
    }
}

/// A policy that was taken back, as JSON.
#[derive(Serialize)]
pub struct UnloadRow {
    /// Null when the cgroup was removed.
    cgroup: Option<String>,
    cgroup_id: u64,
    kernel_name: String,
    sockets: Counts,
    verification: VerificationRow,
    complete: bool,
    still_in_use: bool,
}

impl UnloadRow {
    pub fn of(loader: &Loader, outcome: &UnloadOutcome) -> Self {
        Self {
            cgroup: outcome.cgroup.as_ref().map(|path| loader.mount().display(path)),
            cgroup_id: outcome.cgroup_id,
            kernel_name: outcome.kernel_name.clone(),
            sockets: outcome.counts.clone(),
            verification: VerificationRow::of(outcome.verification),
            complete: outcome.is_complete(),
            still_in_use: outcome.still_in_use,
        }
    }
}

/// Says what a swap did, in words and a table.
pub fn print_swap(loader: &Loader, outcome: &SwapOutcome) -> Result<()> {
    let cgroup = loader.mount().display(&outcome.cgroup);
    let (name, from) = (&outcome.kernel_name, &outcome.from);
    let would = if outcome.dry_run { "would get" } else { "get" };
    if name == from {
        outln!("{cgroup}: new sockets {would} {name}, as before");
    } else if outcome.policy_changed {
        outln!("{cgroup}: new sockets {would} {name} instead of {from}");
    } else {
        outln!("{cgroup}: new sockets go on getting {from}");
    }
    if outcome.dry_run || outcome.verification.is_some() {
        print_counts(&outcome.counts, outcome.dry_run)?;
    }
    if let Some(Verification { sockets, verified }) = outcome.verification {
        let (namespaces, ms) = (outcome.namespaces, outcome.iteration.as_secs_f64() * 1e3);
        outln!("read back: {verified} of {sockets} have it; {namespaces} network namespaces, {ms:.1} ms to move");
    }
    print_left(&outcome.left)
}

/// The table of counts; kinds that do not occur are left out.
pub fn print_counts(counts: &Counts, dry_run: bool) -> Result<()> {
    let mut rows =
        vec![[if dry_run { "would move" } else { "moved" }.to_owned(), counts.moved.to_string(), String::new()]];
    let mut add = |kind: &str, count: u64, remark: &str| {
        if count > 0 {
            rows.push([kind.to_owned(), count.to_string(), remark.to_owned()]);
        }
    };
    add("already there", counts.there, "");
    add("application-chosen", counts.application, "left alone; --enforce moves them");
    add("route-locked", counts.locked, "`ip route … congctl lock NAME` fixes them");
    add("refused by the algorithm", counts.refused, "it needs ECN, which the connection has not negotiated");
    for (errno, count) in &counts.failed {
        add(&format!("failed: {}", errno_name(*errno)), *count, Errno::from_raw(*errno).desc());
    }
    output::table(["LIVE SOCKETS", "NUMBER", ""], &rows)
}

fn print_left(left: &[SocketReport]) -> Result<()> {
    if left.is_empty() {
        return Ok(());
    }
    let rows: Vec<_> = left
        .iter()
        .take(LISTED)
        .map(|socket| {
            let row = SocketRow::of(socket);
            [row.local, row.remote, row.state.to_owned(), row.netns.to_string(), row.algorithm, row.outcome.to_owned()]
        })
        .collect();
    output::table(["LOCAL", "REMOTE", "STATE", "NETNS", "HAS", "WHY"], &rows)?;
    if left.len() > LISTED {
        outln!("and {} more; --json lists all of them", left.len() - LISTED);
    }
    Ok(())
}

/// Exit code of a change: 5 when some sockets could not be moved.
pub fn exit(is_complete: bool) -> ExitCode {
    if is_complete { ExitCode::SUCCESS } else { ExitCode::from(ccactl_abi::exit::SOCKETS) }
}

fn errno_name(errno: i32) -> String {
    format!("{:?}", Errno::from_raw(errno))
}
