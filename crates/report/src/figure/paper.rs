//! The figures of a paper: one file each, as far as the recordings have the data.
//!
//! No titles, as the caption belongs to the paper; units at the axes; a legend beside the data. Lines differ by marker or
//! dash as well as by colour, so that they are told apart on grey paper and by colour-blind readers. The number of a
//! flow or an algorithm decides its marker, so it looks the same in every figure of a report.

use std::path::{Path, PathBuf};

use ccactl_host::output::Folder;

use super::{heat, lines, pdf, phases, png};
use crate::charts::{self, Band, Charts, FlowCharts, GroupCharts};
use crate::{Error, RecordingSummary, Summary, output};

pub use super::sheet::Width;

/// Flows in a figure over time, at most: as many as there are markers. The ones that moved most data are drawn.
pub const MAX_FLOWS: usize = 8;

/// What a figure is written as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Scalable; text stays text.
    Svg,
    /// One page of vectors in the size that they have in print; text stays text.
    Pdf,
    /// 300 dots per inch, white background.
    Png,
}

/// One figure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Figure {
    /// Name of its file, without an extension.
    pub name: String,
    /// The drawing.
    pub svg: String,
}

/// Draws everything that the recordings have data for: per recording what happened over time and how it was
/// distributed, and over all of them fairness and buffer sweep. `charts` are those of each recording.
#[must_use]
pub fn figures(summary: &Summary, charts: &[Charts], width: Width) -> Vec<Figure> {
    let numbers = Numbers::new(summary);
    let mut figures = Vec::new();
    for (of_it, charts) in summary.recordings.iter().zip(charts) {
        let charts = busiest(charts.clone());
        let prefix =
            if summary.recordings.len() > 1 { format!("{}-", file_name(short(&of_it.name))) } else { String::new() };
        let drawn = of_recording(&charts, of_it, &numbers, width);
        figures.extend(drawn.into_iter().map(|(name, svg)| Figure { name: format!("{prefix}{name}"), svg }));
    }
    figures.extend(over_recordings(summary, &numbers, width));
    tell_apart(&mut figures);
    figures
}

/// The flows that are drawn over time, in their order.
fn busiest(mut charts: Charts) -> Charts {
    let moved = |flow: &FlowCharts| flow.rate.v.iter().flatten().sum::<f64>();
    let mut by_volume: Vec<f64> = charts.flows.iter().map(moved).collect();
    by_volume.sort_by(|a, b| b.total_cmp(a));
    if let Some(&least) = by_volume.get(MAX_FLOWS - 1) {
        charts.flows.retain(|flow| moved(flow) >= least);
        charts.flows.truncate(MAX_FLOWS);
    }
    charts
}

/// Writes figures into a folder, which is made if it is missing. Gives the files.
///
/// # Errors
/// When the folder or a file cannot be written.
pub fn write(folder: &Path, figures: &[Figure], formats: &[Format]) -> Result<Vec<PathBuf>, Error> {
    Folder::make(folder).map_err(|error| Error::Output { path: folder.to_owned(), cause: error.into() })?;
    let mut files = Vec::new();
    for figure in figures {
        for format in formats {
            let extension = format!("{format:?}").to_lowercase();
            let path = folder.join(format!("{}.{extension}", figure.name));
            output::write_whole(&path, &drawn(&figure.svg, *format)?)?;
            files.push(path);
        }
    }
    Ok(files)
}

/// The content of a file of that format.
///
/// # Errors
/// When there is no memory for the pixels.
pub fn drawn(svg: &str, format: Format) -> Result<Vec<u8>, Error> {
    match format {
        Format::Svg => Ok(svg.as_bytes().to_vec()),
        Format::Pdf => pdf::pdf(svg),
        Format::Png => png::png(svg),
    }
}

/// The number of each algorithm in a report: by it a line gets its marker.
struct Numbers(Vec<String>);

impl Numbers {
    fn new(summary: &Summary) -> Numbers {
        let mut names: Vec<String> = Vec::new();
        for algorithm in summary.recordings.iter().flat_map(|recording| &recording.algorithms) {
            if !names.contains(&algorithm.algorithm) {
                names.push(algorithm.algorithm.clone());
            }
        }
        Numbers(names)
    }

    fn of(&self, algorithm: &str) -> usize {
        self.0.iter().position(|name| name == algorithm).unwrap_or(self.0.len())
    }
}

fn of_recording(
    charts: &Charts,
    summary: &RecordingSummary,
    numbers: &Numbers,
    width: Width,
) -> Vec<(&'static str, String)> {
    let window_s = (summary.from_s, summary.to_s.max(summary.from_s + 1e-3));
    let over_time = |name: &'static str, lines: Vec<lines::OverTime<'_>>, label: &str| {
        (!lines.is_empty()).then(|| (name, lines::over_time(charts, &lines, window_s, label, width)))
    };
    let mut windows = lines::of_flows(charts, |flow| &flow.cwnd);
    windows.extend(lines::bounds(charts));
    let ecdf = |name: &'static str, ecdfs: &[charts::Ecdf], label: &str| {
        let numbers: Vec<usize> = ecdfs.iter().map(|ecdf| numbers.of(&ecdf.name)).collect();
        (!ecdfs.is_empty()).then(|| (name, lines::ecdf(ecdfs, &numbers, label, width)))
    };
    let over_time_of = |flows: fn(&FlowCharts) -> &charts::Series, band: fn(&GroupCharts) -> &Band| {
        if charts.groups.is_empty() { lines::of_flows(charts, flows) } else { lines::of_groups(charts, band) }
    };
    if !charts.groups.is_empty() {
        windows = lines::of_groups(charts, |group| &group.cwnd);
    }
    // Of a group only what arrived is drawn.
    let sent = if charts.groups.is_empty() { lines::of_flows(charts, |flow| &flow.sent) } else { Vec::new() };
    [
        over_time("throughput", sent, "Throughput [Mbit/s]"),
        over_time("goodput", over_time_of(|flow| &flow.rate, |group| &group.rate), "Goodput [Mbit/s]"),
        over_time("rtt", over_time_of(|flow| &flow.rtt, |group| &group.rtt), "RTT [ms]"),
        over_time("cwnd", windows, "Congestion window [packets]"),
        phases::phases(charts, window_s, width).map(|svg| ("phases", svg)),
        ecdf("rtt-ecdf", &charts.rtt_ecdf, "RTT [ms]"),
        ecdf("fct-ecdf", &charts.fct_ecdf, "Flow completion time [ms]"),
        charts.jain.as_ref().map(|jain| ("jain", lines::jain(charts, jain, window_s, width))),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn over_recordings(summary: &Summary, numbers: &Numbers, width: Width) -> Vec<Figure> {
    let across = charts::across(summary);
    let named = |several: bool, name: String, link: &str| {
        if several && !link.is_empty() { format!("{name}-{}", file_name(link)) } else { name }
    };
    let mut figures = Vec::new();
    for map in &across.fairness {
        let name = named(across.fairness.len() > 1, "fairness".to_owned(), &map.link);
        figures.push(Figure { name, svg: heat::heat_map(map, width) });
    }
    let several = across.sweeps.iter().any(|sweep| sweep.link != across.sweeps[0].link);
    for sweep in &across.sweeps {
        // Lines of one algorithm in different company need markers of their own.
        let alone = sweep.lines.iter().all(|line| numbers.0.contains(&line.name));
        let number = |(i, line): (usize, &charts::SweepLine)| if alone { numbers.of(&line.name) } else { i };
        let numbers: Vec<usize> = sweep.lines.iter().enumerate().map(number).collect();
        let name = named(several, format!("buffer-{}", sweep.key), &sweep.link);
        figures.push(Figure { name, svg: lines::sweep(sweep, &numbers, width) });
    }
    figures
}

/// Of `run-1/recording.parquet` what tells it from others.
fn short(recording: &str) -> &str {
    let stem = recording.strip_suffix(".parquet").or_else(|| recording.strip_suffix(".arrows")).unwrap_or(recording);
    stem.strip_suffix("/recording").unwrap_or(stem)
}

/// A name of any kind as a part of a file name.
fn file_name(name: &str) -> String {
    let mut out = String::new();
    for c in name.chars() {
        match c {
            c if c.is_alphanumeric() || c == '_' || c == '.' => out.push(c),
            _ if out.ends_with('-') => {}
            _ => out.push('-'),
        }
    }
    out.trim_matches(['-', '.']).to_lowercase()
}

/// Two recordings may have one name; none of their figures is to be written over.
fn tell_apart(figures: &mut [Figure]) {
    for i in 1..figures.len() {
        let plain = figures[i].name.clone();
        let mut number = 2;
        while figures[..i].iter().any(|earlier| earlier.name == figures[i].name) {
            figures[i].name = format!("{plain}-{number}");
            number += 1;
        }
    }
}
