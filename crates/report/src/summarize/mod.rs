//! From the rows of a recording to its summary, in two stages.
//!
//! Stage one (`tables`) goes through the rows, and its result is [`Tables`]. Stage two, everything else here, makes the figures
//! of these tables with expressions of Polars: for each flow and for each algorithm by the same ones (`measures`).

mod algorithms;
mod cells;
mod connections;
mod convergence;
mod flows;
mod measures;
pub mod pools;
pub mod quantiles;
mod receivers;
mod sharing;
mod stretches;
mod sums;
mod swaps;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use self::pools::Pools;
use crate::labels::Algorithms;
use crate::summary::{AlgorithmSummary, DropSpan, Fairness, FlowSummary, LinkSummary};
use crate::summary::{RecordingSummary, Summary, Trigger};
use crate::tables::{Folded, Tables, columns as c, fold};
use crate::{Error, Options, repeats};
use ccactl_recording::metadata::TriggerInfo;
use ccactl_recording::read::{self, Extent, Metadata, Recording};
use polars::prelude::*;

use crate::scale::US_PER_S;

/// Computes every figure of a report.
///
/// # Errors
/// When a recording cannot be read, holds no flow that sent data, or has no rows in the window.
pub fn summarize(recordings: &[Recording], options: &Options) -> Result<Summary, Error> {
    let paths: Vec<PathBuf> = recordings.iter().map(|recording| recording.path().to_owned()).collect();
    let names = short_names(&paths);
    let summaries = recordings
        .iter()
        .zip(names)
        .map(|(recording, name)| summarize_one(recording, name, options))
        .collect::<Result<Vec<_>, _>>()?;
    let repeats = repeats::find(&summaries);
    Ok(Summary { recordings: summaries, repeats })
}

fn summarize_one(recording: &Recording, name: String, options: &Options) -> Result<RecordingSummary, Error> {
    let window_us = options.window_us()?;
    let folded = fold(recording, window_us, options)?;
    // Without a window the walk has seen all there is.
    let extent = if options.is_whole() { folded.extent } else { recording.extent()? };
    let (path, metadata, problems) = (recording.path(), recording.metadata(), recording.problems());
    summarize_folded(&Source { path, metadata, problems, extent }, folded, name, options)
}

/// Where rows come from that are folded.
pub struct Source<'a> {
    /// As the user gave it.
    pub path: &'a Path,
    /// What the recorder wrote beside the rows.
    pub metadata: &'a Metadata,
    /// What a reader should know before trusting the figures.
    pub problems: &'a [String],
    /// What all rows cover, in the window or not.
    pub extent: Option<Extent>,
}

/// Stage two.
pub fn summarize_folded(
    source: &Source<'_>,
    folded: Folded,
    name: String,
    options: &Options,
) -> Result<RecordingSummary, Error> {
    let &Source { path, metadata, extent, .. } = source;
    let window_us = options.window_us()?;
    check_not_empty(path, extent, &folded, window_us)?;
    let (truncated, rows) = (folded.truncated, folded.rows());
    let receivers = receivers::summaries(&folded.receivers, metadata);
    let figures = Figures::of_fold(folded, metadata, options).map_err(read::Error::rows(path))?;
    let (from_us, to_us) = window_us;
    Ok(RecordingSummary {
        path: path.display().to_string(),
        name,
        started: metadata.started.clone(),
        kernel: metadata.kernel.clone(),
        ccactl_version: metadata.writer.clone(),
        every: metadata.every.clone(),
        from_s: from_us.max(extent.map_or(0, |e| e.first_us)) as f64 / US_PER_S,
        to_s: to_us.min(extent.map_or(0, |e| e.last_us)) as f64 / US_PER_S,
        duration_s: figures.run_us as f64 / US_PER_S,
        rows,
        drops: metadata.drops,
        drops_by_reason: metadata.drops_by_reason,
        drop_spans: figures.drop_spans,
        trigger: metadata.trigger.as_ref().map(|told| trigger(told, &figures.flows)),
        truncated,
        warnings: warnings(source, truncated),
        link: figures.link,
        fairness: figures.fairness,
        algorithms: figures.algorithms,
        flows: figures.flows,
        pooled_flows: figures.pooled_flows,
        receivers,
        scenario: metadata.scenario.clone(),
    })
}

fn trigger(told: &TriggerInfo, flows: &[FlowSummary]) -> Trigger {
    let flow = flows.iter().find(|flow| (flow.flow_id, flow.netns) == (told.flow_id, u64::from(told.netns)));
    Trigger {
        condition: told.condition.clone(),
        at_s: told.at_us as f64 / US_PER_S,
        flow: flow.map(|flow| flow.name.clone()),
        further: told.further,
        suppressed: told.suppressed,
    }
}

/// What stage two makes of the tables.
struct Figures {
    run_us: u64,
    drop_spans: Vec<DropSpan>,
    link: Option<LinkSummary>,
    fairness: Option<Fairness>,
    algorithms: Vec<AlgorithmSummary>,
    flows: Vec<FlowSummary>,
    pooled_flows: u64,
}

impl Figures {
    fn of_fold(mut folded: Folded, metadata: &Metadata, options: &Options) -> PolarsResult<Figures> {
        let tables = Tables::of_fold(&folded)?;
        let flows = folded.flows.len();
        let pools = folded.pools.take();
        let pools = pools.as_ref();
        // The tables have it all, and the histograms are large.
        drop(folded);
        let labels = Algorithms::new(metadata, &kernel_names(&tables, pools)?);
        let changes = swaps::changes(&tables, metadata, &labels, flows)?;
        let stretches = stretches::stretches(&tables, metadata)?;
        let mut flows = flows::summaries(&tables, &stretches, metadata, &labels, changes)?;
        let run_us = run_us(&tables, pools)?;
        let fairness = sharing::fairness(&tables, pools, &flows, options.interval_us())?;
        // The groups of a roll-out, one after the other; nothing refers to a flow by its number from here on.
        flows.sort_by_key(|flow| flow.side.map_or(2, |side| side as usize));
        Ok(Figures {
            run_us,
            drop_spans: cells::lines(&tables.drops).map(drop_span).collect(),
            link: sharing::link_summary(&tables, pools, metadata, run_us)?,
            fairness,
            algorithms: algorithms::summaries(&tables, (&stretches, pools), metadata, &labels, run_us)?,
            flows,
            pooled_flows: pools.map_or(0, Pools::flows),
        })
    }
}

/// Of all algorithms that ran, or that a change names.
fn kernel_names(tables: &Tables, pools: Option<&Pools>) -> PolarsResult<BTreeSet<String>> {
    let columns = [(&tables.flows, c::ALGORITHM), (&tables.swaps, c::FROM), (&tables.swaps, c::TO)];
    let pooled = pools.map(|pools| (&pools.lines, c::ALGORITHM));
    let mut names = BTreeSet::new();
    for (table, column) in columns.into_iter().chain(pooled) {
        names.extend(table.column(column)?.str()?.unique()?.iter().flatten().map(str::to_owned));
    }
    Ok(names)
}

/// From the first row of any flow to the last progress of any.
fn run_us(tables: &Tables, pools: Option<&Pools>) -> PolarsResult<u64> {
    let lines = || [&tables.flows].into_iter().chain(pools.map(|pools| &pools.lines));
    let ends = |of: &'static str| lines().map(move |lines| Ok(lines.column(of)?.u64()?.clone()));
    let first_us = ends(c::FIRST_US).map(|all| all.map(|all| all.min())).collect::<PolarsResult<Vec<_>>>()?;
    let last_us = ends(c::PROGRESS_US).map(|all| all.map(|all| all.max())).collect::<PolarsResult<Vec<_>>>()?;
    let first_us = first_us.into_iter().flatten().min().unwrap_or(0);
    Ok(last_us.into_iter().flatten().max().unwrap_or(0).saturating_sub(first_us))
}

fn drop_span(line: cells::Line<'_>) -> DropSpan {
    let [from_s, to_s] = [c::FROM_US, c::TO_US].map(|of| line.count(of) as f64 / US_PER_S);
    DropSpan { from_s, to_s, rows: line.count(c::ROWS) }
}

fn check_not_empty(
    path: &Path,
    extent: Option<Extent>,
    folded: &Folded,
    (from_us, to_us): (u64, u64),
) -> Result<(), Error> {
    if !folded.flows.is_empty() || !folded.receivers.is_empty() || folded.pools.is_some() {
        return Ok(());
    }
    let path = path.to_owned();
    match extent {
        None => Err(Error::NoFlow { path, found: "it has no rows".to_owned() }),
        Some(extent) if folded.rows() == 0 => {
            let (first_s, last_s) = (extent.first_us as f64 / US_PER_S, extent.last_us as f64 / US_PER_S);
            let to_s = (to_us as f64 / US_PER_S).min(last_s.max(from_us as f64 / US_PER_S));
            Err(Error::EmptyWindow { path, from_s: from_us as f64 / US_PER_S, to_s, first_s, last_s })
        }
        Some(_) => Err(Error::NoFlow {
            path,
            found: format!("{} rows of {} flows, all idle", folded.rows(), folded.all_flows),
        }),
    }
}

fn warnings(source: &Source<'_>, truncated: bool) -> Vec<String> {
    let &Source { metadata, problems, extent, .. } = source;
    let mut warnings = problems.to_vec();
    let rows = extent.map_or(0, |e| e.rows);
    if let Some(drops) = metadata.drops.filter(|&drops| drops > 0) {
        let percent = 100.0 * drops as f64 / (drops + rows) as f64;
        warnings.push(format!(
            "{drops} rows were dropped while recording ({percent:.2} % of all): totals are right, RTT, window and phases miss samples"
        ));
    }
    if truncated {
        warnings.push(format!(
            "the recording ends early (the recorder was killed or is still running): {rows} whole rows were read"
        ));
    }
    if let Some(written) = metadata.rows.filter(|&written| written != rows) {
        warnings.push(format!("the recorder wrote {written} rows, the file has {rows}"));
    }
    warnings
}

/// The shortest ends of the paths that tell the recordings apart, at least the file's name.
pub fn short_names(paths: &[PathBuf]) -> Vec<String> {
    let parts: Vec<Vec<String>> = paths
        .iter()
        .map(|path| path.components().map(|c| c.as_os_str().to_string_lossy().into_owned()).collect())
        .collect();
    let tail = |parts: &[String], n: usize| match parts {
        [pipe] if pipe == "-" => "standard input".to_owned(),
        parts => parts[parts.len().saturating_sub(n)..].join("/"),
    };
    let longest = parts.iter().map(Vec::len).max().unwrap_or(1);
    for n in 1..longest {
        let names: Vec<String> = parts.iter().map(|p| tail(p, n)).collect();
        if names.iter().collect::<BTreeSet<_>>().len() == names.len() {
            return names;
        }
    }
    parts.iter().map(|p| tail(p, longest)).collect()
}
