//! From the rows of a recording to its summary.

mod connections;
mod convergence;
mod figures;
mod fold;
mod intervals;
mod sharing;
mod swaps;

use std::collections::BTreeSet;

use crate::labels::Algorithms;
use crate::summary::{RecordingSummary, Summary};
use crate::{Error, Options, repeats};
use ccactl_recording::read::{Extent, Recording};
use figures::Sources;
use fold::{Flow, Folded};

use crate::scale::{BITS_PER_BYTE, US_PER_S};

/// Computes every figure of a report.
///
/// # Errors
/// When a recording cannot be read, holds no flow that sent data, or has no rows in the window.
pub fn summarize(recordings: &[Recording], options: &Options) -> Result<Summary, Error> {
    let names = short_names(recordings);
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
    let folded = fold::fold(recording, window_us, options)?;
    // Without a window the walk has seen all there is.
    let extent = if options.is_whole() { folded.extent } else { recording.extent()? };
    check_not_empty(recording, extent, &folded, window_us)?;
    let metadata = recording.metadata();
    let ran = folded.flows.iter().flat_map(|flow| &flow.parts).map(|part| part.algorithm);
    let changed = folded.flows.iter().flat_map(|flow| &flow.swaps).flat_map(|swap| [swap.change.from, swap.change.to]);
    let kernel_names: BTreeSet<String> = ran.chain(changed).map(|name| folded.names.text(name).to_owned()).collect();
    let algorithms = Algorithms::new(metadata, &kernel_names);
    let sources = Sources { metadata, names: &folded.names, algorithms: &algorithms };
    let first_us = folded.flows.iter().map(Flow::first_us).min().unwrap_or(0);
    let last_us = folded.flows.iter().map(Flow::progress_us).max().unwrap_or(0);
    let run_us = last_us.saturating_sub(first_us);
    let flows = figures::flow_summaries(&sources, &folded.flows);
    let (from_us, to_us) = window_us;
    Ok(RecordingSummary {
        path: recording.path().display().to_string(),
        name,
        started: metadata.started.clone(),
        kernel: metadata.kernel.clone(),
        ccactl_version: metadata.writer.clone(),
        every: metadata.every.clone(),
        from_s: from_us.max(extent.map_or(0, |e| e.first_us)) as f64 / US_PER_S,
        to_s: to_us.min(extent.map_or(0, |e| e.last_us)) as f64 / US_PER_S,
        duration_s: run_us as f64 / US_PER_S,
        rows: folded.rows(),
        drops: metadata.drops,
        drops_by_reason: metadata.drops_by_reason,
        drop_spans: folded.drop_spans.clone(),
        truncated: folded.truncated,
        warnings: warnings(recording, extent, folded.truncated),
        link: sharing::link_summary(metadata, &folded.flows, run_us),
        fairness: sharing::fairness(&folded.flows, options.interval_us()),
        algorithms: figures::algorithm_summaries(&sources, &folded.flows, run_us),
        flows,
        scenario: metadata.scenario.clone(),
    })
}

fn check_not_empty(
    recording: &Recording,
    extent: Option<Extent>,
    folded: &Folded,
    (from_us, to_us): (u64, u64),
) -> Result<(), Error> {
    if !folded.flows.is_empty() {
        return Ok(());
    }
    let path = recording.path().to_owned();
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

fn warnings(recording: &Recording, extent: Option<Extent>, truncated: bool) -> Vec<String> {
    let metadata = recording.metadata();
    let mut warnings = recording.problems().to_vec();
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
fn short_names(recordings: &[Recording]) -> Vec<String> {
    let parts: Vec<Vec<String>> = recordings
        .iter()
        .map(|r| r.path().components().map(|c| c.as_os_str().to_string_lossy().into_owned()).collect())
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
