//! `ccactl apply`

use super::output;
use crate::error::Result;
use ccactl_abi::exit;
use ccactl_host::terminal;
use ccactl_host::units::parse_duration;
use ccactl_loader::fleet::watch::{self, Drift, End, Event, Options, Outcome};
use ccactl_loader::fleet::{Observed, Plan, PolicyFile, Report, apply, one_line};
use ccactl_loader::{Counts, Loader, Paths, cgroup::Mount};
use serde::Serialize;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

#[derive(clap::Args)]
pub struct Args {
    /// Policy file (TOML)
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Stay, and apply again when a cgroup of the file appears or the file changes; SIGHUP reads it again
    #[arg(long)]
    watch: bool,
    /// With --watch: look this often whether another hand has changed what was in force, and put it back
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = interval, requires = "watch")]
    every: Duration,
    /// With --watch: tell what another hand has changed, and leave it so
    #[arg(long, requires = "watch")]
    leave_drift: bool,
    /// Take back the policies that are not in the file
    #[arg(long)]
    prune: bool,
    /// Print JSON; with --watch one line per apply that changed something, and per look that found drift
    #[arg(long)]
    json: bool,
}

/// Shorter than this, the looks themselves would be the load.
const SHORTEST_INTERVAL: Duration = Duration::from_millis(100);
/// Longer than this, it is not what the option is for.
const LONGEST_INTERVAL: Duration = Duration::from_secs(24 * 3600);

fn interval(text: &str) -> Result<Duration, String> {
    match parse_duration(text) {
        Ok(interval) if !(SHORTEST_INTERVAL..=LONGEST_INTERVAL).contains(&interval) => {
            Err("expected 100ms to 24h".to_owned())
        }
        Ok(interval) => Ok(interval),
        Err(error) => Err(error.to_string()),
    }
}

#[derive(Serialize)]
struct Found<'a> {
    drift: Vec<DriftRow<'a>>,
}

#[derive(Serialize)]
struct DriftRow<'a> {
    cgroup: &'a str,
    /// What was in the place of what the file says.
    found: &'a str,
    /// What the file says; null when it has no such policy.
    wanted: Option<&'a str>,
    result: &'static str,
    /// Why it could not be put back, and what to do.
    problem: Option<&'a str>,
    /// How often this policy was put back so far.
    mended: u32,
}

#[derive(Serialize)]
struct CanaryReverted<'a> {
    cgroup: &'a str,
    canary_reverted: &'a str,
}

#[derive(Serialize)]
struct Applied<'a> {
    changed: bool,
    cgroups: Vec<Row<'a>>,
}

#[derive(Serialize)]
struct Row<'a> {
    cgroup: &'a str,
    algorithm: &'a str,
    kernel_name: &'a str,
    result: &'static str,
    /// Live sockets by what became of them; null where nothing was done about them.
    sockets: Option<Counts>,
    /// Why it failed, or left sockets behind, and what to do.
    problem: Option<String>,
}

pub fn run(args: Args) -> Result<ExitCode> {
    // A mistake in the file is reported to those who are not root, too.
    let file = PolicyFile::read(&args.file, &Mount::find(&Paths::from_env().mounts)?)?;
    let loader = Loader::open()?;
    if args.watch {
        return keep_in_force(&loader, &args);
    }
    let report = apply(&loader, &Plan::new(&file, &Observed::of(&loader, &file)?, args.prune));
    if args.json {
        output::json(&applied(&report))?;
    } else {
        print(&report)?;
    }
    Ok(ExitCode::from(report.exit_code()))
}

fn keep_in_force(loader: &Loader, args: &Args) -> Result<ExitCode> {
    let mut first = true;
    let options = Options { prune: args.prune, every: args.every, leave_drift: args.leave_drift };
    let end = watch::keep_in_force(loader, &args.file, &options, &mut |event| {
        let told = tell(&event, first, args.json);
        first = false;
        // A reader that went away does not end the service.
        if let Err(error) = told {
            tracing::warn!("cannot print: {}", one_line(&error));
        }
    })?;
    Ok(match end {
        End::Terminated => ExitCode::SUCCESS,
        End::Interrupted => ExitCode::from(exit::INTERRUPTED),
    })
}

fn tell(event: &Event<'_>, first: bool, json: bool) -> Result<()> {
    match event {
        // What has not changed was said before.
        Event::Applied(report) if !first && !report.changed() && report.failed() == 0 => Ok(()),
        Event::Applied(report) if json => output::json_line(&applied(report)),
        Event::Applied(report) => print(report),
        Event::Drift(drift) if json => output::json_line(&Found { drift: drift.iter().map(drift_row).collect() }),
        Event::Drift(drift) => {
            let mut out = terminal::out();
            drift.iter().try_for_each(|drift| writeln!(out, "{}", drift_line(drift)))?;
            Ok(())
        }
        Event::CanaryReverted { cgroup, canary } if json => {
            output::json_line(&CanaryReverted { cgroup, canary_reverted: canary })
        }
        Event::CanaryReverted { cgroup, canary } => {
            Ok(writeln!(terminal::out(), "{cgroup}: the canary of {canary} had lost its watcher and was taken back")?)
        }
        Event::BadFile(error) => {
            Ok(writeln!(terminal::err(), "ccactl: {error}; what the file said before stays in force")?)
        }
        Event::Failed(error) => Ok(writeln!(terminal::err(), "ccactl: {}; SIGHUP tries again", one_line(*error))?),
    }
}

fn drift_line(drift: &Drift) -> String {
    let Drift { cgroup, found, wanted, outcome, mended } = drift;
    let wanted = wanted.as_deref().unwrap_or("no policy");
    let result = match outcome {
        Outcome::PutBack { .. } if *mended > 1 => format!("put back {wanted}, {mended} times so far"),
        Outcome::PutBack { .. } => format!("put back {wanted}"),
        Outcome::Left => format!("left it, instead of {wanted} (--leave-drift); SIGHUP puts it back"),
        Outcome::Failed(problem) => format!("{wanted} could not be put back: {problem}"),
    };
    format!("{cgroup}: found {found}: {result}")
}

fn drift_row(drift: &Drift) -> DriftRow<'_> {
    let (result, problem) = match &drift.outcome {
        Outcome::PutBack { .. } => ("put-back", None),
        Outcome::Left => ("left", None),
        Outcome::Failed(problem) => ("failed", Some(problem.as_str())),
    };
    let Drift { cgroup, found, wanted, mended, .. } = drift;
    DriftRow { cgroup, found, wanted: wanted.as_deref(), result, problem, mended: *mended }
}

/// A failure is the caller's to tell: a service goes on when the journal goes away.
fn print(report: &Report) -> Result<()> {
    let cells: Vec<[String; 5]> = report.rows.iter().map(cells).collect();
    if !cells.is_empty() {
        output::table(["CGROUP", "ALGORITHM", "KERNEL NAME", "RESULT", "SOCKETS MOVED"], &cells)?;
    }
    let mut out = terminal::out();
    for row in &report.rows {
        if let Some(problem) = row.problem() {
            writeln!(out, "{}: {problem}", row.cgroup)?;
        }
    }
    let unchanged = if report.changed() { "" } else { "; nothing changed" };
    let (in_force, waiting, failed) = (report.in_force(), report.waiting(), report.failed());
    writeln!(out, "{in_force} in force, {waiting} waiting for their cgroup, {failed} failed{unchanged}")?;
    Ok(())
}

fn cells(row: &ccactl_loader::fleet::Row) -> [String; 5] {
    let moved = row.live.as_ref().map(|live| live.counts.moved.to_string()).unwrap_or_default();
    [row.cgroup.clone(), row.algorithm.clone(), row.kernel_name.clone(), row.done.label().to_owned(), moved]
}

fn applied(report: &Report) -> Applied<'_> {
    Applied { changed: report.changed(), cgroups: report.rows.iter().map(row).collect() }
}

fn row(row: &ccactl_loader::fleet::Row) -> Row<'_> {
    Row {
        cgroup: &row.cgroup,
        algorithm: &row.algorithm,
        kernel_name: &row.kernel_name,
        result: row.done.label(),
        sockets: row.live.as_ref().map(|live| live.counts.clone()),
        problem: row.problem(),
    }
}
